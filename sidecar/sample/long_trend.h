/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an amount of memory has grown for hours, how fast, and whether it will reach its limit within a day. Pure.
 *
 * Theory of operation: of each five minutes the lowest reading is kept, for a day. The lowest, because what a garbage collector or
 * a finished task gives back is no leak. The growth that is judged began at the last trough, or after the last hour of rest. It is
 * believed when it is a straight line into new territory:
 *
 *  - it lasted two hours or more, after an hour of warm-up that does not count;
 *  - it rose in nearly all of seventeen equal parts (a step or two, when actors start, rise in few of them);
 *  - each quarter has its share of it (a step, or the wave of a day's load, has it in one or two);
 *  - it does not slow down so that it comes to rest below the limit, as a cache that fills does;
 *  - the memory was not as large before in that day (yesterday's load was);
 *  - the limit is not further ahead than a day, nor than three times as long as the growth was seen; not further than that long
 *    itself as long as no whole day was seen, for until then it may be the rise of a day's load.
 *
 * The slope is Theil and Sen's: the median of the slopes between any two of the seventeen parts. A load that rises in a straight
 * line for hours on the first day, to more than half of the room, looks like a leak and is taken for one. The history is in memory
 * alone: a sidecar that restarts begins anew, and says nothing for three hours.
 */
#ifndef AFTERGLOW_SIDECAR_SAMPLE_LONG_TREND_H
#define AFTERGLOW_SIDECAR_SAMPLE_LONG_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/units.h"

#define LONG_TREND_STEP_NS (300 * NS_PER_SEC)
#define LONG_TREND_STEPS 288 /* a day */
#define LONG_TREND_WARM_UP_NS (3600 * NS_PER_SEC)
#define LONG_TREND_GREW_MIN_NS (7200 * NS_PER_SEC)
#define LONG_TREND_LEFT_MAX_NS (86400 * NS_PER_SEC)

/* Starts from { 0 }. */
struct long_trend {
	int64_t began_ns; /* the first reading; 0: none yet */
	int64_t step; /* number of the five minutes under way; 0: none yet */
	int64_t low; /* bytes, of the readings in them */
	uint32_t lows[LONG_TREND_STEPS]; /* KiB of the five minutes that are over, a ring */
	size_t n, next; /* how many, and where the next one goes */
};

struct long_growth {
	int64_t rate; /* bytes per hour */
	int64_t grew_ns; /* for so long */
	int64_t left_ns; /* until the room is used up at that rate */
};

/*
 * A reading in bytes; time goes forward. True: five minutes are over, and it may be judged anew. Where readings are missing for
 * more than five minutes the history begins anew, without a warm-up.
 */
bool long_trend_add(struct long_trend *t, int64_t at_ns, int64_t bytes);

/* room: bytes up to the limit. False: it does not grow as said above; ret_growth stays as it is. */
bool long_trend_judge(const struct long_trend *t, int64_t room, struct long_growth *ret_growth);

#endif
