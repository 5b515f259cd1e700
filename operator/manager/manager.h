/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps RayClusters as their specs say: watches, and for each cluster that something
 * happened to, makes a plan (raycluster/plan.h) and carries it out. Level-triggered: an
 * event only says which cluster to look at.
 */
#ifndef AFTERGLOW_OPERATOR_MANAGER_MANAGER_H
#define AFTERGLOW_OPERATOR_MANAGER_MANAGER_H

#include <event2/event.h>

#include "lib/strbuf.h"
#include "operator/kube/client.h"
#include "operator/kube/metrics.h"
#include "operator/launcher/launcher.h"
#include "operator/policy/policy.h"
#include "operator/policy/retention.h"

struct manager;

struct manager_options {
	struct event_base *base;
	struct client *client;
	const char *own_namespace; /* of our Lease */
	const char *namespace; /* NULL: all */
	bool manage_clusters; /* unless KubeRay runs (manager/kuberay_guard.h) */
	const char *
		kuberay_namespaces; /* where KubeRay may run: "a,b"; NULL: anywhere, with a proof */
	bool record_deletions; /* as in options.h */
	struct retention retention; /* of RayFailures, where no RayPolicy says otherwise */
	const struct policy *policy;
	const struct launchers *launchers; /* NULL: none */
	struct metrics *metrics;
	/*
	 * The address at which the webhook is served; address "": there is no webhook. The members
	 * are as in struct webhook_options.
	 */
	struct {
		const char *address, *namespace, *service, *secret, *configuration;
		bool external;
	} webhook;
	/*
	 * Returns whether we are the leader, asked right before each write. NULL: there is only one
	 * replica.
	 */
	bool (*is_leader)(void *arg);
	void *arg;
};

/* The objects that options point to must outlive the manager. */
int manager_new(const struct manager_options *options, struct manager **ret_manager, struct err *err);
void manager_free(struct manager *manager);

void manager_start(struct manager *manager);
/*
 * Call this when is_leader has become true. Everything is watched before that, so nothing has to
 * be read now.
 */
void manager_begin(struct manager *manager);
/* Starts no new work; on_idle is called once, when the last write has been answered. */
void manager_stop(struct manager *manager, void (*on_idle)(void *arg), void *arg);

/*
 * Call this after manager_stop: serves the webhook for some more seconds, because the API server
 * may still send reviews here. on_closed is called once, when the last review is answered; at once
 * if there is no webhook.
 */
void manager_close(struct manager *manager, void (*on_closed)(void *arg), void *arg);

/* Returns whether all kinds are synced; appends a line per kind. */
bool manager_ready(void *manager, struct strbuf *out);
/* Appends the metrics, gauges refreshed. */
void manager_metrics(void *manager, struct strbuf *out);

#endif
