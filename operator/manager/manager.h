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
#include "operator/export/otlp_settings.h"
#include "operator/failures/retention.h"
#include "operator/kube/client.h"
#include "operator/launcher/launcher.h"
#include "operator/manager/metrics.h"
#include "operator/policy/policy.h"

struct manager;

struct manager_options {
	struct event_base *base;
	struct client *client;
	const char *own_namespace; /* of our Lease */
	const char *namespace; /* NULL: all */
	bool manage_clusters; /* unless KubeRay runs (manager/kuberay_guard.h) */
	bool record_deletions; /* as in options.h */
	struct retention retention; /* of RayFailures, where no RayPolicy says otherwise */
	const struct otlp_settings *otlp; /* where RayFailures are exported to; NULL, as without an endpoint: nowhere */
	const struct policy *policy;
	const struct launchers *launchers; /* NULL: none */
	struct metrics *metrics;
	/* Where the webhook for pods of others is served; address "": there is none. As struct webhook_options has them. */
	struct {
		const char *address, *namespace, *service, *secret, *configuration;
		bool external;
	} webhook;
	/* Whether we are the replica that acts, asked right before each write. NULL: there is only one. */
	bool (*is_leader)(void *arg);
	void *arg;
};

/* What options point to must outlive it. */
int manager_new(const struct manager_options *options, struct manager **ret_manager, struct err *err);
void manager_free(struct manager *manager);

void manager_start(struct manager *manager);
/*
 * To be called when is_leader has become true. Everything is watched before that, so nothing has to
 * be read now.
 */
void manager_begin(struct manager *manager);
/* Starts no new work; on_idle is called once, when the last write has been answered. */
void manager_stop(struct manager *manager, void (*on_idle)(void *arg), void *arg);

/*
 * After manager_stop: goes on serving the webhook for some seconds since then, for the API server may still send reviews
 * here, and gives a collector as long to take what was not exported yet; on_closed is called once, when the last review is
 * answered. Where there is neither, that is at once.
 */
void manager_close(struct manager *manager, void (*on_closed)(void *arg), void *arg);

/* Whether all kinds are synced; appends a line per kind. */
bool manager_ready(void *manager, struct strbuf *out);
/* Appends the metrics, gauges refreshed. */
void manager_metrics(void *manager, struct strbuf *out);

#endif
