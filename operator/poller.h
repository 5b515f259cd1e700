/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the recorder in each Ray pod for what the pod's status does not show: the
 * processes that died while their container lives become RayFailures, a hold
 * becomes an Event of the pod, memory that grows for hours an Event of the RayCluster.
 * Only the replica that acts asks.
 *
 * Over the pods' network, for a recorder has no rights at the API server, and must
 * not need any: its token would be within reach of Ray's users. Each pod is asked
 * every 10 to 15 s (with thousands of pods, less often), and at once when something
 * ended in it; an answer that did not change is a few bytes (If-None-Match). A
 * NetworkPolicy may forbid it: then a metric and an Event say so, and the deaths
 * of whole containers are recorded all the same.
 */
#ifndef AFTERGLOW_OPERATOR_POLLER_H
#define AFTERGLOW_OPERATOR_POLLER_H

#include "operator/kube/client.h"
#include "operator/kube/informer.h"
#include "operator/metrics.h"
#include "operator/recorder.h"

struct poller;

struct poller_options {
	struct event_base *base;
	struct client *client; /* for Events */
	const struct informer *pods, *failures, *clusters;
	struct recorder *recorder;
	struct metrics *metrics;
	bool (*may_write)(void *arg);
	void *arg;
};

int poller_new(const struct poller_options *options, struct poller **ret_poller, struct err *err);
void poller_free(struct poller *poller); /* NULL is allowed */

/* A pod has changed, or is gone. */
void poller_see(struct poller *poller, const cJSON *pod, bool gone);

/* Sets the gauges. */
void poller_metrics(struct poller *poller);

#endif
