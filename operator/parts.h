/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a controller and how they are tied together: which part sees which
 * change, and which part asks which. What remains to the controller is the work
 * queue, the right to write, and the end.
 */
#ifndef AFTERGLOW_OPERATOR_PARTS_H
#define AFTERGLOW_OPERATOR_PARTS_H

#include "operator/controller.h"
#include "operator/crier.h"
#include "operator/herald.h"
#include "operator/incidents.h"
#include "operator/inquiry.h"
#include "operator/keeper.h"
#include "operator/kube/workqueue.h"
#include "operator/kuberay_guard.h"
#include "operator/launcher_store.h"
#include "operator/missed_pods.h"
#include "operator/owners.h"
#include "operator/policy/policies.h"
#include "operator/poller.h"
#include "operator/reconcile.h"
#include "operator/recorder.h"
#include "operator/watches.h"
#include "operator/webhook/admission.h"
#include "operator/webhook/webhook.h"

struct parts_options {
	const struct controller_options *settings;
	struct workqueue *queue; /* of the keys of clusters */
	bool (*may_write)(void *arg); /* asked right before each write */
	void (*on_cluster)(void *arg, const char *key); /* the cluster is to be looked at; it may not exist any more */
	void (*on_ready)(void *arg); /* work that waited may go on */
	void (*on_finished)(void *arg); /* a reconcile has ended */
	void *arg;
};

struct parts {
	struct parts_options o;
	struct watches *watches;
	struct owners *owners;
	struct inquiries *inquiries;
	struct policies *policies;
	struct recorder *recorder;
	struct herald *herald;
	struct incidents *incidents;
	struct keeper *keeper;
	struct crier *crier;
	struct missed_pods *missed;
	struct poller *poller;
	struct kuberay_guard *guard; /* NULL: we were not asked to manage clusters */
	struct reconciler *reconciler;
	struct admission *admission; /* NULL, as webhook: nobody asks */
	struct webhook *webhook;
	struct launcher_store *launcher_store; /* NULL: pods go without */
};

/* The parts keep pointers to parts, which must not move, and to what options point to. On failure nothing is left to release. */
int parts_init(struct parts *parts, const struct parts_options *options, struct err *err);
void parts_release(struct parts *parts);

/* Fills in what the watches call at a change (parts_changes.c). */
void parts_see_changes(struct parts *parts, struct watches_options *options);

/* Whether RayClusters are ours to manage. While they are KubeRay's, keys wait in the queue. */
bool parts_may_manage(const struct parts *parts);

#endif
