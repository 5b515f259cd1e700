/* SPDX-License-Identifier: Apache-2.0 */
/* Makes requests to the API server. */
#include "operator/kube/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>
#include <sys/queue.h>

#include "lib/loop/timer.h"
#include "lib/strbuf.h"
#include "lib/units.h"

#define URL_MAX 16384
#define HEADER_MAX 16384 /* tokens of large clusters have a few kilobytes */

struct client {
	struct http *http;
	struct kubeconfig config;
	char *host; /* "10.0.0.1:443" */
	LIST_HEAD(, client_call) calls;
	TAILQ_HEAD(, client_call) waiting; /* in their order, not sent yet */
	struct event *pump;
	client_fence_fn fence;
	void *fence_arg;
	client_observe_fn observe;
	client_trouble_fn trouble;
	void *arg;
};

struct client_call {
	struct client *client;
	LIST_ENTRY(client_call) link;
	TAILQ_ENTRY(client_call) in_waiting;
	bool waits; /* it is in waiting */
	struct http_call *http_call;
	bool tried_again; /* after a 401 */
	bool maybe_done; /* the first try may have been executed */
	bool asks;
	const char *method;
	char *path, *accept, *content_type, *body;
	int64_t deadline_ns;
	size_t answer_max;
	const char *const *fields;
	http_data_fn data;
	client_done_fn done;
	void (*drop)(void *arg);
	void *arg;
};

static void call_free(struct client_call *call)
{
	if (!call)
		return;
	free(call->path);
	free(call->accept);
	free(call->content_type);
	free(call->body);
	free(call);
}

/*
 * --- Life
 * -------------------------------------------------------------------------------------------------
 */

static void client_pump(evutil_socket_t fd, short what, void *arg);

/* Sets "10.0.0.1:443" of a server. */
static int host_of(const char *server, char **ret_host, struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1024);
	CURLU *url = curl_url();
	char *host = NULL, *port = NULL;
	bool known = url && curl_url_set(url, CURLUPART_URL, server, 0) == CURLUE_OK &&
		     curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
		     curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK;

	if (known)
		strbuf_addf(&text, "%s:%s", host, port);
	curl_free(host);
	curl_free(port);
	curl_url_cleanup(url);
	if (!known)
		return err_set(err, EINVAL, "%s: not the URL of an API server", server);
	*ret_host = strbuf_detach(&text);
	return *ret_host ? 0 : err_set(err, ENOMEM, "API client");
}

int client_new(struct event_base *base, struct kubeconfig *config, struct client **ret_client,
	       struct err *err)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client) {
		kubeconfig_release(config);
		return err_set(err, ENOMEM, "API client");
	}
	TAILQ_INIT(&client->waiting);
	client->config = *config;
	*config = (struct kubeconfig){ 0 };
	client->pump = evtimer_new(base, client_pump, client);
	int r = client->pump ? http_new(base, &client->http, err) :
			       err_set(err, ENOMEM, "API client");
	if (r == 0)
		r = host_of(client->config.server, &client->host, err);
	if (r < 0) {
		client_free(client);
		return r;
	}
	*ret_client = client;
	return 0;
}

void client_free(struct client *client)
{
	if (!client)
		return;
	while (!LIST_EMPTY(&client->calls))
		client_cancel(LIST_FIRST(&client->calls));
	event_drop(client->pump);
	http_free(client->http);
	kubeconfig_release(&client->config);
	free(client->host);
	free(client);
}

void client_set_fence(struct client *client, client_fence_fn fence, void *arg)
{
	client->fence = fence;
	client->fence_arg = arg;
}

const char *client_host(const struct client *client)
{
	return client->host;
}

void client_observe(struct client *client, client_observe_fn observe, client_trouble_fn trouble,
		    void *arg)
{
	client->observe = observe;
	client->trouble = trouble;
	client->arg = arg;
}

const char *client_server(const struct client *client)
{
	return client->config.server;
}

const char *client_namespace(const struct client *client)
{
	return client->config.namespace;
}

/*
 * --- Waiting
 * ----------------------------------------------------------------------------------------------
 */

static void wait_append(struct client_call *call)
{
	struct client *client = call->client;

	TAILQ_INSERT_TAIL(&client->waiting, call, in_waiting);
	call->waits = true;
	event_active(client->pump, 0, 0);
}

/* call may not be in it. */
static void wait_remove(struct client_call *call)
{
	if (call->waits)
		TAILQ_REMOVE(&call->client->waiting, call, in_waiting);
	call->waits = false;
}

/* Ends a call that was not sent, or not sent again. */
static void fail_call(struct client_call *call, const struct err *err)
{
	struct client_response response = { .reason = "",
					    .maybe_done = call->maybe_done,
					    .err = *err };

	err_wrap(&response.err, "%s %.*s", call->method, (int)strcspn(call->path, "?"), call->path);
	LIST_REMOVE(call, link);
	call->done(call->arg, &response);
	call_free(call);
}

/*
 * --- Credentials
 * ------------------------------------------------------------------------------------------
 */

/* Returns whether any credential is another than before. */
static bool refresh(struct client *client, bool force)
{
	struct err err = { 0 };
	bool changed = false;

	if (kubeconfig_refresh(&client->config, now_boottime_ns(), force, &changed, &err) < 0 &&
	    client->trouble)
		client->trouble(client->arg, &err);
	return changed;
}

/* After a 401, or a failed handshake, returns whether another try may succeed. */
static bool renew(struct client_call *call)
{
	if (call->tried_again)
		return false;
	call->tried_again = true;
	return refresh(call->client, true);
}

/*
 * --- Sending
 * ----------------------------------------------------------------------------------------------
 */

static int call_send(struct client_call *call, struct err *err);

