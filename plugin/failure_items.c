/* SPDX-License-Identifier: Apache-2.0 */
/* Filters and sorts the items of a RayFailureList. */
#include "plugin/failure_items.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/strmap.h"

const char *failure_str(const cJSON *failure, const char *path)
{
	return json_str_or(failure, path, "");
}

int64_t failure_ended_ns(const cJSON *failure)
{
	int64_t ns;

	return json_time(failure, "spec.endedAt", &ns) ? ns : 0;
}

static int by_end(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	if (a->ended_ns != b->ended_ns)
		return a->ended_ns < b->ended_ns ? -1 : 1;
	return strcmp(failure_str(a->failure, "metadata.name"),
		      failure_str(b->failure, "metadata.name"));
}

static bool is_wanted(const cJSON *failure, const struct failure_filter *filter)
{
	return (!filter->class || strcmp(failure_str(failure, "spec.class"), filter->class) == 0) &&
	       (!filter->cluster ||
		strcmp(failure_str(failure, "spec.cluster"), filter->cluster) == 0) &&
	       (!filter->owner ||
		strcmp(failure_str(failure, "spec.ownerText"), filter->owner) == 0) &&
	       (!filter->since_ns || failure_ended_ns(failure) >= filter->since_ns);
}

struct items failure_items_of(const cJSON *list, const struct failure_filter *filter)
{
	const cJSON *array = json_get(list, "items");
	struct items items = { .all = calloc((size_t)MAX(cJSON_GetArraySize(array), 1),
					     sizeof(*items.all)) };

	if (!items.all)
		return items;
	json_each(failure, array)
		if (is_wanted(failure, filter))
			items.all[items.n++] = (struct item){ failure, failure_ended_ns(failure) };
	qsort(items.all, items.n, sizeof(*items.all), by_end);
	return items;
}

const char *failure_signature(const cJSON *failure)
{
	const char *signature = failure_str(failure, "spec.signature");

	return *signature ? signature : failure_str(failure, "spec.class");
}

static int most_first(const void *left, const void *right)
{
	const struct failure_group *a = left, *b = right;

	if (a->n != b->n)
		return a->n > b->n ? -1 : 1;
	return strcmp(a->signature, b->signature);
}

struct failure_group *failure_groups(const struct items *items, size_t *ret_n)
{
	struct failure_group *groups = calloc(MAX(items->n, (size_t)1), sizeof(*groups)), *group;
	struct strmap seen = STRMAP_INIT; /* by "signature" and by "signature pod" */
	char key[1200];
	size_t n = 0;

	for (size_t i = 0; groups && i < items->n; i++) {
		const cJSON *failure = items->all[i].failure;
		const char *signature = failure_signature(failure);

		group = strmap_get(&seen, signature);
		if (!group) {
			group = &groups[n++];
			*group = (struct failure_group){ signature, .first = &items->all[i] };
			strmap_put(&seen, signature, group, NULL);
		}
		group->n++;
		group->last = &items->all[i];
		snprintf(key, sizeof(key), "%.500s %.253s/%.253s", signature,
			 failure_str(failure, "metadata.namespace"),
			 failure_str(failure, "spec.pod"));
		group->pods += strmap_get(&seen, key) == NULL;
		strmap_put(&seen, key, group, NULL);
	}
	strmap_release(&seen, NULL);
	if (n)
		qsort(groups, n, sizeof(*groups), most_first);
	*ret_n = n;
	return groups;
}
