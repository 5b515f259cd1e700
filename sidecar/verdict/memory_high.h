/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out whether memory.high slowed a container down until its end. Above that usage the
 * kernel does not kill: it has each process that asks for memory free some first, and lets it
 * sleep, for up to two seconds at a time. The kubelet sets memory.high on cgroup v2 where its
 * configuration has a memoryThrottlingFactor (feature gate MemoryQoS). A container with a leak
 * then hangs, rather than be OOM-killed, until a probe has it killed. Pure.
 */
#pragma once

#include <stdint.h>

#include "sidecar/sample/history.h"
#include "sidecar/verdict/verdict.h"

/* Must be initialized to { 0 }. The samples are added from the oldest to the newest. */
struct memory_high {
	/* The latest period in which it slowed the container down, CLOCK_BOOTTIME; 0: never. */
	int64_t since_ns, until_ns;
	int64_t last_ns; /* the last sample */
	int64_t high; /* bytes; -1: not known, or it is that of a cgroup below the container's */
	int64_t hits_before, hits; /* high_hits before since_ns, and at until_ns */
	int64_t hits_last; /* at the last sample */
	/* the largest value in that period, hundredths of a percent; -1: not known */
	int64_t psi_some;
};

void memory_high_add(struct memory_high *h, int64_t at_ns, const struct memory *m);

/*
 * For how long memory.high had slowed the container down at the last sample; 0: it had not, or
 * only for a moment.
 */
int64_t memory_high_slowed_ns(const struct memory_high *h);

/*
 * Adds a line of evidence if the container was slowed down until the last sample. If it was then
 * killed or asked to stop, the sentence says so, too, because probes and people end containers that
 * hang.
 */
void memory_high_evidence(const struct memory_high *h, struct verdict *v);

/* Does all of that over a whole history. Returns memory_high_slowed_ns. */
int64_t memory_high_of_history(const struct history *h, struct verdict *v);
