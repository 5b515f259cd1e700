/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the webhook as a whole: the HTTPS server, its certificates, and the answers (admission.h).
 */
#pragma once

#include <event2/event.h>

#include "lib/strbuf.h"
#include "operator/kube/client.h"
#include "operator/kube/metrics.h"
#include "operator/webhook/certificates.h"

struct admission;
struct webhook;

struct webhook_options {
	struct event_base *base;
	struct client *client;
	struct metrics *metrics;
	struct admission *admission;
	const char *address; /* "0.0.0.0:9443", see tls_server.h */
	struct certificates_place certificates;
	bool (*may_write)(void *arg);
	/*
	 * Called with the time since 1970 from which on the API server asks about pods: the age of
	 * the MutatingWebhookConfiguration if this replica reads it, otherwise of the first
	 * certificate that it had.
	 */
	void (*on_since)(void *arg, int64_t since_ns);
	void *arg;
};

/* Takes the port. What options point to must outlive it. */
int webhook_new(const struct webhook_options *options, struct webhook **ret_webhook,
		struct err *err);
void webhook_free(struct webhook *webhook); /* NULL is allowed */

/* Begins to look for certificates; also to be called when may_write has become true. */
void webhook_look(struct webhook *webhook);
/* Accepts no new connections; on_idle is called once, when all requests are answered. */
void webhook_stop(struct webhook *webhook, void (*on_idle)(void *arg), void *arg);
/* Returns whether it can serve, see certificates_ready; appends a line that says so. */
bool webhook_ready(const struct webhook *webhook, struct strbuf *out);
