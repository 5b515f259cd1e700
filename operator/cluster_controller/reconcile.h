/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries out plans: one cluster (one key of the work queue) is observed,
 * planned for (raycluster/plan.h), and the plan's operations are done one after
 * the other, each when the last is answered. Answers go into the copies at
 * once, so that the next plan knows of them before the watch does.
 *
 * The creation of a pod whose answer was lost may have been carried out: that pod is
 * asked for by its name, and until it is certain whether it exists, nothing is planned
 * for its cluster (expectations.h).
 */
#ifndef AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_RECONCILE_H
#define AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_RECONCILE_H

#include "operator/failure_controller/failure_writer.h"
#include "operator/failure_controller/sidecar_poller.h"
#include "operator/kube/client.h"
#include "operator/kube/event_recorder.h"
#include "operator/kube/workqueue.h"
#include "operator/launcher/launcher_store.h"
#include "operator/manager/metrics.h"
#include "operator/manager/watches.h"
#include "operator/policy/policies.h"

struct reconciler;

struct reconciler_options {
	struct client *client;
	struct watches *watches;
	const struct failure_writer *writer; /* whose evidence is still to be written */
	const struct sidecar_poller *poller; /* knows whose memory grows */
	struct event_recorder *recorder; /* of the plans' Events, and of what went well */
	struct workqueue *queue;	 /* the keys come from it; results go back to it */
	struct policies *policies;
	const struct launchers *launchers; /* NULL: none */
	const struct launcher_store *launcher_store; /* NULL: nobody has to wait for them */
	struct metrics *metrics;
	bool (*may_write)(void *arg); /* asked right before each write */
	void (*on_ready)(void *arg); /* the queue has work that waited for launchers */
	void (*on_finished)(void *arg);
	void *arg;
};

/* What options point to must outlive it. */
int reconciler_new(const struct reconciler_options *options, struct reconciler **ret_reconciler, struct err *err);
void reconciler_free(struct reconciler *reconciler);

/* Works on a key that the queue gave; tells the queue how it went, then calls on_finished. */
void reconciler_start(struct reconciler *reconciler, const char *key);
/* The launchers of that namespace need not be waited for any more (launcher_store_settled). */
void reconciler_launchers_settled(struct reconciler *reconciler, const char *namespace);
/* We have become the leader: our copies may lack what the leader before us created. */
void reconciler_begin(struct reconciler *reconciler);
/* A pod left the copies, in its last state; perhaps only because its labels were changed. */
void reconciler_pod_left(struct reconciler *reconciler, const cJSON *pod);
size_t reconciler_in_flight(const struct reconciler *reconciler);

#endif
