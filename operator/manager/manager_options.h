/* SPDX-License-Identifier: Apache-2.0 */
/* What the manager is told: by the command line, and by the program. */
#pragma once

#include <event2/event.h>

#include "operator/kube/client.h"
#include "operator/kube/metrics.h"
#include "operator/launcher/launcher.h"
#include "operator/policy/policy.h"
#include "operator/policy/retention.h"

struct manager_options {
	struct event_base *base;
	struct client *client;
	const char *own_namespace; /* of our Lease */
	const char *namespace; /* NULL: all */
	bool manage_clusters; /* unless KubeRay runs (manager/kuberay_guard.h) */
	const char *
		kuberay_namespaces; /* where KubeRay may run: "a,b"; NULL: anywhere, with a proof */
	bool record_deletions, quote_verdicts; /* as in options.h */
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
