/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the GPU fault in a kernel log that best explains a death. Pure. */
#pragma once

#include "sidecar/kernel/kernel_question.h"
#include "sidecar/kernel/kmsg_read.h"
#include "sidecar/kernel/xid.h"
#include "sidecar/sample/gpus.h"

/* How the fault is connected with the container, from the weakest proof to the strongest. */
enum gpu_whose {
	GPU_NOBODYS, /* there is no fault */
	/* the container has some of the node's GPUs, and the line names no foreign process */
	GPU_OF_NODE,
	GPU_OF_DEVICE, /* it is a GPU of the container */
	GPU_OF_NAME, /* the line names a process like one of the container's */
	GPU_OF_PID, /* the line names a PID of the container's */
};

#define GPU_LINE_MAX 200

struct gpu_evidence {
	enum gpu_whose whose;
	struct gpu_fault fault; /* the fault that explains most; the first of several such */
	int64_t age_ns; /* the least time between the fault and the death */
	char line[GPU_LINE_MAX]; /* escaped */
};

/*
 * Searches the log from the container's start (begin_us by the kernel's clock, -1 unknown) to the
 * death, but at most half an hour back, because a collective operation may wait that long for a GPU
 * that is gone.
 */
void gpu_faults_find(const struct kmsg_log *log, const struct kernel_question *q, int64_t begin_us,
		     const struct gpus *gpus, struct gpu_evidence *ret_evidence);
