/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a controller and their connections: which part gets which
 * change, and which part asks which. The controller itself has the work
 * queue, the right to write, and the end.
 */
#pragma once

#include "operator/cache/watches.h"
#include "operator/cluster_controller/reconcile.h"
#include "operator/failure_controller/failure_gc.h"
#include "operator/failure_controller/failure_owners.h"
#include "operator/failure_controller/failure_writer.h"
#include "operator/failure_controller/incident_writer.h"
#include "operator/failure_controller/inquiry.h"
#include "operator/failure_controller/memory_keeper.h"
#include "operator/failure_controller/sidecar_poller.h"
#include "operator/failure_controller/submitter_pods.h"
#include "operator/kube/event_recorder.h"
#include "operator/kube/workqueue.h"
#include "operator/launcher/launcher_store.h"
#include "operator/manager/kuberay_guard.h"
#include "operator/manager/manager_options.h"
#include "operator/policy/policies.h"
#include "operator/webhook/admission.h"
#include "operator/webhook/missed_pods.h"
#include "operator/webhook/webhook.h"

struct parts_options {
	const struct manager_options *settings;
	struct workqueue *queue; /* has the keys of clusters */
	bool (*may_write)(void *arg); /* asked right before each write */
	/* the cluster is to be looked at; it may not exist any more */
	void (*on_cluster)(void *arg, const char *key);
	void (*on_ready)(void *arg); /* work that waited may go on */
	void (*on_finished)(void *arg); /* a reconcile has ended */
	void *arg;
};

struct parts {
	struct parts_options o;
	struct watches *watches;
	struct failure_owners *owners;
	struct inquiries *inquiries;
	struct policies *policies;
	struct failure_writer *writer;
	struct submitter_pods submitters;
	struct incident_writer *incidents;
	struct failure_gc *gc;
	struct event_recorder *recorder;
	struct missed_pods *missed;
	struct sidecar_poller *poller;
	struct kuberay_guard *guard; /* NULL: we were not asked to manage clusters */
	struct reconciler *reconciler;
	struct admission *admission; /* NULL, as webhook: nobody asks */
	struct webhook *webhook;
	struct launcher_store *launcher_store; /* NULL: pods go without */
	struct memory_keeper *memory_keeper; /* NULL, as launcher_store: no pod gets a sidecar */
};

/*
 * The parts keep pointers to each other, so they must not move, and to the objects of options. On
 * failure nothing is left to release.
 */
int parts_init(struct parts *parts, const struct parts_options *options, struct err *err);
void parts_release(struct parts *parts);

/* Fills in the functions that the watches call at a change (parts_changes.c). */
void parts_see_changes(struct parts *parts, struct watches_options *options);

/*
 * For the parts_*.c alone. arg is a struct parts. The RayCluster is valid only for a moment: a list
 * of pods asks for all of theirs at once.
 */
bool parts_may_write(void *arg);
const cJSON *parts_find_cluster(void *arg, const char *key);
int parts_new_failure_writer(struct parts *parts, struct err *err); /* parts_failures.c */

/*
 * Returns whether RayClusters of the namespace (NULL: of any) are ours to manage. While they are
 * KubeRay's, keys wait in the queue.
 */
bool parts_may_manage(void *parts, const char *namespace);
