/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which memory ran out when the OOM killer came: the container's, its pod's or the node's.
 * Pure.
 */
#pragma once

#include "sidecar/verdict/observation.h"
#include "sidecar/verdict/oom.h"
#include "sidecar/verdict/verdict.h"

/*
 * Finds the cause and adds the evidence for it to v. k: what the kernel log says about the kill;
 * NULL: nothing.
 */
void oom_cause(const struct observation *o, const struct kernel_evidence *k, struct verdict *v,
	       struct oom_cause *ret_cause);

/*
 * Whether peak reached limit, allowing for the precision of the kernel's counters. Bytes; 0 or
 * less: unknown, so false.
 */
bool oom_peak_met(int64_t peak, int64_t limit);

/*
 * Whether a process that held so many bytes had more than half of the limit that ran out. Then no
 * other under that limit can have been larger.
 */
bool oom_is_of_largest(const struct observation *o, int64_t held);

/* The name of the file that counts OOM kills, as the source of an evidence line. Static text. */
const char *oom_counter_file(const struct observation *o);

/* By how much a counter rose; 0 if either reading lacks it. */
int64_t oom_rise(int64_t before, int64_t after);
