/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the webhook as a whole. */
#include "operator/webhook/webhook.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/units.h"
#include "operator/webhook/admission.h"
#include "operator/webhook/certificates.h"
#include "operator/webhook/tls_server.h"

struct webhook {
	struct tls_server *server;
	struct certificates *certificates;
	bool (*may_write)(void *arg);
	void (*on_since)(void *arg, int64_t since_ns);
	void *arg;
	bool since_known;
};

static bool webhook_may_write(void *arg)
{
	const struct webhook *w = arg;

	return !w->may_write || w->may_write(w->arg);
}

static int on_leaf(void *arg, const char *cert, const char *key, struct err *err)
{
	struct webhook *w = arg;
	bool first = !tls_server_is_open(w->server);
	int r = tls_server_set_certificate(w->server, cert, key, err);

	if (r == 0 && first && !w->since_known)
		w->on_since(w->arg, now_realtime_ns());
	return r;
}

static void webhook_on_configuration(void *arg, const char *created)
{
	struct webhook *w = arg;
	int64_t ns;

	if (created && time_parse(created, &ns, NULL) == 0) {
		w->since_known = true;
		w->on_since(w->arg, ns);
	}
}

static int start_certificates(struct webhook *w, const struct webhook_options *o, struct err *err)
{
	const struct certificates_options options = {
		.base = o->base,
		.client = o->client,
		.place = o->certificates,
		.metrics = o->metrics,
		.may_write = webhook_may_write,
		.on_leaf = on_leaf,
		.on_configuration = webhook_on_configuration,
		.arg = w,
	};

	return certificates_new(&options, &w->certificates, err);
}

int webhook_new(const struct webhook_options *options, struct webhook **ret_webhook,
		struct err *err)
{
	struct webhook *w = calloc(1, sizeof(*w));

	if (!w)
		return err_set(err, ENOMEM, "webhook");
	w->may_write = options->may_write;
	w->on_since = options->on_since;
	w->arg = options->arg;
	int r = tls_server_new(options->base, options->address, admission_handle,
			       options->admission, &w->server, err);
	if (r < 0)
		err_wrap(err, "--webhook-address");
	else
		r = start_certificates(w, options, err);
	if (r < 0) {
		webhook_free(w);
		return r;
	}
	*ret_webhook = w;
	return 0;
}

void webhook_free(struct webhook *w)
{
	if (!w)
		return;
	certificates_free(w->certificates);
	tls_server_free(w->server);
	free(w);
}

void webhook_look(struct webhook *w)
{
	certificates_look(w->certificates);
}

void webhook_stop(struct webhook *w, void (*on_idle)(void *arg), void *arg)
{
	tls_server_stop(w->server, on_idle, arg);
}

bool webhook_ready(const struct webhook *w, struct strbuf *out)
{
	bool open = tls_server_is_open(w->server), ready = certificates_ready(w->certificates);

	strbuf_addf(out, "webhook: %s\n",
		    certificates_leader_has_none(w->certificates) ?
			    "the leader has none; this replica can take its place" :
		    ready ? "serves" :
		    open  ? "the API server does not know its CA yet" :
			    "has no certificate yet");
	return ready;
}
