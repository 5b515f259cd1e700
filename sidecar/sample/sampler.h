/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when to take the next sample. Pure: the time and the readings come in, the
 * delay goes out.
 *
 * The delay is half of the time in which the fastest fill rate seen so far would use up
 * the headroom, between SAMPLE_MIN_NS and SAMPLE_MAX_NS. With the whole time, the
 * next sample would come at the moment of the death, and the last sample before it
 * would be old. With half of it, the samples become denser towards the limit.
 */
#pragma once

#include <stdint.h>

#include "lib/units.h"

/*
 * The delay is below SAMPLE_CALM_NS only for about a second: a leak needs no longer from there to
 * the limit, and a container that stays at its limit must not cost more than a sample every 15 ms.
 */
#define SAMPLE_CALM_NS (20 * NS_PER_MS)
/* The shortest delay. It is reached 10 MiB below the limit if one core fills memory. */
#define SAMPLE_MIN_NS (5 * NS_PER_MS)
#define SAMPLE_MAX_NS NS_PER_SEC

/*
 * The rate that is assumed before any was seen: about that of one core that fills pages (bytes/s).
 */
#define SAMPLE_FLOOR_RATE ((int64_t)1 << 30)
/* A faster rate counts for this long after it was last seen. */
#define SAMPLE_RATE_MEMORY_NS (60 * NS_PER_SEC)

struct sampler {
	int64_t last_ns, last_usage; /* 0: no sample yet */
	int64_t fastest; /* bytes/s */
	int64_t fastest_ns;
	int64_t spent_ns; /* the part of the allowance for frequent samples that is used up */
	int64_t refilled_ns; /* when the allowance was last refilled */
	/* the times of the last look and of the next, as sampler_next decided */
	int64_t looked_ns, due_ns;
};

/* Nanoseconds until the next sample. limit < 0: none. Usage and limit in bytes. */
int64_t sampler_next(struct sampler *s, int64_t now_ns, int64_t usage, int64_t limit);

/*
 * To be called when something happened that needs a look (memory.events changed). Returns the
 * nanoseconds until that look; 0: the caller must look now. Both kinds of looks use the same
 * allowance, so a process that causes thousands of events a second causes no more looks than a
 * container that stays at its limit.
 */
int64_t sampler_hurry(struct sampler *s, int64_t now_ns);
