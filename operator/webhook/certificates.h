/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the webhook's certificates in the cluster: every replica reads the Secret and serves its
 * leaf. The leader carries out the decisions of certificate_plan.h on the Secret and on the
 * MutatingWebhookConfiguration.
 *
 * It checks them every 30 s, every 2 s while it is not ready, and at once after each write of its
 * own. A replica never replaces a good leaf by a bad one.
 */
#pragma once

#include <event2/event.h>

#include "operator/kube/client.h"
#include "operator/kube/metrics.h"

struct certificates;

/* Where the certificates are, and for whom they are made. */
struct certificates_place {
	const char *namespace; /* of the Secret and of the Service */
	const char *service, *secret, *configuration; /* names */
	/*
	 * another program, like cert-manager, writes the Secret and the configuration, so they are
	 * only read
	 */
	bool external;
};

struct certificates_options {
	struct event_base *base;
	struct client *client;
	struct certificates_place place;
	struct metrics *metrics;
	/* Returns whether this replica acts. NULL: there is only one. */
	bool (*may_write)(void *arg);
	/* how long the leader may take to publish the CA; 0: a minute */
	int64_t leader_publishes_ns;
	/*
	 * Called with the leaf to serve, PEM, at first and whenever it has changed. If it returns a
	 * negative number, it is called again at the next check.
	 */
	int (*on_leaf)(void *arg, const char *cert, const char *key, struct err *err);
	/* Called when the configuration was read; created is its creationTimestamp. May be NULL. */
	void (*on_configuration)(void *arg, const char *created);
	void *arg;
};

/* The names, client and metrics must outlive it. -EINVAL: a name is none. */
int certificates_new(const struct certificates_options *options,
		     struct certificates **ret_certificates, struct err *err);
void certificates_free(struct certificates *certificates); /* NULL is allowed */

/* Looks now; also to be called when may_write has become true. */
void certificates_look(struct certificates *certificates);
/*
 * Returns whether on_leaf has accepted a leaf that the API server can verify; before that a replica
 * is of no use. If the Secret is left from an earlier installation, the leader must publish its CA
 * first. A replica is ready as well when certificates_leader_has_none().
 */
bool certificates_ready(const struct certificates *certificates);
/*
 * Returns whether the leader seems to be one without a webhook, because it does not publish the CA.
 * A rolling upgrade that switches the webhook on ends such a leader only when its successor is
 * ready.
 */
bool certificates_leader_has_none(const struct certificates *certificates);
