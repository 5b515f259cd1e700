/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the launchers' ConfigMap in every namespace with Ray, no matter which operator
 * makes the pods. Reads it when the first RayCluster or Ray pod of the namespace is
 * seen and every ten minutes from then on, and writes what launcher_configmap.h
 * decides. ConfigMaps are not watched, because that needs the right to read all of them.
 *
 * All replicas count pods and clusters; only the leader reads and writes.
 */
#pragma once

#include "operator/kube/client.h"
#include "operator/kube/metrics.h"
#include "operator/launcher/launcher.h"

/* The most namespaces. Further ones get no launchers, and then keys are no longer removed. */
#define LAUNCHER_STORE_PLACES_MAX 16384

struct launcher_store;

struct launcher_store_options {
	struct event_base *base;
	struct client *client;
	const struct launchers *launchers; /* at least one */
	struct metrics *metrics;
	bool (*may_write)(void *arg);
	bool (*is_whole)(void *arg); /* whether all pods and clusters have been seen */
	/* Called when launcher_store_settled has become true; may be NULL. */
	void (*on_settled)(void *arg, const char *namespace);
	void *arg;
};

/* The objects that options point to must outlive the store. */
int launcher_store_new(const struct launcher_store_options *options,
		       struct launcher_store **ret_store, struct err *err);
/*
 * Here and in the functions below, store may be NULL: then pods go without launchers. No request
 * may be answered after launcher_store_free.
 */
void launcher_store_free(struct launcher_store *store);
/* Call this when may_write has become true. */
void launcher_store_begin(struct launcher_store *store);

/*
 * Call this for each change of the copies of Ray pods and of RayClusters; before or after is
 * NULL where it does not exist.
 */
void launcher_store_see_pod(struct launcher_store *store, const cJSON *before, const cJSON *after);
void launcher_store_see_cluster(struct launcher_store *store, const cJSON *before,
				const cJSON *after);

/*
 * Returns whether pods of that namespace need not wait: the ConfigMap has our launchers, or the
 * first attempt to write it has failed. In that case, which the log reports, Ray comes first. A
 * namespace without known pods or clusters is settled.
 */
bool launcher_store_settled(const struct launcher_store *store, const char *namespace);
