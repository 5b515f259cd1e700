/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a live copy of each kind that the operator follows, and reports their states to the log,
 * readiness and metrics.
 */
#pragma once

#include <event2/event.h>

#include "lib/strbuf.h"
#include "operator/cache/informer.h"
#include "operator/kube/client.h"
#include "operator/kube/metrics.h"

#define CLUSTER_LABEL "ray.io/cluster"

/*
 * From WATCH_POLICIES on the kinds are optional: a kind that has no CRD, or may not be listed,
 * counts as empty.
 */
enum watch_kind {
	WATCH_CLUSTERS,
	WATCH_PODS,
	WATCH_SERVICES,
	WATCH_FAILURES,
	WATCH_POLICIES,
	WATCH_CLUSTER_POLICIES,
	WATCH_NAMESPACES,
	WATCH_JOBS, /* of RayJobs' submitters */
	WATCH_CLAIMS,
	WATCH_LIMIT_RANGES,
	WATCH_KIND_COUNT
};

struct watches;

struct watches_options {
	struct event_base *base;
	struct client *client;
	const char *namespace; /* NULL: all */
	bool admission; /* also what only the webhook asks for: from WATCH_CLAIMS on */
	/* beside KubeRay, which may install its CRDs later: we are ready without RayClusters */
	bool clusters_may_lack;
	/* Called for each change of a copy; may be NULL. */
	void (*on_change)(void *arg, enum watch_kind kind, enum store_change change,
			  const cJSON *before, const cJSON *after);
	void (*on_state)(void *arg); /* synced or trouble may have changed */
	void *arg;
};

int watches_new(const struct watches_options *options, struct watches **ret_watches,
		struct err *err);
void watches_free(struct watches *watches);
void watches_start(struct watches *watches);

struct informer *watches_informer(const struct watches *watches, enum watch_kind kind);
const struct store *watches_store(const struct watches *watches, enum watch_kind kind);
/* Returns the Service of that name, as store_get does. NULL if name is NULL. */
const cJSON *watches_service(const struct watches *watches, const char *namespace,
			     const char *name);
/* Frees the views of all kinds, so that one plan's pods do not stay in memory for the next. */
void watches_drop_views(struct watches *watches);
/*
 * Returns whether all that planning reads is there: clusters, pods, services, and RayFailures and
 * policies unless they cannot be had.
 */
bool watches_synced(const struct watches *watches);
/*
 * Returns whether the existing policies are known: they are all read, or there is no CRD or no
 * right for them.
 */
bool watches_know_policies(const struct watches *watches);
/*
 * Returns the same, and also true if the server has trouble with them, because nobody should wait
 * for that.
 */
bool watches_policies_settled(const struct watches *watches);

/* Puts the answer to a write of ours into the copy of its kind. Takes object. */
void watches_learn(struct watches *watches, cJSON *object);
/* Removes the object (a pod) that body names, because it is gone. */
void watches_learn_gone(struct watches *watches, const cJSON *body);

/* Returns whether all kinds are synced; appends a line per kind. */
bool watches_ready(const struct watches *watches, struct strbuf *out);
void watches_metrics(const struct watches *watches, struct metrics *metrics);

/* Writes "namespace/cluster" from the label. Returns false if there is no label. */
bool cluster_key(const cJSON *object, char *buf, size_t size);
/*
 * The index of pods: the same, but the RayCluster that controls the pod comes first, because a
 * label can be taken away.
 */
bool pod_cluster_key(const cJSON *pod, char *buf, size_t size);
/* The index of LimitRanges: writes the namespace. */
bool namespace_key(const cJSON *object, char *buf, size_t size);
/* The index of RayFailures: writes "namespace/cluster/group". */
bool group_key(const cJSON *object, char *buf, size_t size);
