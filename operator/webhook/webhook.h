/* SPDX-License-Identifier: Apache-2.0 */
/* The webhook as a whole: the HTTPS server, its certificates, and the answers (admission.h). */
#ifndef AFTERGLOW_OPERATOR_WEBHOOK_WEBHOOK_H
#define AFTERGLOW_OPERATOR_WEBHOOK_WEBHOOK_H

#include <event2/event.h>

#include "lib/strbuf.h"
#include "operator/kube/client.h"
#include "operator/manager/metrics.h"

struct admission;
struct webhook;

struct webhook_options {
	struct event_base *base;
	struct client *client;
	struct metrics *metrics;
	struct admission *admission;
	const char *address;       /* "0.0.0.0:9443", see tls_server.h */
	const char *namespace;     /* of the Service and the Secret */
	const char *service, *secret, *configuration; /* names, see certificates.h */
	bool external;             /* somebody else makes the certificates */
	bool (*may_write)(void *arg);
	/*
	 * Pods are asked about since then, as time since 1970: the age of the MutatingWebhookConfiguration where this replica reads
	 * it, else the first certificate that it had.
	 */
	void (*on_since)(void *arg, int64_t since_ns);
	void *arg;
};

/* Takes the port. What options point to must outlive it. */
int webhook_new(const struct webhook_options *options, struct webhook **ret_webhook, struct err *err);
void webhook_free(struct webhook *webhook); /* NULL is allowed */

/* Begins to look for certificates; also to be called when may_write has become true. */
void webhook_look(struct webhook *webhook);
/* Accepts no new connections; on_idle is called once, when all requests are answered. */
void webhook_stop(struct webhook *webhook, void (*on_idle)(void *arg), void *arg);
/* Whether it can serve, see certificates_ready; appends a line that says so. */
bool webhook_ready(const struct webhook *webhook, struct strbuf *out);

#endif
