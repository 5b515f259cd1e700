/* SPDX-License-Identifier: Apache-2.0 */
/* Decides how much is kept of crashes that repeat. */
#include "sidecar/spool/crash_loop.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"

/*
 * How many are allowed at once, and how long one takes to be allowed again: 20 whole bundles an
 * hour, 240 reports.
 */
#define FULL_MAX 20
#define FULL_EVERY_NS (180 * NS_PER_SEC)
#define LIGHT_MAX 120
#define LIGHT_EVERY_NS (15 * NS_PER_SEC)

static bool crash_loop_take(struct allowance *a, double max, int64_t every_ns, int64_t now_ns)
{
	double grown = (double)MAX(now_ns - a->at_ns, (int64_t)0) / (double)every_ns;

	a->left = a->at_ns ? MIN(a->left + grown, max) : max;
	a->at_ns = now_ns;
	if (a->left < 1)
		return false;
	a->left -= 1;
	return true;
}

static bool crash_loop_is_over(const struct crash_loop *loop, int64_t now_ns)
{
	/*
	 * A time more than a day in the future is wrong. With it, a new crash would count as part
	 * of the old loop for years.
	 */
	return loop->last_unix_ns < now_ns - CRASH_LOOP_OVER_NS ||
	       loop->last_unix_ns > now_ns + CRASH_LOOP_AHEAD_NS;
}

/*
 * Finds the loop of that signature, or makes one in the place of the loop with the oldest last
 * crash.
 */
static struct crash_loop *crash_loop_find(struct crash_loops *l, const char *signature,
					  int64_t now_ns)
{
	struct crash_loop *oldest = &l->loops[0];

	for (size_t i = 0; i < l->n; i++) {
		struct crash_loop *loop = &l->loops[i];

		if (strcmp(loop->signature, signature) == 0) {
			if (crash_loop_is_over(loop, now_ns))
				loop->count = 0;
			return loop;
		}
		if (loop->last_unix_ns < oldest->last_unix_ns)
			oldest = loop;
	}
	if (l->n < CRASH_LOOPS_MAX)
		oldest = &l->loops[l->n++];
	oldest->count = 0;
	snprintf(oldest->signature, sizeof(oldest->signature), "%s", signature);
	return oldest;
}

/* Returns whether the count is a power of two after the first ones: 16, 32, 64 ... */
static bool is_landmark(uint64_t count)
{
	return count <= CRASH_LOOP_LIGHT || (count & (count - 1)) == 0;
}

enum keep crash_loops_count(struct crash_loops *l, const char *signature, int64_t now_unix_ns,
			    unsigned int full_per_loop, const struct crash_loop **ret_loop)
{
	char cut[CRASH_SIGNATURE_MAX];

	snprintf(cut, sizeof(cut), "%s", signature);
	struct crash_loop *loop = crash_loop_find(l, cut, now_unix_ns);
	if (!loop->count++)
		loop->first_unix_ns = now_unix_ns;
	loop->last_unix_ns = now_unix_ns;
	*ret_loop = loop;
	if (!full_per_loop)
		return KEEP_FULL;
	if (loop->count <= full_per_loop &&
	    crash_loop_take(&l->full, FULL_MAX, FULL_EVERY_NS, now_unix_ns))
		return KEEP_FULL;
	/*
	 * With a weak signature the next death may have another cause, which its report would show.
	 */
	if ((signature_is_weak(cut) || is_landmark(loop->count)) &&
	    crash_loop_take(&l->light, LIGHT_MAX, LIGHT_EVERY_NS, now_unix_ns))
		return KEEP_LIGHT;
	return KEEP_COUNT;
}

cJSON *crash_loops_to_json(const struct crash_loops *l, int64_t now_unix_ns)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < l->n; i++) {
		const struct crash_loop *loop = &l->loops[i];

		if (crash_loop_is_over(loop, now_unix_ns))
			continue;
		cJSON *item = cJSON_CreateObject();
		json_set_str(item, "signature", loop->signature);
		json_set_str(item, "first", TIME_TEXT(loop->first_unix_ns));
		json_set_str(item, "last", TIME_TEXT(loop->last_unix_ns));
		json_set_int(item, "count", (int64_t)loop->count);
		json_append(list, item);
	}
	return list;
}

void crash_loops_of_json(const cJSON *json, struct crash_loops *ret_loops)
{
	*ret_loops = (struct crash_loops){ .n = 0 };
	json_each(item, json) {
		struct crash_loop *loop = &ret_loops->loops[ret_loops->n];
		const char *signature = json_str(item, "signature"),
			   *first = json_str(item, "first"), *last = json_str(item, "last");
		int64_t count = json_int(item, "count", 0);

		if (ret_loops->n == CRASH_LOOPS_MAX)
			return;
		if (!signature || !first || !last || count <= 0 ||
		    time_parse(first, &loop->first_unix_ns, NULL) < 0 ||
		    time_parse(last, &loop->last_unix_ns, NULL) < 0)
			continue;
		snprintf(loop->signature, sizeof(loop->signature), "%s", signature);
		loop->count = (uint64_t)count;
		ret_loops->n++;
	}
}
