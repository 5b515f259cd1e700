/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the API server for the facts about a namespace that planning needs and no watch shows:
 * whether the store's claim exists, and which pods the Pod Security level permits.
 * The answers count as true for a while.
 */
#pragma once

#include "operator/cluster_controller/known_state.h"
#include "operator/kube/client.h"
#include "operator/policy/policy.h"
#include "operator/raycluster/redis_cleanup.h"

/*
 * Objects that are not watched, because few clusters have them, or they seldom change. Of Services
 * those with the label ray.io/cluster are watched, so only a foreign one has to be looked up.
 */
enum lookup_object_kind {
	LOOKUP_JOB,
	LOOKUP_INGRESS,
	LOOKUP_GCS_CLAIM,
	LOOKUP_SERVICE,
	LOOKUP_HEADLESS,
	LOOKUP_SERVE,
	LOOKUP_ACCOUNT,
	LOOKUP_ROLE,
	LOOKUP_BINDING,
	LOOKUP_OBJECT_COUNT
};

#define LOOKUP_NAME_MAX 256

struct lookup_object {
	char name[LOOKUP_NAME_MAX]; /* "": the object is not asked for, or was already */
	/* the answer, owned by the caller; NULL: the object does not exist */
	cJSON *object;
	struct err refused; /* its code is set if the operator may not read the object */
};

/* Owned by the caller. It, and the objects that it points to, must stay until done is called. */
struct namespace_lookup {
	struct client *client;
	const struct policy *policy;
	const char *namespace;
	struct known_namespace *known;
	struct lookup_object objects[LOOKUP_OBJECT_COUNT];
	/*
	 * Called when everything is known (err NULL), or cannot be found out now. The callee may
	 * release the lookup.
	 */
	void (*done)(void *arg, int64_t retry_after_ns, const struct err *err);
	void *arg;
};

/* Asks for the facts that are no longer known; calls done at once if all are known. */
void namespace_lookup_start(struct namespace_lookup *lookup);
void namespace_lookup_release(struct namespace_lookup *lookup);
