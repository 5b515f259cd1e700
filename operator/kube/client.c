/* SPDX-License-Identifier: Apache-2.0 */
/* The API server as functions. */
#include "operator/kube/client.h"

#include <errno.h>
#include <string.h>

#include "lib/strbuf.h"
#include "lib/units.h"

#define URL_MAX 16384
#define HEADER_MAX 16384 /* tokens of large clusters have a few kilobytes */

struct client {
	struct http *http;
	struct kubeconfig config;
	struct client_call *calls;
	client_observe_fn observe;
	client_trouble_fn trouble;
	void *arg;
};

struct client_call {
	struct client *client;
	struct client_call *next, *prev;
	struct http_call *http_call;
	bool tried_again; /* after a 401 */
	const char *method;
	char *path, *accept, *content_type, *body;
	int64_t deadline_ns;
	size_t answer_max;
	http_data_fn data;
	client_done_fn done;
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

static void call_unlink(struct client_call *call)
{
	if (call->prev)
		call->prev->next = call->next;
	else
		call->client->calls = call->next;
	if (call->next)
		call->next->prev = call->prev;
}

int client_new(struct event_base *base, struct kubeconfig *config, struct client **ret_client, struct err *err)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client) {
		kubeconfig_release(config);
		return err_set(err, ENOMEM, "API client");
	}
	client->config = *config;
	*config = (struct kubeconfig){ 0 };
	int r = http_new(base, &client->http, err);
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
	while (client->calls)
		client_cancel(client->calls);
	http_free(client->http);
	kubeconfig_release(&client->config);
	free(client);
}

void client_observe(struct client *client, client_observe_fn observe, client_trouble_fn trouble, void *arg)
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

/* Returns whether any credential is another than before. */
static bool refresh(struct client *client, bool force)
{
	struct err err = { 0 };
	bool changed = false;

	if (kubeconfig_refresh(&client->config, now_boottime_ns(), force, &changed, &err) < 0 && client->trouble)
		client->trouble(client->arg, &err);
	return changed;
}

static int call_send(struct client_call *call, struct err *err);

static bool is_json(const struct http_response *http)
{
	return http->len > 0 && *http->body == '{';
}

/* "POST /api/v1/namespaces/ns/pods: 409 AlreadyExists: pods "x" already exists" */
static void describe(const struct client_call *call, struct client_response *response)
{
	const char *question = strchr(call->path, '?');
	int len = question ? (int)(question - call->path) : (int)strlen(call->path);
	const char *message = json_str(response->object, "message");

	if (response->status == 0 || response->err.code)
		err_wrap(&response->err, "%s %.*s", call->method, len, call->path);
	else
		err_set(&response->err, EPROTO, "%s %.*s: %d%s%s%s%s", call->method, len, call->path, response->status,
			*response->reason ? " " : "", response->reason, message ? ": " : "", message ? message : "");
}

static void on_done(void *arg, const struct http_response *http)
{
	struct client_call *call = arg;
	struct client *client = call->client;
	struct client_response response = {
		.status = http->status,
		.reason = "",
		.retry_after_ns = http->retry_after_ns,
		.maybe_done = http->maybe_done,
		.err = http->err,
	};

	call->http_call = NULL;
	if (client->observe)
		client->observe(client->arg, call->method, http->status);
	if (http->status == 401 && !call->tried_again && refresh(client, true)) {
		call->tried_again = true;
		if (call_send(call, NULL) == 0)
			return;
	}
	if (!http->err.code && is_json(http))
		json_parse(http->body, http->len, &response.object, http->status / 100 == 2 ? &response.err : NULL);
	if (http->status / 100 != 2 && json_str(response.object, "reason"))
		response.reason = json_str(response.object, "reason");
	/* The Status of a 429 may say it where the header does not. */
	if (!response.retry_after_ns && http->status >= 400)
		response.retry_after_ns =
			MIN(MAX(json_int(response.object, "details.retryAfterSeconds", 0), 0), 3600) * NS_PER_SEC;
	if (http->status / 100 != 2 || response.err.code)
		describe(call, &response);
	call_unlink(call);
	call->done(call->arg, &response);
	cJSON_Delete(response.object);
	call_free(call);
}

/* The arg of the caller is behind ours: the stream goes through. */
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
		strbuf_addf(&type, "Content-Type: %s", call->content_type ? call->content_type : "application/json");
		headers[n++] = strbuf_str(&type);
	}
	if (config->token.text) {
		strbuf_addf(&token, "Authorization: Bearer %s", config->token.text);
		headers[n++] = strbuf_str(&token);
	}
	if (strbuf_failed(&url) || strbuf_failed(&accept) || strbuf_failed(&type) || strbuf_failed(&token))
		return err_set(err, EFBIG, "%s: URL or header too long", call->method);
	struct http_request request = {
		.method = call->method,
		.url = strbuf_str(&url),
		.headers = headers,
		.body = call->body,
		.body_len = call->body ? strlen(call->body) : 0,
		.deadline_ns = call->deadline_ns,
		.answer_max = call->answer_max,
		.tls = { config->ca.text, config->certificate.text, config->key.text, config->insecure },
	};
	return http_start(call->client->http, &request, call->data ? on_data : NULL, on_done, call, &call->http_call, err);
}

static int copy(const char *text, char **ret_copy)
{
	*ret_copy = text ? strdup(text) : NULL;
	return text && !*ret_copy ? -ENOMEM : 0;
}

int client_start(struct client *client, const struct client_request *request, client_done_fn done, void *arg,
		 struct client_call **ret_call, struct err *err)
{
	struct client_call *call = calloc(1, sizeof(*call));

