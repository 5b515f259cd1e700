/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the facts that planning a RayCluster needs and the informers' copies lack: whether
 * uncertain pods exist (expectations.h), the policy that applies, and facts about its namespace
 * (namespace_lookup.h).
 */
#pragma once

#include "operator/cluster_controller/known_state.h"
#include "operator/cluster_controller/namespace_lookup.h"
#include "operator/cluster_controller/pod_lookup.h"
#include "operator/policy/policies.h"

/*
 * The caller sets the first part; the rest starts zeroed. The objects that it points to must last
 * as long.
 */
struct cluster_lookup {
	struct client *client;
	struct watches *watches;
	struct policies *policies;
	struct known_state *known;
	const char *key, *namespace; /* "namespace/name" of the cluster */
	bool (*may_write)(void *arg); /* asked before a label is put back */
	/*
	 * Called when everything is known (err NULL), or when it cannot be found out now (err set).
	 * If again is true, there are more pods to ask for, and the cluster must be looked up
	 * again. The callee may release the lookup.
	 */
	void (*done)(void *arg, bool again, int64_t retry_after_ns, const struct err *err);
	void *arg;

	struct policy policy; /* a copy, so that a change applies only to the next plan */
	char *policy_origin; /* as in plan.h; NULL: the operator's own settings */
	struct namespace_lookup namespaces; /* its objects are for the plan */
	struct pod_lookup pods;
	char cluster_uid[64];
	bool lists_pods;
};

/* Calls done, perhaps at once. */
void cluster_lookup_start(struct cluster_lookup *lookup);
/*
 * Call this when the plan creates pods, but the copies may lack pods that the previous leader
 * created: lists the cluster's pods, asks for those that the copies lack, and calls done again.
 */
void cluster_lookup_list_pods(struct cluster_lookup *lookup);
void cluster_lookup_release(struct cluster_lookup *lookup);

/*
 * Returns whether that RayCluster is being deleted, and remains until its data are removed from
 * Redis.
 */
bool cluster_lookup_is_held(const cJSON *cluster);
