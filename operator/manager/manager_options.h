/* SPDX-License-Identifier: Apache-2.0 */
/* What the manager is told: by the command line, and by the program. */
#pragma once

#include <event2/event.h>

#include "operator/kube/client.h"
#include "operator/kube/metrics.h"
#include "operator/launcher/launcher.h"
#include "operator/policy/policy.h"
#include "operator/policy/retention.h"
#include "operator/webhook/certificates.h"

/* What the command line says. */
struct manager_config {
	const char *namespace; /* NULL: all */
	bool manage_clusters; /* RayClusters, unless KubeRay runs (manager/kuberay_guard.h) */
	const char *
		kuberay_namespaces; /* where KubeRay may run: "a,b"; NULL: anywhere, with a proof */
	/* RayFailures of class PodDeleted; with manage_clusters they are written in any case */
	bool record_deletions;
	bool quote_verdicts; /* in the metrics */
	struct retention retention; /* of RayFailures, where no RayPolicy says otherwise */
	/*
	 * Where the webhook is served, "address:port"; "": there is no webhook. With an address the
	 * names of its certificates are set.
	 */
	const char *webhook_address;
	struct certificates_place certificates;
};

struct manager_options {
	struct event_base *base;
	struct client *client;
	const char *own_namespace; /* of our Lease */
	struct manager_config config;
	const struct policy *policy;
	const struct launchers *launchers; /* NULL: none */
	struct metrics *metrics;
	/*
	 * Returns whether we are the leader, asked right before each write. NULL: there is only one
	 * replica.
	 */
	bool (*is_leader)(void *arg);
	void *arg;
};
