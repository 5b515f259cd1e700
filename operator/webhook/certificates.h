/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The webhook's certificates in the cluster: every replica reads the Secret and serves
 * its leaf. The leader carries out the decisions of certificate_plan.h on the Secret
 * and on the MutatingWebhookConfiguration.
 *
 * It looks every 30 s, every 2 s while it is not ready, and at once after each write of its own. A replica
 * never gives up a good leaf for one that is not.
 */
#ifndef AFTERGLOW_OPERATOR_WEBHOOK_CERTIFICATES_H
#define AFTERGLOW_OPERATOR_WEBHOOK_CERTIFICATES_H

#include <event2/event.h>

#include "operator/kube/client.h"
#include "operator/manager/metrics.h"

struct certificates;

struct certificates_options {
	struct event_base *base;
	struct client *client;
	const char *namespace; /* of the Secret and of the Service */
	const char *service, *secret, *configuration; /* names */
	bool external; /* somebody else, like cert-manager, writes the Secret and the configuration: they are only read */
	struct metrics *metrics;
	/* Whether this replica acts. NULL: there is only one. */
	bool (*may_write)(void *arg);
	/* A leaf to be served, PEM; for the first time and whenever it has changed. Negative: it comes again with the next look. */
	int (*on_leaf)(void *arg, const char *cert, const char *key, struct err *err);
	/* The configuration was read: when it was made, as its creationTimestamp. NULL: nobody wants to know. */
	void (*on_configuration)(void *arg, const char *created);
	void *arg;
};

/* Copies the names; client and metrics must outlive it. -EINVAL: a name is none. */
int certificates_new(const struct certificates_options *options, struct certificates **ret_certificates, struct err *err);
void certificates_free(struct certificates *certificates); /* NULL is allowed */

/* Looks now; also to be called when may_write has become true. */
void certificates_look(struct certificates *certificates);
/*
 * Whether on_leaf has accepted a leaf that the API server can verify; before that a replica is of
 * no use. If the Secret is left from an earlier installation, the leader must publish its CA first.
 */
bool certificates_ready(const struct certificates *certificates);

#endif
