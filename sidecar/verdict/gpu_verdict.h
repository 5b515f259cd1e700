/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds to a verdict what the kernel logged about GPUs, and what a program logged about CUDA and
 * NCCL. Pure.
 *
 * The class becomes a GPU class only if the process ended by itself and nothing else explains its
 * end, and only for a Ray worker or for a container that is not a Ray node (raylet does not end
 * because a worker's GPU failed). The verdict is then likely, never certain, because a program may
 * meet such an error, go on and end for another reason. In all other cases the log lines are
 * evidence only.
 */
#pragma once

#include "sidecar/verdict/observation.h"
#include "sidecar/verdict/verdict.h"

/*
 * For a worker that crashed, which o->ray describes; v is the verdict so far. who: the worker's
 * description, such as "Ray worker ray::f (PID 7) in container ray-worker".
 */
void gpu_worker_verdict(const struct observation *o, const char *who, struct verdict *v);

/* For a container that ended; v is the verdict so far. */
void gpu_container_verdict(const struct observation *o, struct verdict *v);
