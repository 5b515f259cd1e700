/* SPDX-License-Identifier: Apache-2.0 */
/* What was told, and when. */
#include "operator/kube/event_filter.h"

#include <stdlib.h>

static void forget_old(struct strmap *told, int64_t now, int64_t again_ns)
{
	struct strmap_pos pos = { 0 };
	const char *key;
	void *value;

	while (strmap_next(told, &pos, &key, &value))
		if (now - *(const int64_t *)value >= again_ns)
			free(strmap_remove(told, key));
}

bool event_filter_lately(const struct strmap *told, const char *key, int64_t now, int64_t again_ns)
{
	const int64_t *when = strmap_get(told, key);

	return when && now - *when < again_ns;
}

bool event_filter_is_time(struct strmap *told, const char *key, int64_t now, int64_t again_ns)
{
	int64_t *when;

	forget_old(told, now, again_ns);
	if (strmap_get(told, key))
		return false;
	when = malloc(sizeof(*when));
	if (!when || strmap_put(told, key, when, NULL) < 0) {
		free(when);
		return false;
	}
	*when = now;
	return true;
}
