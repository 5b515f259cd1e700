/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers which Events were emitted, and until when they are not emitted again. */
#include "operator/kube/event_filter.h"

#include <stdlib.h>

#include "lib/units.h"

/*
 * Expired keys are removed, because clusters come and go. This is not done at each look, because it
 * reads all keys.
 */
#define SWEEP_NS (60 * NS_PER_SEC)

void event_filter_release(struct event_filter *filter)
{
	namespace_map_release(&filter->until, free);
}

static void event_filter_sweep(struct event_filter *filter, int64_t now_ns)
{
	const char *key;
	void *value;

	strmap_each(&filter->until.map, &key, &value)
		if (*(const int64_t *)value <= now_ns)
			free(namespace_map_remove(&filter->until, key));
	filter->sweep_ns = now_ns + SWEEP_NS;
}

bool event_filter_lately(const struct event_filter *filter, const char *key, int64_t now_ns)
{
	const int64_t *until = strmap_get(&filter->until.map, key);

	return until && now_ns < *until;
}

bool event_filter_is_time(struct event_filter *filter, const char *key, int64_t now_ns,
			  int64_t again_ns)
{
	if (now_ns >= filter->sweep_ns)
		event_filter_sweep(filter, now_ns);
	int64_t *until = strmap_get(&filter->until.map, key);
	if (until && now_ns < *until)
		return false;
	until = namespace_map_get_or_add(&filter->until, key, sizeof(*until), EVENT_FILTER_MAX);
	if (!until)
		return false;
	*until = now_ns + again_ns;
	return true;
}
