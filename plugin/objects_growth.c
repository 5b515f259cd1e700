/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what Ray's object store holds with what it held before. */
#include "plugin/objects_growth.h"

#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"

static int64_t objects_bytes(const cJSON *group, const char *member)
{
	int64_t bytes = json_int(group, member, 0);

	return MIN(MAX(bytes, (int64_t)0), INT64_MAX / 4);
}

static int64_t objects_growth(const cJSON *group)
{
	return objects_bytes(group, "bytes") - objects_bytes(group, "bytesBefore");
}

/* Equal: the same line of code made the objects, or the same process owns them. */
static int objects_compare_keys(const void *one, const void *other)
{
	static const char *const members[] = { "madeBy", "site", "owner.ip" };
	const cJSON *const *a = one, *const *b = other;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(members) && !r; i++)
		r = strcmp(json_str_or(*a, members[i], ""), json_str_or(*b, members[i], ""));
	int64_t pid = json_int(*a, "owner.pid", 0), other_pid = json_int(*b, "owner.pid", 0);
	return r ? r : (pid > other_pid) - (pid < other_pid);
}

/* Puts the group that has grown most first, and of those that have grown alike the largest. */
static int objects_compare_growth(const void *one, const void *other)
{
	const cJSON *const *a = one, *const *b = other;
	int64_t grown = objects_growth(*a), other_grown = objects_growth(*b);

	if (grown == other_grown) {
		grown = objects_bytes(*a, "bytes");
		other_grown = objects_bytes(*b, "bytes");
	}
	int r = (grown < other_grown) - (grown > other_grown);
	return r ? r : objects_compare_keys(one, other);
}

/*
 * Returns pointers to the members of an array, which the caller frees; NULL: there are none, or no
 * memory.
 */
static cJSON **objects_groups(const cJSON *groups, size_t *ret_n)
{
	size_t n = (size_t)cJSON_GetArraySize(groups);
	cJSON **all = n ? calloc(n, sizeof(cJSON *)) : NULL;

	*ret_n = 0;
	if (all)
		for (cJSON *group = groups->child; group && *ret_n < n; group = group->next)
			all[(*ret_n)++] = group;
	return all;
}

void objects_compare(cJSON *answer, const cJSON *before)
{
	cJSON *groups = json_get(answer, "groups");
	size_t n, n_before;
	cJSON **all = objects_groups(groups, &n);
	cJSON **old = objects_groups(json_get(before, "groups"), &n_before);

	if (*json_str_or(before, "missing", "") ||
	    json_int(before, "references", 0) >= json_int(before, "referencesMax", INT64_MAX) ||
	    json_bool(before, "sites", true) != json_bool(answer, "sites", true))
		json_set(answer, "beforePartial", cJSON_CreateTrue());
	if (old)
		qsort(old, n_before, sizeof(*old), objects_compare_keys);
	for (size_t i = 0; i < n; i++) {
		cJSON **same =
			old ? bsearch(&all[i], old, n_before, sizeof(*old), objects_compare_keys) :
			      NULL;

		json_set_int(all[i], "bytesBefore", same ? objects_bytes(*same, "bytes") : 0);
		json_set_int(all[i], "objectsBefore", same ? objects_bytes(*same, "objects") : 0);
	}
	if (all)
		qsort(all, n, sizeof(*all), objects_compare_growth);
	for (size_t i = 0; i < n; i++)
		json_append(groups, cJSON_DetachItemViaPointer(groups, all[i]));
	free(all);
	free(old);
}
