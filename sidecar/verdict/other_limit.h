/* SPDX-License-Identifier: Apache-2.0 */
/* An OOM kill at the limit of a cgroup that is not the container's own: below it, above it, or where a process was moved. Pure. */
#ifndef AFTERGLOW_SIDECAR_VERDICT_OTHER_LIMIT_H
#define AFTERGLOW_SIDECAR_VERDICT_OTHER_LIMIT_H

#include "sidecar/verdict/oom_cause.h"

/*
 * Sets *cause, v's limit and evidence. k: what the kernel log says about the kill, which outranks the counters; NULL: nothing.
 * False: no such cgroup is known to have run out, and nothing is set.
 */
bool other_limit_cause(const struct observation *o, const struct kernel_evidence *k, struct verdict *v, struct oom_cause *cause);

#endif
