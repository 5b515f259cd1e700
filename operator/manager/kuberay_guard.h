/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps us from managing RayClusters while KubeRay's operator does: two of them would both make the
 * pods of each cluster. The guard reads KubeRay's Leases every 5 s (kuberay_lease.h has the rules)
 * in all namespaces and, where the API server refuses that, in the watched one and in our own.
 * A Lease counts if its namespace was named as KubeRay's, or its holder is proven to be KubeRay
 * (kuberay_proof.h); others are reported and not obeyed. Every replica does this, so that a new
 * leader knows the result. A change of the verdict is reported in the log and by an Event of the
 * Lease afterglow-operator in our own namespace.
 *
 * Until the first answer nothing is managed. After that an API server that does not answer changes
 * nothing. Where no Lease may be read at all, there is no sign of KubeRay: RayClusters are managed,
 * and a warning says so.
 */
#pragma once

#include <event2/event.h>

#include "lib/strbuf.h"
#include "operator/cache/watches.h"
#include "operator/kube/client.h"
#include "operator/kube/event_recorder.h"

struct kuberay_guard;

struct kuberay_guard_options {
	struct event_base *base;
	struct client *client;
	struct event_recorder *recorder;
	const char *own_namespace; /* of our own Lease */
	const char *namespace; /* the watched namespace; NULL: all */
	const char *
		kuberay_namespaces; /* "a,b": only Leases in these count, and need no proof; NULL: all, with a proof */
	const struct watches *watches; /* has the RayClusters */
	void (*on_change)(void *arg); /* kuberay_guard_allows has another answer */
	void *arg;
};

/* The objects that options point to must outlive the guard. */
int kuberay_guard_new(const struct kuberay_guard_options *options, struct kuberay_guard **ret_guard,
		      struct err *err);
void kuberay_guard_free(struct kuberay_guard *guard); /* NULL is allowed */

/* Starts to read the Leases. */
void kuberay_guard_start(struct kuberay_guard *guard);

/* Returns whether RayClusters of the namespace (NULL: of any) may be managed at this moment. */
bool kuberay_guard_allows(const struct kuberay_guard *guard, const char *namespace);

/* Appends a line for /readyz: "managing RayClusters: no, KubeRay runs in namespace ray". */
void kuberay_guard_explain(const struct kuberay_guard *guard, struct strbuf *out);
