/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether an amount of memory has grown for hours, how fast, and whether it will reach its
 * limit within a day. Pure.
 *
 * Theory of operation: the lowest reading of each five minutes is kept for a day. It is the lowest,
 * because memory that a garbage collector or a finished task gives back is not a leak. The growth
 * that is judged began at the last trough, or after the last hour of rest. It counts as a leak if
 * it is a straight line above all earlier values:
 *
 *  - it lasted two hours or more, after an hour of warm-up that does not count;
 *  - it rose in nearly all of seventeen equal parts (a step or two, when actors start, rise in few
 *    of them);
 *  - each quarter has its share of it (a step, or the wave of a day's load, has it in one or two);
 *  - it does not slow down so that it comes to rest below the limit, as a cache that fills does;
 *  - the memory was not as large before in that day (with a load that repeats daily, it was);
 *  - the limit will be reached within a day, and within three times the duration of the growth; as
 *    long as no whole day was seen, within the duration of the growth, because it may be the rise
 *    of a daily load.
 *
 * The slope is Theil and Sen's: the median of the slopes between any two of the seventeen parts. A
 * load that rises in a straight line for hours on the first day, to more than half of the room,
 * looks like a leak and counts as a leak. The history is only in memory: after a restart, a sidecar
 * begins anew and reports nothing for three hours.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/units.h"

#define LONG_TREND_STEP_NS (300 * NS_PER_SEC)
#define LONG_TREND_STEPS 288 /* a day */
#define LONG_TREND_WARM_UP_NS (3600 * NS_PER_SEC)
#define LONG_TREND_GREW_MIN_NS (7200 * NS_PER_SEC)
#define LONG_TREND_LEFT_MAX_NS (86400 * NS_PER_SEC)

/* Must be initialized to { 0 }. */
struct long_trend {
	int64_t began_ns; /* the first reading; 0: none yet */
	int64_t step; /* number of the five minutes under way; 0: none yet */
	int64_t low; /* the lowest reading in them, bytes */
	uint32_t lows[LONG_TREND_STEPS]; /* KiB of the five minutes that are over, a ring */
	size_t n, next; /* their number, and the place of the next */
};

struct long_growth {
	int64_t rate; /* bytes per hour */
	int64_t grew_ns; /* how long it has grown */
	int64_t left_ns; /* until the room is used up at that rate */
};

/*
 * Adds a reading in bytes; time goes forward. Returns true if five minutes are over, so that the
 * growth may be judged again. If readings are missing for more than five minutes, the history
 * begins anew, without a warm-up.
 */
bool long_trend_add(struct long_trend *t, int64_t at_ns, int64_t bytes);

/*
 * Judges the growth. room: bytes up to the limit. Returns false, and leaves *ret_growth unchanged,
 * if the memory does not grow as described above.
 */
bool long_trend_judge(const struct long_trend *t, int64_t room, struct long_growth *ret_growth);
