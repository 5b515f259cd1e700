/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reconciles clusters. For a cluster (a key of the work queue) it observes the state,
 * makes a plan (raycluster/plan.h), and carries out the plan's operations in their
 * order, each when the previous is answered. Answers are put into the copies at
 * once, so that the next plan has them before the watch does.
 *
 * If the answer to the creation of a pod is lost, the pod may exist. So it is asked for
 * by its name, and nothing is planned for its cluster until it is certain whether it
 * exists (expectations.h).
 */
#pragma once

#include "operator/cluster_controller/execution.h"
#include "operator/failure_controller/failure_writer.h"
#include "operator/failure_controller/sidecar_poller.h"
#include "operator/launcher/launcher_store.h"
#include "operator/policy/policies.h"

struct reconciler;

struct reconciler_options {
	struct executor executor; /* client, watches, metrics, recorder, may_write and its arg */
	/* knows pods with failures that are still to be written */
	const struct failure_writer *writer;
	const struct sidecar_poller *poller; /* knows pods with memory that grows */
	struct workqueue *queue; /* the keys come from it; results go back to it */
	struct policies *policies;
	const struct launchers *launchers; /* NULL: none */
	const struct launcher_store *launcher_store; /* NULL: no cluster has to wait for them */
	void (*on_ready)(void *arg); /* the queue has work that waited for launchers */
	void (*on_finished)(void *arg);
	void *arg;
};

/* The objects that options point to must outlive the reconciler. */
int reconciler_new(const struct reconciler_options *options, struct reconciler **ret_reconciler,
		   struct err *err);
void reconciler_free(struct reconciler *reconciler);

/*
 * Reconciles a key that the queue returned; reports the result to the queue, then calls
 * on_finished.
 */
void reconciler_start(struct reconciler *reconciler, const char *key);
/*
 * Call this when clusters of that namespace no longer need to wait for the launchers
 * (launcher_store_settled).
 */
void reconciler_launchers_settled(struct reconciler *reconciler, const char *namespace);
/*
 * Call this when this replica has become the leader: its copies may lack what the previous
 * leader created.
 */
void reconciler_begin(struct reconciler *reconciler);
/*
 * Call this when a pod left the copies, with its last state; perhaps only its labels were
 * changed.
 */
void reconciler_pod_left(struct reconciler *reconciler, const cJSON *pod);
size_t reconciler_in_flight(const struct reconciler *reconciler);
