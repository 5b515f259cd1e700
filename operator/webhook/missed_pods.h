/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts Ray pods without the sidecar by namespace and reason (metric
 * afterglow_pods_without_sidecar), and reports those that the webhook missed by an Event of their
 * RayCluster. It never changes or deletes a pod.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "operator/kube/metrics.h"

/*
 * The most namespaces that the metric names. Pods of further ones count under MISSED_PODS_OTHER,
 * which is no namespace's name.
 */
#define MISSED_PODS_NAMESPACES_MAX 100
#define MISSED_PODS_OTHER "(other)"

struct missed_pods;

struct missed_pods_options {
	struct metrics *metrics;
	/*
	 * When the webhook began to answer, since 1970; 0: there is no webhook, so it misses
	 * nothing.
	 */
	int64_t webhook_since_ns;
	/*
	 * Returns the watched RayCluster "namespace/name", or NULL. It is not kept after the call.
	 */
	const cJSON *(*find_cluster)(void *arg, const char *key);
	/*
	 * Returns whether the namespace's label is known to exclude it. NULL: no namespace is
	 * known.
	 */
	bool (*is_excluded)(void *arg, const char *namespace);
	bool (*may_tell)(void *arg);
	void (*tell)(void *arg, cJSON *event); /* takes event */
	void *arg;
};

int missed_pods_new(const struct missed_pods_options *options, struct missed_pods **ret_missed,
		    struct err *err);
void missed_pods_free(struct missed_pods *missed); /* NULL is allowed */

/*
 * Call this when the webhook answers: the next missed_pods_tell reports the pods that it missed.
 */
void missed_pods_webhook_since(struct missed_pods *missed, int64_t webhook_since_ns);

/* Looks at a pod, alive or gone. */
void missed_pods_see(struct missed_pods *missed, const cJSON *pod, bool gone);

/*
 * Reports the missed pods that were not reported yet, with at most one Event for each cluster in an
 * hour; now_ns is boottime. Cheap if there are none; after a look at very many it waits for a part
 * of a second. Call this after missed_pods_see, and when reporting may have become possible.
 */
void missed_pods_tell(struct missed_pods *missed, int64_t now_ns);

/* Sets the metric anew. */
void missed_pods_metrics(const struct missed_pods *missed);
