/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the owner of each RayFailure: in the RayClusters that are watched, and in those that were
 * deleted within the last hour (KubeRay deletes whole clusters after a TTL, and pods die later than
 * their cluster). Reads the submission id from the RayJob, once for each cluster. What it remembers
 * is bounded in number and time.
 */
#pragma once

#include "operator/failures/ray_failure.h"
#include "operator/kube/client.h"

struct failure_owners;

struct failure_owners_options {
	struct client *client; /* NULL: no RayJob is read */
	/*
	 * Returns the informer's copy of the RayCluster "namespace/name", or NULL. It is not kept
	 * after the call.
	 */
	const cJSON *(*find_cluster)(void *arg, const char *key);
	void *arg;
};

int failure_owners_new(const struct failure_owners_options *options,
		       struct failure_owners **ret_owners, struct err *err);
void failure_owners_free(struct failure_owners *owners); /* NULL is allowed */

/* Call this when a RayCluster was deleted; cluster is its last state. now_ns is CLOCK_BOOTTIME. */
void failure_owners_cluster_gone(struct failure_owners *owners, const cJSON *cluster,
				 int64_t now_ns);

/*
 * Returns whether the RayCluster "namespace/name" was deleted within the last hour, and no cluster
 * of that name was made since.
 */
bool failure_owners_is_gone(const struct failure_owners *owners, const char *key, int64_t now_ns);

/*
 * Adds the facts that are known by now about the RayFailure's owner: uid, RayCronJob, submission
 * id.
 */
void failure_owners_complete(struct failure_owners *owners, struct ray_failure *failure,
			     int64_t now_ns);

/*
 * Reads the failure's RayJob if that is needed. If it returns true, done is called once, within two
 * seconds, unless the client is freed before; failure_owners_complete then adds the answer. If it
 * returns false, there is nothing to read, and done is not called.
 */
bool failure_owners_ask(struct failure_owners *owners, const struct ray_failure *failure,
			int64_t now_ns, void (*done)(void *arg), void *arg);