static bool is_write(const struct client_call *call)
{
	return !call->asks && strcmp(call->method, "GET") != 0;
}

static void send_or_fail(struct client_call *call)
{
	struct client *client = call->client;
	struct err err = { 0 };

	wait_remove(call);
	if (is_write(call) && client->fence && !client->fence(client->fence_arg))
		err_set(&err, EPERM, "not sent%s: this replica does not hold the lease",
			call->maybe_done ? " again" : "");
	else
		call_send(call, &err);
	if (err.code)
		fail_call(call, &err);
}

static void client_pump(evutil_socket_t, short, void *arg)
{
	struct client *client = arg;

	if (!TAILQ_EMPTY(&client->waiting))
		refresh(client, false);
	/* Callbacks may change the list, so each look begins at its start. */
	while (!TAILQ_EMPTY(&client->waiting))
		send_or_fail(TAILQ_FIRST(&client->waiting));
}

/*
 * --- Answers
 * ----------------------------------------------------------------------------------------------
 */

static void on_done(void *arg, const struct http_response *http)
{
	struct client_call *call = arg;
	struct client *client = call->client;
	struct client_response response;

	call->http_call = NULL;
	if (client->observe)
		client->observe(client->arg, call->method, http->status);
	call->maybe_done |= http->maybe_done;
	/*
	 * With a new authority, a valid certificate looks forged until the authority's file is read
	 * again.
	 */
	bool unproven = http->status == 401 || (http->status == 0 && http->err.code == EPROTO);
	if (unproven && renew(call)) {
		wait_append(call);
		return;
	}
	client_response_read(http, call->method, call->path, call->fields, &response);
	response.maybe_done |= call->maybe_done && http->status / 100 != 2;
	/*
	 * An answer that did not come whole is none, or callers would take its object for absent.
	 */
	if (!call->data && response.err.code && http->status / 100 == 2) {
		response.status = 0;
		response.maybe_done = true;
	}
	LIST_REMOVE(call, link);
	call->done(call->arg, &response);
	cJSON_Delete(response.object);
	call_free(call);
}

/* Puts our arg before the caller's, because the stream goes through us. */
static int on_data(void *arg, const void *data, size_t len)
{
	struct client_call *call = arg;

	return call->data(call->arg, data, len);
}

static int call_send(struct client_call *call, struct err *err)
{
	const struct kubeconfig *config = &call->client->config;
	_cleanup_strbuf_ struct strbuf url = STRBUF_INIT(URL_MAX);
	_cleanup_strbuf_ struct strbuf accept = STRBUF_INIT(HEADER_MAX);
	_cleanup_strbuf_ struct strbuf type = STRBUF_INIT(HEADER_MAX);
	_cleanup_strbuf_ struct strbuf token = STRBUF_INIT(HEADER_MAX);
	const char *headers[4] = { 0 };
	size_t n = 0;

	strbuf_addf(&url, "%s%s", config->server, call->path);
	strbuf_addf(&accept, "Accept: %s", call->accept ? call->accept : "application/json");
	headers[n++] = strbuf_str(&accept);
	if (call->body) {
		strbuf_addf(&type, "Content-Type: %s",
			    call->content_type ? call->content_type : "application/json");
		headers[n++] = strbuf_str(&type);
	}
	if (config->token.text) {
		strbuf_addf(&token, "Authorization: Bearer %s", config->token.text);
		headers[n++] = strbuf_str(&token);
	}
	if (strbuf_failed(&url) || strbuf_failed(&accept) || strbuf_failed(&type) ||
	    strbuf_failed(&token))
		return err_set(err, EFBIG, "%s: URL or header too long", call->method);
	struct http_request request = {
		.method = call->method,
		.url = strbuf_str(&url),
		.headers = headers,
		.body = call->body,
		.body_len = call->body ? strlen(call->body) : 0,
		.deadline_ns = call->deadline_ns,
		.answer_max = call->answer_max,
		.tls = { config->ca.text, config->certificate.text, config->key.text,
			 config->insecure },
		.fence = is_write(call) ? call->client->fence : NULL,
		.fence_arg = call->client->fence_arg,
	};
	return http_start(call->client->http, &request, call->data ? on_data : NULL, on_done, call,
			  &call->http_call, err);
}

static int copy(const char *text, char **ret_copy)
{
	*ret_copy = text ? strdup(text) : NULL;
	return text && !*ret_copy ? -ENOMEM : 0;
}

int client_start(struct client *client, const struct client_request *request, client_done_fn done,
		 void *arg, struct client_call **ret_call, struct err *err)
{
	struct client_call *call = calloc(1, sizeof(*call));

	if (!call)
		return err_set(err, ENOMEM, "API request");
	if (copy(request->path, &call->path) < 0 || copy(request->accept, &call->accept) < 0 ||
	    copy(request->content_type, &call->content_type) < 0 ||
	    copy(request->body, &call->body) < 0) {
		call_free(call);
		return err_set(err, ENOMEM, "API request");
	}
	call->client = client;
	call->method = request->method;
	call->deadline_ns = request->deadline_ns ? request->deadline_ns : CLIENT_DEADLINE_NS;
	call->answer_max = request->answer_max ? request->answer_max : CLIENT_OBJECT_MAX;
	call->asks = request->asks;
	call->data = request->data;
	call->fields = request->fields;
	call->done = done;
	call->drop = request->drop;
	call->arg = arg;
	LIST_INSERT_HEAD(&client->calls, call, link);
	wait_append(call);
	if (ret_call)
		*ret_call = call;
	return 0;
}

void client_cancel(struct client_call *call)
{
	if (!call)
		return;
	http_cancel(call->http_call);
	wait_remove(call);
	LIST_REMOVE(call, link);
	if (call->drop)
		call->drop(call->arg);
	call_free(call);
}
