/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers which Events were emitted, so that the same is not emitted again too soon. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "operator/kube/namespace_share.h"

/*
 * The most keys that are remembered. An Event with a further key is not emitted. A key begins with
 * its namespace, as those of namespace_share.h do. A namespace gets at most what was left for all
 * others, because its users choose the keys.
 */
#define EVENT_FILTER_MAX 10000

/* Starts zeroed. */
struct event_filter {
	/* key -> int64_t: boottime until which it is not emitted again */
	struct namespace_map until;
	int64_t sweep_ns; /* when expired keys are removed next */
};

void event_filter_release(struct event_filter *filter);

/*
 * Returns whether key may be emitted now (boottime); if so it counts as emitted, and is not emitted
 * again within again_ns. False without memory, and when there is no room for the key.
 */
bool event_filter_is_time(struct event_filter *filter, const char *key, int64_t now_ns,
			  int64_t again_ns);

/* Returns whether it was emitted, and is not to be emitted again yet. */
bool event_filter_lately(const struct event_filter *filter, const char *key, int64_t now_ns);