	if (!call)
		return err_set(err, ENOMEM, "API request");
	if (copy(request->path, &call->path) < 0 || copy(request->accept, &call->accept) < 0 ||
	    copy(request->content_type, &call->content_type) < 0 || copy(request->body, &call->body) < 0) {
		call_free(call);
		return err_set(err, ENOMEM, "API request");
	}
	call->client = client;
	call->method = request->method;
	call->deadline_ns = request->deadline_ns ? request->deadline_ns : CLIENT_DEADLINE_NS;
	call->answer_max = request->answer_max ? request->answer_max : CLIENT_OBJECT_MAX;
	call->data = request->data;
	call->done = done;
	call->arg = arg;
	refresh(client, false);
	int r = call_send(call, err);
	if (r < 0) {
		call_free(call);
		return r;
	}
	call->next = client->calls;
	if (call->next)
		call->next->prev = call;
	client->calls = call;
	if (ret_call)
		*ret_call = call;
	return 0;
}

void client_cancel(struct client_call *call)
{
	if (!call)
		return;
	http_cancel(call->http_call);
	call_unlink(call);
	call_free(call);
}

/* One request whose path is collected in path. */
static int start_simple(struct client *client, const char *method, const struct strbuf *path, const char *content_type,
			const char *body, client_done_fn done, void *arg, struct err *err)
{
	struct client_request request = {
		.method = method,
		.path = strbuf_str(path),
		.content_type = content_type,
		.body = body,
	};

	if (strbuf_failed(path))
		return err_set(err, ENAMETOOLONG, "path of a %s", method);
	return client_start(client, &request, done, arg, NULL, err);
}

int client_get(struct client *client, const struct resource *resource, const char *namespace, const char *name,
	       client_done_fn done, void *arg, struct err *err)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(URL_MAX);

	resource_path(resource, namespace, name, NULL, &path);
	return start_simple(client, "GET", &path, NULL, NULL, done, arg, err);
}

/* What a write needs of its object. */
static int look_up(const cJSON *object, const struct resource **ret_resource, const char **ret_namespace,
		   const char **ret_name, struct err *err)
{
	*ret_resource = resource_of(object);
	*ret_namespace = json_str(object, "metadata.namespace");
	*ret_name = json_str(object, "metadata.name");
	if (!*ret_resource)
		return err_set(err, EINVAL, "no such kind: %s %s", json_str(object, "apiVersion"),
			       json_str(object, "kind"));
	return *ret_namespace ? 0 : err_set(err, EINVAL, "%s without a namespace", (*ret_resource)->kind);
}

int client_create(struct client *client, const cJSON *object, client_done_fn done, void *arg, struct err *err)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(URL_MAX);
	_cleanup_free_ char *body = cJSON_PrintUnformatted(object);
	const struct resource *resource;
	const char *namespace, *name;
	int r = look_up(object, &resource, &namespace, &name, err);

	if (r < 0)
		return r;
	if (!body)
		return err_set(err, ENOMEM, "create a %s", resource->kind);
	resource_path(resource, namespace, NULL, NULL, &path);
	strbuf_adds(&path, "?fieldManager=afterglow");
	return start_simple(client, "POST", &path, "application/json", body, done, arg, err);
}

int client_apply(struct client *client, const cJSON *object, const char *subresource, client_done_fn done, void *arg,
		 struct err *err)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(URL_MAX);
	_cleanup_free_ char *body = cJSON_PrintUnformatted(object);
	const struct resource *resource;
	const char *namespace, *name;
	int r = look_up(object, &resource, &namespace, &name, err);

	if (r < 0)
		return r;
	if (!name)
		return err_set(err, EINVAL, "apply a %s without a name", resource->kind);
	if (!body)
		return err_set(err, ENOMEM, "apply a %s", resource->kind);
	resource_path(resource, namespace, name, subresource, &path);
	strbuf_adds(&path, "?fieldManager=afterglow&force=true");
	return start_simple(client, "PATCH", &path, "application/apply-patch+yaml", body, done, arg, err);
}

static char *delete_options(const cJSON *object, int grace_s)
{
	_cleanup_json_ cJSON *options = cJSON_CreateObject();
	static const char *const fields[] = { "uid", "resourceVersion" };

	json_set_str(options, "apiVersion", "v1");
	json_set_str(options, "kind", "DeleteOptions");
	json_set_str(options, "propagationPolicy", "Background");
	if (grace_s >= 0)
		json_set_int(options, "gracePeriodSeconds", grace_s);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const char *value = json_str(json_get(object, "metadata"), fields[i]);
		if (value)
			json_set_str(json_object_at(options, "preconditions"), fields[i], value);
	}
	return cJSON_PrintUnformatted(options);
}

int client_delete(struct client *client, const cJSON *object, int grace_s, client_done_fn done, void *arg,
		  struct err *err)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(URL_MAX);
	_cleanup_free_ char *body = delete_options(object, grace_s);
	const struct resource *resource;
	const char *namespace, *name;
	int r = look_up(object, &resource, &namespace, &name, err);

	if (r < 0)
		return r;
	if (!name || !json_str(object, "metadata.uid"))
		return err_set(err, EINVAL, "delete a %s without a name or uid", resource->kind);
	if (!body)
		return err_set(err, ENOMEM, "delete a %s", resource->kind);
	resource_path(resource, namespace, name, NULL, &path);
	return start_simple(client, "DELETE", &path, "application/json", body, done, arg, err);
}
