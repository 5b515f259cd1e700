/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the GPU faults in a kernel log has to do with a death. Pure. */
#ifndef AFTERGLOW_SIDECAR_KERNEL_GPU_FAULTS_H
#define AFTERGLOW_SIDECAR_KERNEL_GPU_FAULTS_H

#include "sidecar/kernel/kmsg_read.h"
#include "sidecar/kernel/xid.h"
#include "sidecar/sample/gpus.h"

struct kernel_question;

/* How it is known that a fault concerns the container; the later, the better. */
enum gpu_whose {
	GPU_NOBODYS, /* there is none */
	GPU_OF_NODE, /* the container has GPUs; which of the node's is not known, and the line names no process of another's */
	GPU_OF_DEVICE, /* it is a GPU of the container */
	GPU_OF_NAME, /* the line names a process like one of the container's */
	GPU_OF_PID, /* the line names a PID of the container's */
};

#define GPU_LINE_MAX 200

struct gpu_evidence {
	enum gpu_whose whose;
	struct gpu_fault fault; /* the one that explains most, and of those the first */
	int64_t age_ns; /* between it and the death, at least */
	char line[GPU_LINE_MAX]; /* escaped */
};

/*
 * Looks from the container's start (begin_us by the kernel's clock, -1 unknown) to the death, and at most half an hour back: so
 * long a collective operation may wait for a GPU that is gone.
 */
void gpu_faults_find(const struct kmsg_log *log, const struct kernel_question *q, int64_t begin_us, const struct gpus *gpus,
		     struct gpu_evidence *ret_evidence);

#endif
