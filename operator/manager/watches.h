/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds that the operator follows, each with a live copy; what the log, readiness and metrics say of them. */
#ifndef AFTERGLOW_OPERATOR_MANAGER_WATCHES_H
#define AFTERGLOW_OPERATOR_MANAGER_WATCHES_H

#include <event2/event.h>

#include "lib/strbuf.h"
#include "operator/cache/informer.h"
#include "operator/kube/client.h"
#include "operator/manager/metrics.h"

#define CLUSTER_LABEL "ray.io/cluster"

/* From WATCH_POLICIES on they are optional: what has no CRD, or may not be listed, counts as if there were none. */
enum watch_kind {
	WATCH_CLUSTERS,
	WATCH_PODS,
	WATCH_SERVICES,
	WATCH_FAILURES,
	WATCH_POLICIES,
	WATCH_CLUSTER_POLICIES,
	WATCH_NAMESPACES,
	WATCH_CLAIMS,
	WATCH_KIND_COUNT
};

struct watches;

struct watches_options {
	struct event_base *base;
	struct client *client;
	const char *namespace; /* NULL: all */
	bool admission; /* also what only the webhook asks for: claims */
	bool clusters_may_lack; /* beside KubeRay, whose CRDs may come after us: we are ready without RayClusters */
	store_change_fn on_change[WATCH_KIND_COUNT];
	void (*on_state)(void *arg); /* synced or trouble may have changed */
	void *arg;
};

int watches_new(const struct watches_options *options, struct watches **ret_watches, struct err *err);
void watches_free(struct watches *watches);
void watches_start(struct watches *watches);

struct informer *watches_informer(const struct watches *watches, enum watch_kind kind);
const struct store *watches_store(const struct watches *watches, enum watch_kind kind);
/* Frees the views of all kinds: one plan's pods need not wait for the next's. */
void watches_drop_views(struct watches *watches);
/* Whether all that planning reads is there: clusters, pods, services, and RayFailures and policies unless they cannot be had. */
bool watches_synced(const struct watches *watches);
/* Whether it is known which policies there are, if any: they are all read, or there is no CRD or no right for them. */
bool watches_know_policies(const struct watches *watches);
/* The same, or the server has trouble with them, for which nobody should wait. */
bool watches_policies_settled(const struct watches *watches);

/* The answer to a write of ours goes into the copy of its kind. Takes object. */
void watches_learn(struct watches *watches, cJSON *object);
/* What body names (a pod) is gone. */
void watches_learn_gone(struct watches *watches, const cJSON *body);

/* Whether all kinds are synced; appends a line per kind. */
bool watches_ready(const struct watches *watches, struct strbuf *out);
void watches_metrics(const struct watches *watches, struct metrics *metrics);

/* "namespace/cluster" by the label; false without one. */
bool cluster_key(const cJSON *object, char *buf, size_t size);
/* The index of pods: the same, but of the RayCluster that controls the pod if one does, for a label can be taken away. */
bool pod_cluster_key(const cJSON *pod, char *buf, size_t size);
/* The index of RayFailures: "namespace/cluster/group". */
bool group_key(const cJSON *object, char *buf, size_t size);

#endif
