/* SPDX-License-Identifier: Apache-2.0 */
/* An OOM kill at the limit of a cgroup that is not the container's own: below it, above it, or where a process was moved. Pure. */
#ifndef AFTERGLOW_SIDECAR_VERDICT_OTHER_LIMIT_H
#define AFTERGLOW_SIDECAR_VERDICT_OTHER_LIMIT_H

#include "sidecar/verdict/oom_cause.h"

/*
 * k: what the kernel log says of the kill, NULL: nothing; its word wins over the counters'. False: no such cgroup is known to have
 * run out, and nothing is set. Adds its evidence to v, and the limit.
 */
bool other_limit_cause(const struct observation *o, const struct kernel_evidence *k, struct verdict *v, struct oom_cause *cause);

#endif
