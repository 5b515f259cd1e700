/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses what the kernel log says about GPUs: the Xids of NVIDIA's driver, and the few lines of
 * amdgpu that mean the same. Pure. The caller passes only records of the kernel (facility 0), which
 * the driver wrote. But the process chose its own name in them.
 *
 *   NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has fallen off the bus. NVRM: Xid
 *   (PCI:0000:0a:00): 45, pid='<unknown>', name=<unknown>, Ch 00000008 NVRM: Xid (0000:03:00): 14,
 *   Channel 00000001                 (before driver 3xx) NVRM: GPU 0000:01:00.0: GPU has fallen off
 *   the bus.          (the same as Xid 79, without its number) amdgpu 0000:0c:00.0: amdgpu: GPU
 *   reset begin! amdgpu 0000:0e:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:7
 *   pasid:32771, for process python pid 5044 ..
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/kernel/kmsg_parse.h"

enum gpu_blame {
	GPU_HARDWARE, /* the GPU, its links or its driver */
	GPU_APPLICATION, /* the program that used it */
	GPU_CONSEQUENCE, /* follows from an end or an error before it, and explains none */
	GPU_NOTICE, /* ends no program */
};

#define GPU_DEVICE_MAX 24

struct gpu_fault {
	int xid; /* its number; 0: amdgpu */
	enum gpu_blame blame;
	const char *meaning; /* static; never NULL */
	char device[GPU_DEVICE_MAX]; /* "0000:3b:00"; "": not in the line */
	int64_t pid; /* in the node's PID namespace; -1: not in the line */
	char name
		[KMSG_NAME_MAX]; /* of that process, unescaped: escape it to print it; "": not in the line */
};

/* Parses a line. Returns false, and leaves *ret_fault, if it is not about a GPU. */
bool gpu_fault_parse(const char *text, size_t len, struct gpu_fault *ret_fault);

/* The meaning of an Xid; NULL: it is not in the table. */
const char *xid_meaning(int xid, enum gpu_blame *ret_blame);

/* Whether both name the same device: "0000:3b:00" and "0000:3B:00.0". */
bool gpu_same_device(const char *a, const char *b);
