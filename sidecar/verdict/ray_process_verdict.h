/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a container, or of raylet, that followed one of Ray's own processes. Pure. */
#ifndef AFTERGLOW_SIDECAR_VERDICT_RAY_PROCESS_VERDICT_H
#define AFTERGLOW_SIDECAR_VERDICT_RAY_PROCESS_VERDICT_H

#include "sidecar/verdict/classify.h"
#include "sidecar/verdict/oom_verdict.h"

/*
 * After everything else was looked at: the container has ended. Where one of Ray's processes ended before it and
 * explains it, class, confidence and sentence become that; a kill by the OOM killer keeps its class.
 */
void ray_process_verdict(const struct observation *o, enum oom oom, struct verdict *v);

/* The container lives, o->process has ended: the whole verdict. */
void ray_process_lives_verdict(const struct observation *o, struct verdict *ret_verdict);

#endif
