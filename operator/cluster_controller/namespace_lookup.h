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

/* Objects that are not watched, for few clusters have one, or one that changes. */
enum lookup_object_kind { LOOKUP_JOB, LOOKUP_INGRESS, LOOKUP_GCS_CLAIM, LOOKUP_OBJECT_COUNT };

#define LOOKUP_NAME_MAX 256

struct lookup_object {
	char name[LOOKUP_NAME_MAX]; /* "": it is not asked for, or not any more */
	cJSON *object;		    /* the answer, which is the caller's; NULL: there is none */
	struct err refused;	    /* its code is set when we may not look */
};

/* The caller's, until done was called. What it points to, the policy too, must last as long. */
struct namespace_lookup {
	struct client *client;
	const struct policy *policy;
	const char *namespace;
	struct known_namespace *known;
	struct lookup_object objects[LOOKUP_OBJECT_COUNT];
	/* All is known (err NULL), or cannot be found out now. The lookup may be gone afterwards. */
	void (*done)(void *arg, int64_t retry_after_ns, const struct err *err);
	void *arg;
};

/* Asks for what is not known any more; calls done at once if that is nothing. */
void namespace_lookup_start(struct namespace_lookup *lookup);
void namespace_lookup_release(struct namespace_lookup *lookup);

#endif
