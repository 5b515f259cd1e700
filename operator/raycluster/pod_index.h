/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index of a cluster's pods by group and by name, made once for a plan: walking all pods for
 * each group, or for each pod, would take minutes for a cluster of thousands.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/strmap.h"

/* Places in the array that was indexed, in its order. */
struct pod_list {
	size_t *at;
	size_t n, capacity;
};

struct pod_index {
	struct strmap groups; /* the worker pods' ray.io/group, "" too -> struct pod_list */
	struct strmap names; /* metadata.name -> the pod's index plus one */
	struct pod_list heads;
};

/* The pods must outlive the index. Returns 0 or -ENOMEM; release the index in both cases. */
int pod_index_init(struct pod_index *index, const cJSON *const *pods, size_t n);
void pod_index_release(struct pod_index *index);

/* Returns the worker pods of that group; the list is empty for a group without pods. */
const struct pod_list *pod_index_workers(const struct pod_index *index, const char *group);
/* Finds the index of the pod of that name. Returns false if no pod has the name. */
bool pod_index_find(const struct pod_index *index, const char *name, size_t *ret_at);
