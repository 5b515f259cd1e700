/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to look again. Pure: the time and the readings come in, the delay goes out.
 *
 * The delay is half of the time that the fastest fill rate seen needs for the
 * headroom, and lies between SAMPLE_MIN_NS and SAMPLE_MAX_NS. Half, because the
 * whole would put the sample at the moment of the death, and leave one of long
 * before it as the last: this way they close in on the limit.
 */
#ifndef AFTERGLOW_SIDECAR_SAMPLE_SAMPLER_H
#define AFTERGLOW_SIDECAR_SAMPLE_SAMPLER_H

#include <stdint.h>

#include "lib/units.h"

/*
 * Below SAMPLE_CALM_NS only for a second or so: a leak needs no longer from there to the limit, and a container
 * that sits at its limit shall not cost more than a sample each 15 ms.
 */
#define SAMPLE_CALM_NS (20 * NS_PER_MS)
/* Reached 10 MiB below the limit at the rate of one core. */
#define SAMPLE_MIN_NS (5 * NS_PER_MS)
#define SAMPLE_MAX_NS NS_PER_SEC

/* Before anything was seen: one core filling pages reaches about this (bytes/s). */
#define SAMPLE_FLOOR_RATE ((int64_t)1 << 30)
/* A faster rate is believed for this long after it was last seen. */
#define SAMPLE_RATE_MEMORY_NS (60 * NS_PER_SEC)

struct sampler {
	int64_t last_ns, last_usage; /* 0: no sample yet */
	int64_t fastest; /* bytes/s */
	int64_t fastest_ns;
	int64_t spent_ns; /* of the allowance for samples in haste */
	int64_t refilled_ns; /* the allowance was last counted anew then */
	int64_t looked_ns, due_ns; /* the last look, and the next that sampler_next asked for */
};

/* Nanoseconds until the next sample. limit < 0: none. Usage and limit in bytes. */
int64_t sampler_next(struct sampler *s, int64_t now_ns, int64_t usage, int64_t limit);

/*
 * Something happened that a look should follow (memory.events changed). Nanoseconds until that look: 0 means now, and then the
 * caller looks. Looks of either kind spend one allowance, so whoever makes things happen thousands of times a second gets no more
 * looks than a container that sits at its limit.
 */
int64_t sampler_hurry(struct sampler *s, int64_t now_ns);

#endif
