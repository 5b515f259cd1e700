/* SPDX-License-Identifier: Apache-2.0 */
/* How long RayFailures are kept, and how many of a namespace. Pure: time is an argument. */
#ifndef AFTERGLOW_OPERATOR_FAILURES_RETENTION_H
#define AFTERGLOW_OPERATOR_FAILURES_RETENTION_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/strmap.h"

struct retention {
	int64_t max_age_ns; /* since the end that it tells of; 0: for ever */
	unsigned max_count; /* of one namespace, the newest; 0: all */
};

/* Of a namespace. */
typedef struct retention retention_fn(void *arg, const char *namespace);

/* "720h", "30d", "90m", "45s"; "0" and "" are for ever. -EINVAL says what would be right. */
int retention_parse_age(const char *text, int64_t *ret_ns, struct err *err);

struct kept {
	char *namespace, *name, *uid;
	int64_t ended_ns; /* since 1970 */
	bool leaving; /* its deletion is under way */
};

/* The RayFailures that there are, by key. */
struct kept_set {
	struct strmap all; /* "namespace/name" -> struct kept */
	struct strmap namespaces; /* namespace -> struct kept_namespace */
};

void kept_set_release(struct kept_set *set);
/* A RayFailure, or only its metadata, is there, or not any more. -ENOMEM: it is not counted. */
int kept_set_add(struct kept_set *set, const cJSON *failure);
void kept_set_remove(struct kept_set *set, const cJSON *failure);

/*
 * Whether a RayFailure of that namespace and end (since 1970; INT64_MAX: not known) that is still to be written would stay: else it
 * need not be written.
 */
bool retention_wants(const struct retention *r, const struct kept_set *set, const char *namespace, int64_t ended_ns, int64_t now_ns);

/*
 * The next to go that is not leaving yet: too old, or the oldest of a namespace
 * that has too many; NULL: none. ret_reason is "age" or "count".
 */
struct kept *retention_next(retention_fn *of, void *arg, const struct kept_set *set, int64_t now_ns, const char **ret_reason);

#endif
