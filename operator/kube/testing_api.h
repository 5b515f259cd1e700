/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of parts that list and watch on their own: an API server in the same loop. The test
 * sets the lists, watches are held without events, and a write is answered with its own object,
 * unless the test sets another answer. Requests may come in any order, which the script of
 * testing.h does not allow.
 */
#pragma once

#include "lib/json.h"
#include "operator/kube/testing.h"

#define FAKE_API_RULES_MAX 16
#define FAKE_API_RV 100 /* of the first lists; writes get higher ones */

/* The first rule that fits answers. After n answers (0: no limit) it does not fit any more. */
struct fake_rule {
	const char *method, *part; /* part must stand in the URI */
	int status; /* 0: hang up without an answer; negative: give none, as to a watch */
	const char *body;
	unsigned n, used;
};

struct fake_api {
	struct fake_server server; /* its script is not used */
	struct fake_rule rules[FAKE_API_RULES_MAX];
	size_t n_rules;
	struct strbuf log; /* "METHOD PATH" of each request, one a line; watches are left out */
	struct strbuf accepts; /* "METHOD PATH?QUERY Accept" of the same requests, one a line */
	struct strbuf bodies; /* of all writes, one a line */
	int rv;
};

/* If body is NULL, the answer is an empty list. */
static inline void fake_api_answers(struct fake_api *api, const char *method, const char *part,
				    int status, const char *body, unsigned n)
{
	assert_true(api->n_rules < FAKE_API_RULES_MAX);
	api->rules[api->n_rules++] = (struct fake_rule){ method, part, status, body, n, 0 };
}

/* items: what stands between the brackets. */
static inline void fake_api_lists(struct fake_api *api, const char *part, const char *items)
{
	static char lists[FAKE_API_RULES_MAX][1 << 15];
	char *text = lists[api->n_rules];

	assert_true(snprintf(text, sizeof(lists[0]),
			     "{\"metadata\":{\"resourceVersion\":\"%d\"},\"items\":[%s]}",
			     FAKE_API_RV, items) < (int)sizeof(lists[0]));
	fake_api_answers(api, "GET", part, 200, text, 0);
}

static inline const char *fake_api_method(struct evhttp_request *request)
{
	switch (evhttp_request_get_command(request)) {
	case EVHTTP_REQ_POST:
		return "POST";
	case EVHTTP_REQ_PATCH:
		return "PATCH";
	case EVHTTP_REQ_DELETE:
		return "DELETE";
	default:
		return "GET";
	}
}

static inline void fake_api_send(struct evhttp_request *request, int status, const char *text)
{
	struct evbuffer *body;

	if (status < 0)
		return;
	if (status == 0) {
		evhttp_connection_free(evhttp_request_get_connection(request));
		return;
	}
	body = evbuffer_new();
	evbuffer_add(body, text, strlen(text));
	evhttp_send_reply(request, status, "", body);
	evbuffer_free(body);
}

/* As the API server answers a write that it takes. */
static inline void fake_api_echo(struct fake_api *api, struct evhttp_request *request,
				 const char *text, size_t len)
{
	_cleanup_json_ cJSON *object = cJSON_ParseWithLength(text, len);
	cJSON *metadata = json_get(object, "metadata");
	char number[24];

	snprintf(number, sizeof(number), "%d", ++api->rv);
	if (metadata) {
		json_set_str(metadata, "resourceVersion", number);
		if (!json_str(metadata, "uid"))
			json_set_str(metadata, "uid", number);
	}
	_cleanup_free_ char *answer = object ? cJSON_PrintUnformatted(object) : NULL;
	fake_api_send(request, evhttp_request_get_command(request) == EVHTTP_REQ_POST ? 201 : 200,
		      answer ? answer : "{\"kind\":\"Status\",\"status\":\"Success\"}");
}

