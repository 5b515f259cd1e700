/* SPDX-License-Identifier: Apache-2.0 */
/* The items of a RayFailureList, narrowed and sorted by the time of their end. Pure. */
#ifndef AFTERGLOW_PLUGIN_FAILURE_ITEMS_H
#define AFTERGLOW_PLUGIN_FAILURE_ITEMS_H

#include "plugin/failure_list.h"

struct item {
	const cJSON *failure; /* of the list */
	int64_t ended_ns; /* since 1970; 0: not known */
};

struct items {
	struct item *all; /* the oldest first; NULL without memory */
	size_t n;
};

/* The caller frees all of it. */
struct items failure_items_of(const cJSON *list, const struct failure_filter *filter);

/* A text of the failure, "" when there is none. */
const char *failure_str(const cJSON *failure, const char *path);
/* When it ended, since 1970; 0: not known. */
int64_t failure_ended_ns(const cJSON *failure);

#endif
