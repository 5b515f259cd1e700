/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what is dropped when a spool or a directory store holds too much. */
#include "sidecar/spool/quota.h"

#include <stdbool.h>

#include "lib/units.h"

#define CLOCK_SET_NS (3600 * NS_PER_SEC)

const char *drop_name(enum drop d)
{
	static const char *const names[DROP_COUNT] = { "nothing", "core", "files", "bundle" };

	return names[d];
}

/* Returns how many bytes are freed by dropping d. */
static int64_t quota_size_of(const struct stored *s, enum drop d)
{
	int64_t bytes = 0;

	if (d >= DROP_CORE)
		bytes += s->core;
	if (d >= DROP_FILES)
		bytes += s->files;
	if (d >= DROP_BUNDLE)
		bytes += s->report;
	return bytes;
}

struct quota quota_by_clock(const struct quota *q, int64_t offset_then_ns, int64_t offset_now_ns)
{
	struct quota by_clock = *q;
	int64_t moved;

	if (__builtin_sub_overflow(offset_now_ns, offset_then_ns, &moved) || moved > CLOCK_SET_NS ||
	    moved < -CLOCK_SET_NS)
		by_clock.age_ns = 0;
	return by_clock;
}

int64_t quota_plan(const struct stored *items, size_t n, const struct quota *q, int64_t now_ns,
		   int64_t to_free, enum drop worst, enum drop *ret_drops)
{
	int64_t total = 0, freed = 0, over;

	for (size_t i = 0; i < n; i++) {
		bool old = q->age_ns > 0 && now_ns - items[i].at_ns > q->age_ns;
		bool many = q->count > 0 && (int64_t)(n - i) > q->count;

		ret_drops[i] = old || many ? DROP_BUNDLE : DROP_NOTHING;
		total += quota_size_of(&items[i], DROP_BUNDLE);
		freed += quota_size_of(&items[i], ret_drops[i]);
	}
	over = q->bytes > 0 ? MAX(total - q->bytes, (int64_t)0) : 0;
	for (enum drop d = DROP_CORE; d <= DROP_BUNDLE; d++) {
		int64_t goal = d <= worst ? MAX(over, to_free) : over;

		for (size_t i = 0; i < n && freed < goal; i++) {
			int64_t more = quota_size_of(&items[i], d) -
				       quota_size_of(&items[i], ret_drops[i]);

			if (more <= 0)
				continue;
			ret_drops[i] = d;
			freed += more;
		}
	}
	return MAX(MAX(over, to_free) - freed, (int64_t)0);
}
