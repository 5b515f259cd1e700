/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose RayFailures are: from the RayClusters that are watched, from those that went within the last hour (KubeRay removes
 * whole clusters by TTL, and pods die later than their cluster), and the submission id from the RayJob itself, which is asked
 * once for each cluster. Bounded in number and time.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_FAILURE_OWNERS_H
#define AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_FAILURE_OWNERS_H

#include "operator/failures/ray_failure.h"
#include "operator/kube/client.h"

struct failure_owners;

struct failure_owners_options {
	struct client *client; /* NULL: no RayJob is asked */
	/* The RayCluster of "namespace/name" as it is watched, or NULL; read at once. */
	const cJSON *(*find_cluster)(void *arg, const char *key);
	void *arg;
};

int failure_owners_new(const struct failure_owners_options *options, struct failure_owners **ret_owners, struct err *err);
void failure_owners_free(struct failure_owners *owners); /* NULL is allowed */

/* That RayCluster is gone; now_ns is boottime. */
void failure_owners_cluster_gone(struct failure_owners *owners, const cJSON *cluster, int64_t now_ns);

/* Whether the RayCluster "namespace/name" was removed within the last hour, and no other of that name was made since. */
bool failure_owners_is_gone(const struct failure_owners *owners, const char *key, int64_t now_ns);

/* Adds to a RayFailure what is known by now of its owner: uid, RayCronJob, submission id. */
void failure_owners_complete(struct failure_owners *owners, struct ray_failure *failure, int64_t now_ns);

/*
 * Asks for what is not known of the failure's RayJob. True: done is called once, within two seconds, unless the client is
 * freed before; failure_owners_complete then knows more, or nobody will. False: there is nothing to ask, and done is not called.
 */
bool failure_owners_ask(struct failure_owners *owners, const struct ray_failure *failure, int64_t now_ns, void (*done)(void *arg),
			void *arg);

#endif
