/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognizes an OOM kill at the limit of a cgroup that is not the container's own. That cgroup is
 * below the container's or above it, or a process of the container was moved to it. Pure.
 */
#pragma once

#include "sidecar/verdict/observation.h"
#include "sidecar/verdict/oom.h"
#include "sidecar/verdict/verdict.h"

/*
 * Sets *cause and v->limit, and adds evidence to v. k: what the kernel log says about the kill,
 * which counts more than the counters; NULL: nothing. Returns false and sets nothing if no such
 * cgroup is known to have run out of memory.
 */
bool other_limit_cause(const struct observation *o, const struct kernel_evidence *k,
		       struct verdict *v, struct oom_cause *cause);
