/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides how much of a failure is kept when the same crash comes again and again. Pure: time is
 * an argument.
 *
 * Failures with the same signature (sidecar/verdict/signature.h) form a loop. The first ones are
 * kept whole. Up to the CRASH_LOOP_LIGHT-th, the report of each is kept; after that, only the
 * reports of the 16th, 32nd, 64th and so on: the first bundle shows what happened, and the counter
 * shows how often. A loop ends when its crash has not come for an hour.
 *
 * A weak signature says little more than how the container ended, so two failures that share it
 * may have different causes. The report of each such failure is kept; the rest of its bundle is
 * treated as a repetition.
 *
 * A container could make each crash look new. So whole bundles are limited to 20 at once and 20 an
 * hour, and single reports to 120 at once and 240 an hour, whatever their signatures.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/verdict/signature.h"

/* Loops that are remembered. A new loop takes the place of the loop with the oldest last crash. */
#define CRASH_LOOPS_MAX 64
#define CRASH_SIGNATURE_MAX SIGNATURE_MAX /* bytes, with the final NUL; longer ones are cut */
#define CRASH_LOOP_LIGHT 10
/* A loop is over when its last crash was so long ago. */
#define CRASH_LOOP_OVER_NS ((int64_t)3600 * 1000000000)
/* A loop is over, too, when its last crash is so far in the future: the clock was wrong then. */
#define CRASH_LOOP_AHEAD_NS ((int64_t)24 * 3600 * 1000000000)

enum keep {
	KEEP_FULL, /* the whole bundle is kept */
	KEEP_LIGHT, /* report.txt and report.json are kept */
	KEEP_COUNT, /* nothing is kept; the failure is only counted */
};

struct crash_loop {
	char signature[CRASH_SIGNATURE_MAX];
	int64_t first_unix_ns, last_unix_ns;
	uint64_t count;
};

/* A token bucket: each bundle or report that is kept takes a token, and tokens grow back. */
struct allowance {
	double left; /* tokens at at_ns */
	int64_t at_ns; /* Unix time; 0: the bucket is full */
};

struct crash_loops {
	struct crash_loop loops[CRASH_LOOPS_MAX];
	size_t n;
	struct allowance full, light; /* for whole bundles, and for single reports */
};

/*
 * Counts a crash and returns how much of it is kept. full_per_loop: how many crashes of a loop are
 * kept whole; with 0, every crash is. *ret_loop is the loop of the crash, already counted; it is
 * owned by l and valid until the next call.
 */
enum keep crash_loops_count(struct crash_loops *l, const char *signature, int64_t now_unix_ns,
			    unsigned int full_per_loop, const struct crash_loop **ret_loop);

/*
 * These save the loops for the next sidecar and load them again. The result of crash_loops_to_json
 * is the caller's; it leaves out loops that are over. crash_loops_of_json skips items that are not
 * such loops, and with json NULL there are no loops. The token buckets are not saved.
 */
cJSON *crash_loops_to_json(const struct crash_loops *l, int64_t now_unix_ns);
void crash_loops_of_json(const cJSON *json, struct crash_loops *ret_loops);
