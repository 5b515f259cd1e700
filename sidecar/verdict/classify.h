/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a verdict from evidence. Pure: everything that was observed comes in as values; the class,
 * the confidence, a sentence and the list of evidence go out.
 *
 * The verdict believes the kernel's counters (oom_group_kill, oom_kill) most. Then comes the kernel
 * log, where it can be read; it also says which cgroup ran out of memory. Then come the wait status
 * and how full the memory was. If none of them explains the death, the class is Unknown and the
 * verdict lists what is missing. oom_verdict decides whether the OOM killer came, oom_victim
 * whether its kill ended the container, and oom_cause which memory ran out. A verdict is certain
 * only if no other explanation fits what was seen.
 */
#pragma once

#include "sidecar/verdict/observation.h"
#include "sidecar/verdict/verdict.h"

void classify(const struct observation *o, struct verdict *ret_verdict);
