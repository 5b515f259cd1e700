/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries out a plan: decides which of its operations may start, interprets each answer, and puts
 * the result into the copies, so that the next plan has it before the watch does, and into the
 * known state. If the API server refuses a group's pods, that group is left out from then on; the
 * others go on.
 *
 * The caller (reconcile.c) decides which plan may have the next write, and what follows when all
 * operations are answered.
 */
#pragma once

#include "operator/cache/watches.h"
#include "operator/cluster_controller/known_state.h"
#include "operator/kube/client.h"
#include "operator/kube/event_recorder.h"
#include "operator/kube/metrics.h"
#include "operator/kube/workqueue.h"
#include "operator/raycluster/plan.h"

/* The state that all executions share. */
struct executor {
	struct client *client;
	struct watches *watches;
	struct known_state *known;
	struct metrics *metrics;
	struct event_recorder *recorder; /* writes the plans' Events */
	int64_t applied_ns; /* how long an object that was applied is taken to be still there */
	bool (*may_write)(void *arg, const char *namespace); /* asked right before each write */
	void *arg;
	size_t n_writes; /* writes without an answer so far */
	/* a pod is being removed from the copies because an answer says that it is gone */
	bool learns_gone;
};

/* The caller sets the first part, the execution the rest; all members are zero at first. */
struct execution {
	struct executor *executor;
	const char *key, *namespace; /* of the cluster: "namespace/name"; borrowed */
	struct plan plan; /* released with the execution */
	bool cautious; /* a pod was refused the last time, so only one write is sent at a time */
	void (*answered)(void *arg); /* after each answer; may release the execution */
	void *arg;
	/*
	 * An empty array, to which successes are added (raycluster/news.h); released with the
	 * execution.
	 */
	cJSON *news;

	struct step *steps; /* as many as the plan has operations */
	size_t at; /* the next operation */
	size_t in_flight;
	bool stop; /* no operation is started any more */
	bool namespace_ends; /* the namespace is being deleted */
	struct strmap refused; /* groups with pods that the server refuses */
	struct err trouble; /* the first error */
	int64_t retry_after_ns;
};

/* Call this once, when the plan is made and before the first operation. Returns 0 or -ENOMEM. */
int execution_prepare(struct execution *execution, struct err *err);
void execution_release(struct execution *execution);

/*
 * Returns whether the next operation may start now. Operations start in their order, each when the
 * previous is answered; but consecutive creations, and the status after them, run together.
 */
bool execution_may_start(struct execution *execution);
/*
 * Starts the next operation. If that fails, sets trouble and stops the execution; then answered is
 * not called.
 */
void execution_start(struct execution *execution);
