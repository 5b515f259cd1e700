/* SPDX-License-Identifier: Apache-2.0 */
/* Filters and sorts the items of a RayFailureList. */
#include "plugin/failure_items.h"

#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/units.h"

const char *failure_str(const cJSON *failure, const char *path)
{
	return json_str_or(failure, path, "");
}

int64_t failure_ended_ns(const cJSON *failure)
{
	const char *text = json_str(failure, "spec.endedAt");
	int64_t ns;

	return text && time_parse(text, &ns, NULL) == 0 ? ns : 0;
}

static int by_end(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	if (a->ended_ns != b->ended_ns)
		return a->ended_ns < b->ended_ns ? -1 : 1;
	return strcmp(failure_str(a->failure, "metadata.name"), failure_str(b->failure, "metadata.name"));
}

static bool is_wanted(const cJSON *failure, const struct failure_filter *filter)
{
	return (!filter->class || strcmp(failure_str(failure, "spec.class"), filter->class) == 0) &&
	       (!filter->cluster || strcmp(failure_str(failure, "spec.cluster"), filter->cluster) == 0) &&
	       (!filter->owner || strcmp(failure_str(failure, "spec.ownerText"), filter->owner) == 0) &&
	       (!filter->since_ns || failure_ended_ns(failure) >= filter->since_ns);
}

struct items failure_items_of(const cJSON *list, const struct failure_filter *filter)
{
	const cJSON *array = json_get(list, "items");
	struct items items = { .all = calloc((size_t)MAX(cJSON_GetArraySize(array), 1), sizeof(*items.all)) };

	if (!items.all)
		return items;
	json_each(failure, array)
		if (is_wanted(failure, filter))
			items.all[items.n++] = (struct item){ failure, failure_ended_ns(failure) };
	qsort(items.all, items.n, sizeof(*items.all), by_end);
	return items;
}