static inline bool fake_api_by_rule(struct fake_api *api, struct evhttp_request *request,
				    const char *method, const char *uri)
{
	for (size_t i = 0; i < api->n_rules; i++) {
		struct fake_rule *rule = &api->rules[i];

		if (strcmp(rule->method, method) != 0 || !strstr(uri, rule->part) ||
		    (rule->n && rule->used == rule->n))
			continue;
		rule->used++;
		fake_api_send(request, rule->status, rule->body);
		return true;
	}
	return false;
}

static inline void on_fake_api_request(struct evhttp_request *request, void *arg)
{
	struct fake_api *api = arg;
	const char *uri = evhttp_request_get_uri(request), *method = fake_api_method(request);
	const char *accept =
		evhttp_find_header(evhttp_request_get_input_headers(request), "Accept");
	struct evbuffer *in = evhttp_request_get_input_buffer(request);
	size_t len = evbuffer_get_length(in);
	const char *text = len ? (const char *)evbuffer_pullup(in, -1) : "";

	if (strstr(uri, "sendInitialEvents=true")) {
		fake_api_send(request, 422,
			      "{\"kind\":\"Status\",\"code\":422,\"reason\":\"Invalid\"}");
		return;
	}
	if (strstr(uri, "watch=1"))
		return; /* it is answered when the server ends */
	strbuf_addf(&api->log, "%s %.*s\n", method, (int)strcspn(uri, "?"), uri);
	strbuf_addf(&api->accepts, "%s %s %s\n", method, uri, accept ? accept : "-");
	if (len) {
		strbuf_add(&api->bodies, text, len);
		strbuf_addc(&api->bodies, '\n');
	}
	if (fake_api_by_rule(api, request, method, uri))
		return;
	if (strcmp(method, "GET") == 0 && strstr(uri, "/services/"))
		fake_api_send(request, 404,
			      "{\"kind\":\"Status\",\"code\":404,\"reason\":\"NotFound\"}");
	else if (strcmp(method, "GET") == 0)
		fake_api_send(request, 200,
			      "{\"metadata\":{\"resourceVersion\":\"100\"},\"items\":[]}");
	else if (
		strstr(uri,
		       /* the body is a part of the object: it is not to be learned from */
		       "/status?"))
		fake_api_send(request, 200, "{\"kind\":\"Status\",\"status\":\"Success\"}");
	else
		fake_api_echo(api, request, text, len);
}

/* Once, before the rules. */
static inline void fake_api_start(struct fake_api *api)
{
	*api = (struct fake_api){ .rv = FAKE_API_RV,
				  .log = STRBUF_INIT(1 << 20),
				  .accepts = STRBUF_INIT(1 << 20),
				  .bodies = STRBUF_INIT(1 << 22) };
	fake_server_start(&api->server, NULL, 0);
	evhttp_set_gencb(api->server.http, on_fake_api_request, api);
}

static inline void fake_api_stop(struct fake_api *api)
{
	fake_server_stop(&api->server);
	strbuf_release(&api->log);
	strbuf_release(&api->accepts);
	strbuf_release(&api->bodies);
}

/* Returns the number of requests with a line ("POST /api/v1/...") that begins so. */
static inline unsigned fake_api_count(const struct fake_api *api, const char *line)
{
	unsigned n = 0;

	for (const char *at = strbuf_str(&api->log); *at; at += strcspn(at, "\n") + 1)
		n += strncmp(at, line, strlen(line)) == 0;
	return n;
}

/* Turns the loop until that is so, or for a minute. */
static inline void fake_api_turn(struct fake_api *api, bool (*is_so)(void *arg), void *arg)
{
	for (int i = 0; i < 6000 && !is_so(arg); i++) {
		event_base_loopexit(api->server.base, &(struct timeval){ .tv_usec = 10000 });
		event_base_dispatch(api->server.base);
	}
	if (!is_so(arg))
		fail_msg("it does not come; asked so far:\n%s", strbuf_str(&api->log));
}

/* Turns the loop a little, so that an unwanted request could arrive. */
static inline void fake_api_idle(struct fake_api *api)
{
	event_base_loopexit(api->server.base, &(struct timeval){ .tv_usec = 100000 });
	event_base_dispatch(api->server.base);
}
