/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps RayClusters as they are meant to be: watches, and for each cluster
 * that something happened to, plans (raycluster/plan.h) and carries out.
 * Level-triggered: an event only says which cluster to look at.
 */
#ifndef AFTERGLOW_OPERATOR_CONTROLLER_H
#define AFTERGLOW_OPERATOR_CONTROLLER_H

#include <event2/event.h>

#include "lib/strbuf.h"
#include "operator/kube/client.h"
#include "operator/launcher.h"
#include "operator/failures/retention.h"
#include "operator/metrics.h"
#include "operator/policy/policy.h"

struct controller;

struct controller_options {
	struct event_base *base;
	struct client *client;
	const char *namespace; /* NULL: all */
	bool manage_clusters; /* unless KubeRay runs (kuberay_guard.h) */
	bool record_deletions; /* as in options.h */
	struct retention retention; /* of RayFailures, where no RayPolicy says otherwise */
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
int controller_new(const struct controller_options *options, struct controller **ret_controller, struct err *err);
void controller_free(struct controller *controller);

void controller_start(struct controller *controller);
/* is_leader has become true. Before that everything is watched, so that nothing has to be read now. */
void controller_begin(struct controller *controller);
/* Takes up no new work; on_idle is called once, when the last write has been answered. */
void controller_stop(struct controller *controller, void (*on_idle)(void *arg), void *arg);

/*
 * After controller_stop: goes on serving the webhook for some seconds since then, for the API server may still send reviews
 * here; on_closed is called once, when the last one is answered. Without a webhook that is at once.
 */
void controller_close(struct controller *controller, void (*on_closed)(void *arg), void *arg);

/* Whether all kinds are synced; appends a line per kind. */
bool controller_ready(void *controller, struct strbuf *out);
/* Appends the metrics, gauges refreshed. */
void controller_metrics(void *controller, struct strbuf *out);

#endif
