/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel's words about GPUs, and a program's own about CUDA and NCCL, add to a verdict. Pure.
 *
 * The class becomes theirs where the process ended by itself and nothing else explains it: a Ray worker, or a container that is no
 * Ray node (raylet does not end because a worker's GPU failed). Then it is likely, never certain: a program may have met
 * such an error, gone on and ended for another reason. Elsewhere they are evidence only.
 */
#ifndef AFTERGLOW_SIDECAR_VERDICT_GPU_VERDICT_H
#define AFTERGLOW_SIDECAR_VERDICT_GPU_VERDICT_H

#include "sidecar/verdict/classify.h"

/* o->ray tells of a worker that crashed, v is what stands so far. who: "Ray worker ray::f (PID 7) in container ray-worker". */
void gpu_worker_verdict(const struct observation *o, const char *who, struct verdict *v);

/* The container ended, v is what stands so far. */
void gpu_container_verdict(const struct observation *o, struct verdict *v);

#endif
