/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides how long RayFailures are kept, and how many of them in a namespace. Pure: time is an
 * argument.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lib/err.h"
#include "lib/strmap.h"

/*
 * The time of the death on a RayFailure, as in spec.endedAt, for readers that see only the
 * metadata.
 */
#define FAILURE_ENDED_ANNOTATION "afterglow.dev/ended-at"

struct retention {
	int64_t max_age_ns; /* since the end that the RayFailure reports; 0: no limit */
	unsigned max_count; /* how many of the newest RayFailures of a namespace stay; 0: all */
};

/* Returns the retention of a namespace. */
typedef struct retention retention_fn(void *arg, const char *namespace);

/*
 * Parses "720h", "30d", "90m" or "45s"; "0" and "" mean no limit. Returns -EINVAL with a message
 * that names the right form.
 */
int retention_parse_age(const char *text, int64_t *ret_ns, struct err *err);

#define RETENTION_UID_MAX 64 /* the API server gives uids of 36 characters */
struct kept {
	const char *namespace, *name; /* the maps' */
	char uid[RETENTION_UID_MAX];
	int64_t ended_ns; /* since 1970 */
	bool leaving; /* it is being deleted */
	LIST_ENTRY(kept) link; /* of the same namespace, in no order */
};

/* The existing RayFailures, by key. */
struct kept_set {
	struct strmap all; /* "namespace/name" -> struct kept */
	struct strmap namespaces; /* namespace -> struct kept_namespace */
};

void kept_set_release(struct kept_set *set);
/*
 * Adds a RayFailure, or only its metadata, to the set, or removes it. kept_set_add returns 0, or
 * -ENOMEM if the RayFailure could not be added.
 */
int kept_set_add(struct kept_set *set, const cJSON *failure);
void kept_set_remove(struct kept_set *set, const cJSON *failure);
/*
 * Notes that the API server refused to delete a RayFailure of the namespace: until then none of it
 * is chosen, so that those of other namespaces have their turn.
 */
void kept_set_refused(struct kept_set *set, const char *namespace, int64_t until_ns);

/*
 * Returns whether a RayFailure that is still to be written would stay; otherwise it need not be
 * written. ended_ns is the time of its end since 1970, INT64_MAX if that is not known.
 */
bool retention_wants(const struct retention *r, const struct kept_set *set, const char *namespace,
		     int64_t ended_ns, int64_t now_ns);

/*
 * Returns the next RayFailure to delete that is not leaving yet, and of a namespace where
 * deletions are not refused: one that is too old, or the oldest of a namespace that has too many;
 * NULL if there is none. ret_reason is "age" or "count".
 */
struct kept *retention_next(retention_fn *of, void *arg, const struct kept_set *set, int64_t now_ns,
			    const char **ret_reason);
