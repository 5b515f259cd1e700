/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the facts about one RayCluster that a plan needs. */
#include "operator/cluster_controller/cluster_lookup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "operator/cluster_controller/wanted_objects.h"
#include "operator/raycluster/redis_cleanup.h"

static void cluster_lookup_fail(struct cluster_lookup *l, int64_t retry_after_ns,
				const struct err *err)
{
	l->done(l->arg, false, retry_after_ns, err);
}

static void fail_without_memory(struct cluster_lookup *l)
{
	cluster_lookup_fail(l, 0, &(struct err){ .code = ENOMEM, .text = "observing" });
}

static const cJSON *cluster_lookup_cluster_of(const struct cluster_lookup *l)
{
	return store_get(watches_store(l->watches, WATCH_CLUSTERS), l->key);
}

bool cluster_lookup_is_held(const cJSON *cluster)
{
	return json_str(cluster, "metadata.deletionTimestamp") && redis_cleanup_is_held(cluster);
}

/* --- The namespace ---------------------------------------------------------------------------- */

static void cluster_lookup_on_namespace(void *arg, int64_t retry_after_ns, const struct err *err)
{
	struct cluster_lookup *l = arg;
	const struct err *refused = &l->namespaces.objects[LOOKUP_JOB].refused;

	if (refused->code)
		known_state_note_no_cleanup(l->known, l->key, refused);
	l->done(l->arg, false, retry_after_ns, err);
}

/* Copies the policy, because policies change while the API server is asked. */
static int cluster_lookup_take_policy(struct cluster_lookup *l, const cJSON *cluster,
				      struct err *err)
{
	const char *origin;
	const struct policy *policy = policies_for(l->policies, l->namespace,
						   json_get(cluster, "metadata.labels"), &origin);

	if (origin && !(l->policy_origin = strdup(origin)))
		return err_set(err, ENOMEM, "policy");
	return policy_copy(policy, &l->policy, err);
}

static void look_at_namespace(struct cluster_lookup *l, struct known_namespace *known)
{
	const cJSON *cluster = cluster_lookup_cluster_of(l);
	struct err err = { 0 };

	if (cluster_lookup_take_policy(l, cluster, &err) < 0) {
		cluster_lookup_fail(l, 0, &err);
		return;
	}
	l->namespaces = (struct namespace_lookup){ .client = l->client,
						   .policy = &l->policy,
						   .namespace = l->namespace,
						   .known = known,
						   .done = cluster_lookup_on_namespace,
						   .arg = l };
	if (cluster_lookup_is_held(cluster))
		redis_cleanup_name(cluster, l->namespaces.objects[LOOKUP_JOB].name);
	wanted_objects(cluster, known_state_of_cluster(l->known, l->key), &l->namespaces);
	/* A Service that the watch shows need not be looked up. */
	for (size_t i = LOOKUP_SERVICE; i <= LOOKUP_HEADLESS; i++)
		if (watches_service(l->watches, l->namespace, l->namespaces.objects[i].name))
			l->namespaces.objects[i].name[0] = '\0';
	namespace_lookup_start(&l->namespaces);
}

/* --- Pods ------------------------------------------------------------------------------------- */

static void on_pods(void *arg, int64_t retry_after_ns, const struct err *err)
{
	struct cluster_lookup *l = arg;
	struct known_namespace *known = known_state_of_namespace(l->known, l->namespace);
	struct known_cluster *own = known_state_of_cluster(l->known, l->key);

	if (err) {
		cluster_lookup_fail(l, retry_after_ns, err);
		return;
	}
	if (!known || !own) {
		fail_without_memory(l);
		return;
	}
	if (l->lists_pods)
		own->listed_term = l->known->term;
	if (expectations_next(&own->expected))
		l->done(l->arg, true, 0, NULL);
	else if (l->lists_pods)
		l->done(l->arg, false, 0, NULL);
	else
		look_at_namespace(l, known);
}

/* The lookup of pods has only this lookup, so it asks the caller's callback through it. */
static bool cluster_lookup_may_write(void *arg)
{
	const struct cluster_lookup *l = arg;

	return l->may_write(l->arg);
}

/* Nothing is planned for a cluster while it is uncertain which pods it has. */
void cluster_lookup_start(struct cluster_lookup *l)
{
	const char *uid = json_str(cluster_lookup_cluster_of(l), "metadata.uid");
	struct known_cluster *own = known_state_of_cluster(l->known, l->key);

	if (!own) {
		fail_without_memory(l);
		return;
	}
	snprintf(l->cluster_uid, sizeof(l->cluster_uid), "%s", uid ? uid : "");
	l->pods = (struct pod_lookup){ .client = l->client,
				       .watches = l->watches,
				       .expected = &own->expected,
				       .namespace = l->namespace,
				       .cluster = l->key + strlen(l->namespace) + 1,
				       .cluster_uid = l->cluster_uid,
				       .may_write = cluster_lookup_may_write,
				       .done = on_pods,
				       .arg = l };
	if (l->lists_pods)
		pod_lookup_start_with_list(&l->pods);
	else
		pod_lookup_start(&l->pods);
}

void cluster_lookup_list_pods(struct cluster_lookup *l)
{
	l->lists_pods = true;
	cluster_lookup_start(l);
}

void cluster_lookup_release(struct cluster_lookup *l)
{
	cJSON_Delete(l->pods.pod);
	namespace_lookup_release(&l->namespaces);
	policy_release(&l->policy);
	free(l->policy_origin);
}
