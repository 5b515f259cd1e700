/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What planning asks the API server of a namespace, because it is not watched:
 * is the store's claim there, which pods does the Pod Security level take? The
 * answers are believed for a while.
 */
#ifndef AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_NAMESPACE_LOOKUP_H
#define AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_NAMESPACE_LOOKUP_H

#include "operator/cluster_controller/known_state.h"
#include "operator/kube/client.h"
#include "operator/policy/policy.h"
#include "operator/raycluster/redis_cleanup.h"

/* The caller's, until done was called. What it points to, the policy too, must last as long. */
struct namespace_lookup {
	struct client *client;
	const struct policy *policy;
	const char *namespace;
	struct known_namespace *known;
	/*
	 * A Job to look for, "": none. Jobs are not watched: few clusters have one, for minutes. The answer is the caller's;
	 * NULL: there is none, and job_refused may say that we may not look.
	 */
	char job_name[REDIS_CLEANUP_NAME_MAX];
	cJSON *job;
	struct err job_refused;
	/* All is known (err NULL), or cannot be found out now. The lookup may be gone afterwards. */
	void (*done)(void *arg, int64_t retry_after_ns, const struct err *err);
	void *arg;
};

/* Asks for what is not known any more; calls done at once if that is nothing. */
void namespace_lookup_start(struct namespace_lookup *lookup);

#endif
