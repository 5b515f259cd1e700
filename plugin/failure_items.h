/* SPDX-License-Identifier: Apache-2.0 */
/* Filters the items of a RayFailureList and sorts them by the time of their end. Pure. */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

/* Selects the failures to list. A member that is NULL or 0 does not matter. */
struct failure_filter {
	const char *class; /* spec.class */
	const char *cluster; /* spec.cluster */
	const char *owner; /* spec.ownerText: "RayJob/train" */
	int64_t since_ns; /* Unix time: the failure ended then or later */
};

struct item {
	const cJSON *failure; /* owned by the list */
	int64_t ended_ns; /* Unix time; 0: not known */
};

struct items {
	struct item *all; /* the oldest first; NULL: there is no memory */
	size_t n;
};

/* Returns the items that pass the filter. The caller frees `all`. */
struct items failure_items_of(const cJSON *list, const struct failure_filter *filter);

/*
 * Returns a string of the failure, such as "spec.class"; "" if there is none. Owned by the failure.
 */
const char *failure_str(const cJSON *failure, const char *path);
/* Returns the Unix time at which it ended; 0 if that is not known. */
int64_t failure_ended_ns(const cJSON *failure);

/* Failures with the same spec.signature, or of the same class if they have none. */
struct failure_group {
	const char *signature; /* owned by the failures */
	const struct item *first, *last;
	size_t n, pods;
};

/* Returns the signature, otherwise the class. */
const char *failure_signature(const cJSON *failure);
/* Returns the groups, the most frequent first, which the caller frees; NULL: there is no memory. */
struct failure_group *failure_groups(const struct items *items, size_t *ret_n);
