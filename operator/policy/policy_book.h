/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores all RayPolicies and ClusterRayPolicies, parsed once per change, and the labels by which
 * they select; finds those that apply to a RayCluster. No I/O: the caller reports each change.
 */
#pragma once

#include <cjson/cJSON.h>

#include "lib/strmap.h"
#include "operator/policy/policy.h"
#include "operator/policy/policy_object.h"
#include "operator/policy/policy_resolve.h"
#include "operator/policy/policy_status.h"

#define POLICY_KEY_MAX 512

/* One RayPolicy or ClusterRayPolicy; object->owner points to it. */
struct known_policy {
	struct policy_object *object;
	struct policy_tally tally; /* from the last count (policy_count.h) */
	size_t counted; /* the number of the cluster that was counted last */
	/* Of its status, for policies.c: */
	size_t round; /* in which it was looked at last */
	int64_t written_ns, retry_ns;
	bool writing;
	char key[]; /* "namespace/name", or "name" */
};

struct policy_book {
	struct policy own; /* the operator's, as it was given */
	struct policy base; /* the effective policy if no policy object applies */
	struct strmap known[2]; /* key -> struct known_policy: RayPolicies, ClusterRayPolicies */
	struct strmap lists; /* namespace -> struct policy_list, the oldest first */
	struct policy_list cluster_list;
	struct strmap namespaces; /* name -> its labels */
	struct strmap clusters; /* "namespace/name" -> the labels of a RayCluster */
	struct effective_policy *effective; /* combinations that were asked for */
	size_t n_effective;
	/* Of policy_count.h: */
	size_t n_counted, count_bucket, count_buckets;
	bool counting;
};

/* Copies own. On failure nothing is left to release. */
int policy_book_init(struct policy_book *book, const struct policy *own, struct retention retention,
		     struct err *err);
void policy_book_release(struct policy_book *book);

/*
 * Call this for each change of a policy, of a namespace's labels, or of a RayCluster's labels;
 * after is NULL if the object is gone. They return whether anything has changed that matters to
 * policies; a status that we wrote does not.
 */
bool policy_book_see_policy(struct policy_book *book, bool is_cluster_wide, const cJSON *before,
			    const cJSON *after);
bool policy_book_see_namespace(struct policy_book *book, const cJSON *before, const cJSON *after);
bool policy_book_see_cluster(struct policy_book *book, const cJSON *before, const cJSON *after);

/* Returns whether there are no policies at all. */
bool policy_book_is_empty(const struct policy_book *book);

/* The same as policies_for and policies_retention (policies.h). */
const struct policy *policy_book_for(struct policy_book *book, const char *namespace,
				     const cJSON *cluster_labels, const char **ret_origin);
struct retention policy_book_retention(const struct policy_book *book, const char *namespace);

/*
 * For policy_count.c: return the policies of a list that count, and those that apply to these
 * labels.
 */
struct policy_list policy_book_oldest(const struct policy_list *list);
void policy_book_choose(const struct policy_book *book, const char *namespace, const cJSON *labels,
			struct policy_choice *ret_choice, policy_loser_fn *fn, void *arg);
/*
 * Returns the labels of a namespace. item and object belong to the caller, and are used if only the
 * namespace's name is known.
 */
const cJSON *policy_book_namespace_labels(const struct policy_book *book, const char *namespace,
					  cJSON *item, cJSON *object);
