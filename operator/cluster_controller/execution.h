/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan being carried out: which of its operations may start, what each answer means, and what is learned from it:
 * for the copies, so that the next plan knows it before the watch does, and for what is known. A group of pods that the
 * server refuses is left out from then on; the others go on.
 *
 * Which plan may have the next write, and what follows when all is answered, is the caller's (reconcile.c).
 */
#ifndef AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_EXECUTION_H
#define AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_EXECUTION_H

#include "operator/cluster_controller/known_state.h"
#include "operator/kube/client.h"
#include "operator/kube/event_recorder.h"
#include "operator/kube/workqueue.h"
#include "operator/manager/metrics.h"
#include "operator/manager/watches.h"
#include "operator/raycluster/plan.h"

/* What all executions share. */
struct executor {
	struct client *client;
	struct watches *watches;
	struct known_state *known;
	struct metrics *metrics;
	struct event_recorder *recorder; /* writes the plans' Events */
	int64_t applied_ns; /* how long it is believed that what was applied is still there */
	bool (*may_write)(void *arg); /* asked right before each write */
	void *arg;
	size_t n_writes; /* that are not answered yet */
	bool learns_gone; /* a pod leaves the copies because an answer says that it is gone */
};

/* The caller sets the first part, the execution the rest; all zero at first. */
struct execution {
	struct executor *executor;
	const char *key, *namespace; /* of the cluster: "namespace/name"; borrowed */
	struct plan plan; /* released with the execution */
	bool cautious; /* the last time a pod was refused: one write at a time */
	void (*answered)(void *arg); /* after each answer; may release the execution */
	void *arg;
	cJSON *news; /* an empty array; gets what went well (raycluster/news.h); released with the execution */

	struct step *steps; /* as many as the plan has operations */
	size_t at; /* the next operation */
	size_t in_flight;
	bool stop; /* no operation is started any more */
	bool namespace_ends; /* it is being deleted */
	struct strmap refused; /* groups whose pods the server does not take; the others go on */
	struct err trouble; /* the first */
	int64_t retry_after_ns;
};

/* Once, when the plan is made and before the first operation. -ENOMEM. */
int execution_prepare(struct execution *execution, struct err *err);
void execution_release(struct execution *execution);

/*
 * Whether the next operation may start now: in their order, each when the one before is answered; but creations that
 * follow each other go together, and the status with them.
 */
bool execution_may_start(struct execution *execution);
/* Starts it. A failure to do so is trouble, and stops the execution; answered is not called then. */
void execution_start(struct execution *execution);

#endif
