/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the sidecar in each Ray pod for facts that the pod's status does not show.
 * Processes that died while their container lives become RayFailures, a hold
 * becomes an Event of the pod, and memory that grows for hours becomes an Event of
 * the RayCluster and, if the operator manages it, a condition. Only the leader asks.
 *
 * It asks over the pods' network. A sidecar has no rights at the API server and must
 * not need any, because Ray's users could reach its token. A pod is asked
 * at once when something ended in it, and otherwise as poll_pace.h decides: the more
 * pods rest, the less often. An unchanged answer is a few bytes (If-None-Match). A
 * NetworkPolicy may forbid the requests: then a metric and an Event say so, and the
 * deaths of whole containers are recorded all the same.
 */
#pragma once

#include "operator/failure_controller/sidecar_answer.h"

struct sidecar_poller;

struct sidecar_poller_options {
	struct event_base *base;
	const struct informer *pods;
	struct answer_sinks sinks; /* as it is before the first answer */
	bool (*may_write)(void *arg);
	void *arg;
};

int sidecar_poller_new(const struct sidecar_poller_options *options,
		       struct sidecar_poller **ret_poller, struct err *err);
void sidecar_poller_free(struct sidecar_poller *poller); /* NULL is allowed */

/* Call this when a pod has changed, or is gone. */
void sidecar_poller_see(struct sidecar_poller *poller, const cJSON *pod, bool gone);

/*
 * Returns the memory of that pod ("namespace/name") that grows for hours, as its sidecar reports
 * it; NULL if nothing grows. It is valid until the next answer. *ret_heard is true if the sidecar
 * has answered or cannot be asked; if it is false, an answer may still come.
 */
const struct growing *sidecar_poller_growing(const struct sidecar_poller *poller, const char *key,
					     bool *ret_heard);

/* Sets the gauges. */
void sidecar_poller_metrics(struct sidecar_poller *poller);
