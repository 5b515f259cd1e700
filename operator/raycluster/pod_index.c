/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes the pods of a cluster by group and by name. */
#include "operator/raycluster/pod_index.h"

#include <errno.h>
#include <stdint.h>

#include "lib/json.h"
#include "operator/raycluster/pod_state.h"

static int pod_index_list_add(struct pod_list *list, size_t at)
{
	if (list->n == list->capacity) {
		size_t capacity = list->capacity ? 2 * list->capacity : 8;
		size_t *longer = realloc(list->at, capacity * sizeof(*longer));

		if (!longer)
			return -ENOMEM;
		list->at = longer;
		list->capacity = capacity;
	}
	list->at[list->n++] = at;
	return 0;
}

static void pod_index_list_free(void *value)
{
	struct pod_list *list = value;

	free(list->at);
	free(list);
}

static int index_pod(struct pod_index *index, const cJSON *pod, size_t at)
{
	const char *name = json_str(pod, "metadata.name");
	struct pod_list *list = &index->heads;

	if (!pod_is_head(pod))
		list = strmap_get_or_add(&index->groups, pod_group(pod), sizeof(*list));
	if (!list || pod_index_list_add(list, at) < 0)
		return -ENOMEM;
	return name ? strmap_put(&index->names, name, (void *)(uintptr_t)(at + 1), NULL) : 0;
}

int pod_index_init(struct pod_index *index, const cJSON *const *pods, size_t n)
{
	int r = 0;

	*index = (struct pod_index){ 0 };
	for (size_t i = 0; i < n && r == 0; i++)
		r = index_pod(index, pods[i], i);
	return r;
}

void pod_index_release(struct pod_index *index)
{
	strmap_release(&index->groups, pod_index_list_free);
	strmap_release(&index->names, NULL);
	free(index->heads.at);
	*index = (struct pod_index){ 0 };
}

const struct pod_list *pod_index_workers(const struct pod_index *index, const char *group)
{
	static const struct pod_list none;
	const struct pod_list *list = strmap_get(&index->groups, group);

	return list ? list : &none;
}

bool pod_index_find(const struct pod_index *index, const char *name, size_t *ret_at)
{
	uintptr_t found = (uintptr_t)strmap_get(&index->names, name);

	if (found)
		*ret_at = found - 1;
	return found != 0;
}
