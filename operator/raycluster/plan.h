/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans what to do for a RayCluster, as a pure function: the observed objects and the
 * time go in, an ordered list of writes comes out. The caller executes them in order,
 * stops at the first failure, and plans again when anything changed. The names of new
 * pods come from a random seed. If the answer to a creation was lost, the creation is
 * repeated under the same name (unanswered_create), so that it never makes a second
 * pod.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "operator/launcher/launcher.h"
#include "operator/policy/policy.h"
#include "operator/raycluster/crash_loop.h"

enum plan_op_kind {
	PLAN_APPLY, /* server-side apply of body */
	/*
	 * POST of body; AlreadyExists is success, except for a pod, because the existing pod may
	 * belong to somebody else
	 */
	PLAN_CREATE,
	/*
	 * body: apiVersion, kind, metadata {namespace, name, uid, resourceVersion, label
	 * node-type}, and gracePeriodSeconds if it is not to be the pod's own; NotFound is success
	 */
	PLAN_DELETE,
	/* RayCluster: apiVersion, kind, metadata {namespace, name}, status: applied there */
	PLAN_STATUS,
	/*
	 * JSON merge patch of body, which has apiVersion, kind and metadata {namespace, name}
	 * besides what changes; a uid or resourceVersion is a precondition; NotFound is success,
	 * and of a pod every other refusal is tolerated
	 */
	PLAN_MERGE,
	/*
	 * nothing is written: the existing object stays, although body is what should exist;
	 * is_applied is true from then on
	 */
	PLAN_BELIEVE,
	/*
	 * an events.k8s.io/v1 Event, for the event recorder: no write follows from it, and nothing
	 * waits for it
	 */
	PLAN_EVENT,
};

struct plan_op {
	enum plan_op_kind kind;
	cJSON *body; /* owned by the plan */
	/*
	 * Only for the creation of a pod, whose body has no more than its name and its own labels.
	 * A plan makes thousands of pods, and a tenant's template may have a megabyte.
	 */
	const cJSON *template;
};

/*
 * The longest time between two looks at an object that is to go, such as a former cluster's. If it
 * is still there then, an Event says so.
 */
#define PLAN_GOING_NS ((int64_t)60 * 1000000000)

struct plan {
	struct plan_op *ops;
	size_t n_ops;
	cJSON *templates; /* to which operations refer */
	int64_t requeue_ns; /* plan again after this long even if nothing changes; 0: not needed */
	/*
	 * The age of the cluster. For so long the operator believes in an object if its creation
	 * found the name taken, because that may be a former cluster's: a new cluster looks again
	 * soon, and an old one rarely.
	 */
	int64_t doubt_ns;
};

/* The creation of a pod that got no answer; the API server does not have the pod (yet). */
struct unanswered_create {
	const char *name, *group;
};

struct plan_input {
	const cJSON *cluster; /* ray.io/v1 RayCluster as the API server gave it */
	const cJSON *notes; /* what validate_cluster says about it; the plan adds to a copy */
	/* the pods that it controls, and all in its namespace with its ray.io/cluster label */
	const cJSON *const *pods;
	size_t n_pods;
	/* how many those are; above BOUND_LABELLED (bounds.h) pods is empty */
	size_t n_labelled;
	const cJSON *service; /* with the name of the head service, NULL: none */
	const cJSON *headless; /* with that of the workers' service, NULL: none */
	/* why pods must not mount policy->store.claim (store_claim.h); NULL: they may */
	const char *store_claim_trouble;
	/* why the namespace would not take pods that read the kernel log; NULL: it does */
	const char *kernel_log_refused;
	const struct policy *policy;
	const struct launchers *launchers; /* NULL: none to be had, pods go without */
	/*
	 * which object set the policy, for an annotation (policies.h); NULL: the operator's own
	 * settings
	 */
	const char *policy_origin;
	int64_t now_ns; /* nanoseconds since 1970 */
	/*
	 * Evidence first: per pod (index as pods), true while its RayFailure is still to be
	 * written. Such a dead pod is kept. NULL: nothing is pending.
	 */
	const bool *evidence_pending;
	/*
	 * Recorded deaths of the last hour that were not requested, unsorted. The number is 0 if
	 * none is known.
	 */
	const struct crash *crashes;
	size_t n_crashes;
	/*
	 * Returns whether an object of this kind and name was applied, or created, with this hash a
	 * short time ago. NULL: no object was.
	 */
	bool (*is_applied)(void *arg, const char *kind, const char *name, const char *hash);
	void *arg;
	/*
	 * A random token for the Secret of authOptions; used only if the Secret is created. NULL:
	 * create no Secret.
	 */
	const char *token;
	/*
	 * The existing objects with the names of the cluster's Ingress, of the claim for its
	 * RocksDB, of its service for Ray Serve, and of what its autoscaler needs; NULL if absent.
	 * They are read unless is_applied is true; the role, unless it is for the binding.
	 * ..._refused: the operator may not read the object.
	 */
	const cJSON *ingress, *gcs_claim, *serve, *account, *role, *binding;
	bool ingress_refused, role_refused;
	/*
	 * For a cluster that is being deleted: its Job that cleans Redis, NULL if there is none;
	 * why there can be none.
	 */
	const cJSON *cleanup_job;
	const char *cleanup_refused;
	/* Random text, another for each plan: the names of new pods are made of it. */
	const char *name_seed;
	/* Names that new pods of their group get first. */
	const struct unanswered_create *unanswered;
	size_t n_unanswered;
	/*
	 * Why the last write of a pod failed: reason (FailedCreateWorkerPod, ...) and message.
	 * NULL: it succeeded.
	 */
	const char *failure_reason, *failure_message;
	/*
	 * Sentences about memory that grows for hours; NULL: none grows. growing_unheard: not all
	 * sidecars have answered yet.
	 */
	const char *growing;
	bool growing_unheard;
};

/* The hash of an operation's body that is_applied compares. A Secret's value is not in the hash. */
#define PLAN_HASH_MAX 17
void plan_object_hash(const cJSON *body, char ret_hash[static PLAN_HASH_MAX]);

int plan_cluster(const struct plan_input *in, struct plan *ret_plan, struct err *err);
void plan_release(struct plan *p);
/* Returns the whole pod that the operation creates, for the caller to free; NULL without memory. */
cJSON *plan_op_pod(const struct plan_op *op);
