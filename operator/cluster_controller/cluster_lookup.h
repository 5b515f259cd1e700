/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has to be known of one RayCluster before it is planned, and is not in the copies: which of
 * its pods exist where that is not certain (expectations.h), the policy in force, and what is asked
 * of its namespace (namespace_lookup.h).
 */
#ifndef AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_CLUSTER_LOOKUP_H
#define AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_CLUSTER_LOOKUP_H

#include "operator/cluster_controller/known_state.h"
#include "operator/cluster_controller/namespace_lookup.h"
#include "operator/cluster_controller/pod_lookup.h"
#include "operator/policy/policies.h"

/* The caller sets the first part; the rest starts zeroed. What it points to must last as long. */
struct cluster_lookup {
	struct client *client;
	struct watches *watches;
	struct policies *policies;
	struct known_state *known;
	const char *key, *namespace; /* "namespace/name" of the cluster */
	bool (*may_write)(void *arg); /* asked before a label is put back */
	/*
	 * All is known (err NULL); but when again is true there are more pods to ask for, and the
	 * cluster is to be looked at anew. Or it cannot be found out now. The lookup may be gone
	 * afterwards.
	 */
	void (*done)(void *arg, bool again, int64_t retry_after_ns, const struct err *err);
	void *arg;

	struct policy policy; /* a copy: a change of it is for the next time */
	char *policy_origin; /* as in plan.h; NULL: the operator's own */
	struct namespace_lookup namespaces; /* its objects are for the plan */
	struct pod_lookup pods;
	char cluster_uid[64];
	bool lists_pods;
};

/* Calls done, perhaps at once. */
void cluster_lookup_start(struct cluster_lookup *lookup);
/*
 * Later, when a plan was found that creates pods while our copies may lack what the leader before
 * us created: the cluster's pods are listed, what the copies lack is asked for, and done is called
 * once more.
 */
void cluster_lookup_list_pods(struct cluster_lookup *lookup);
void cluster_lookup_release(struct cluster_lookup *lookup);

/* Whether that RayCluster is being deleted, and stays for what it has in Redis. */
bool cluster_lookup_is_held(const cJSON *cluster);

#endif
