/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same crash again and again: how much of each is kept. Pure. The first of a
 * loop is kept whole. Of those after it only the report is kept, and beyond
 * CRASH_LOOP_LIGHT only every so often: what happened is in the first, how often
 * in the counter. A loop is over when the crash has not come for an hour.
 *
 * A crash is known by its signature (sidecar/verdict/signature.h). Ends of which
 * nothing is known but how they look may have different causes: of those every report
 * is kept, and only the rest of the bundle counts as a repetition.
 *
 * A container that makes each crash look new would get round that: whole bundles
 * and reports are also limited per time, whatever they are of.
 */
#ifndef AFTERGLOW_SIDECAR_SPOOL_CRASH_LOOP_H
#define AFTERGLOW_SIDECAR_SPOOL_CRASH_LOOP_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/verdict/signature.h"

#define CRASH_LOOPS_MAX 64 /* that are remembered; of more the one that is longest past is forgotten */
#define CRASH_SIGNATURE_MAX SIGNATURE_MAX
#define CRASH_LOOP_LIGHT 10
#define CRASH_LOOP_OVER_NS ((int64_t)3600 * 1000000000)
#define CRASH_LOOP_AHEAD_NS ((int64_t)24 * 3600 * 1000000000)

enum keep {
	KEEP_FULL, /* everything */
	KEEP_LIGHT, /* report.txt and report.json */
	KEEP_COUNT, /* nothing but its number */
};

struct crash_loop {
	char signature[CRASH_SIGNATURE_MAX];
	int64_t first_unix_ns, last_unix_ns;
	uint64_t count;
};

/* Tokens: one is taken for each, and they grow back. */
struct allowance {
	double left;
	int64_t at_ns; /* 0: full */
};

struct crash_loops {
	struct crash_loop loops[CRASH_LOOPS_MAX];
	size_t n;
	struct allowance full, light;
};

/*
 * Counts a crash. full_per_loop: how many of one loop are kept whole, 0: all of all. ret_loop: of which loop it is, count with
 * this one; valid until the next call.
 */
enum keep crash_loops_count(struct crash_loops *l, const char *signature, int64_t now_unix_ns, unsigned int full_per_loop,
			    const struct crash_loop **ret_loop);

/* For the next sidecar. Loops that are over are left out; of what is no such thing nothing is taken. */
cJSON *crash_loops_to_json(const struct crash_loops *l, int64_t now_unix_ns);
void crash_loops_of_json(const cJSON *json, struct crash_loops *ret_loops);

#endif
