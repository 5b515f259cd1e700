/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the API client against a server that answers from a script. */
#include "operator/kube/testing.h"

#include <errno.h>
#include <fcntl.h>

#include "lib/fileio.h"
#include "lib/units.h"

/* A script sets only the members that matter to it */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

struct outcome {
	bool done;
	int status;
	char reason[64], text[ERR_TEXT_MAX];
	int code;
	int64_t retry_after_ns;
	bool maybe_done;
	cJSON *object;
};

static void keep(void *arg, struct client_response *response)
{
	struct outcome *o = arg;

	o->done = true;
	o->status = response->status;
	o->code = response->err.code;
	o->retry_after_ns = response->retry_after_ns;
	o->maybe_done = response->maybe_done;
	o->object = TAKE_PTR(response->object);
	snprintf(o->reason, sizeof(o->reason), "%s", response->reason);
	snprintf(o->text, sizeof(o->text), "%s", response->err.text);
}

static cJSON *pod(void)
{
	cJSON *o = cJSON_CreateObject(), *metadata;

	json_set_str(o, "apiVersion", "v1");
	json_set_str(o, "kind", "Pod");
	metadata = json_object_at(o, "metadata");
	json_set_str(metadata, "namespace", "ns");
	json_set_str(metadata, "name", "a b");
	json_set_str(metadata, "uid", "u1");
	return o;
}

static void writes_have_their_paths_and_types(void **state)
{
	static const struct exchange script[] = {
		{ "POST", "/api/v1/namespaces/ns/pods?fieldManager=afterglow", 201, "{\"kind\":\"Pod\"}" },
		{ "PATCH", "/api/v1/namespaces/ns/pods/a%20b/status?fieldManager=afterglow force=true", 200, "{}" },
		{ "DELETE", "/api/v1/namespaces/ns/pods/a%20b", 200, "{}" },
	};
	struct fake_server server;
	_cleanup_json_ cJSON *object = pod();
	struct err err = { 0 };
	(void)state;

	fake_server_start(&server, script, ARRAY_SIZE(script));
	struct client *client = fake_client(&server, NULL);
	for (int i = 0; i < 3; i++) {
		struct outcome o = { 0 };
		int r = i == 0 ? client_create(client, object, NULL, keep, &o, &err) :
			i == 1 ? client_apply(client, object, "status", keep, &o, &err) :
				 client_delete(client, object, 7, keep, &o, &err);
		assert_int_equal(r, 0);
		turn_until(server.base, &o.done);
		assert_int_equal(o.code, 0);
		cJSON_Delete(o.object);
	}
	assert_non_null(strstr(strbuf_str(&server.bodies), "\"preconditions\":{\"uid\":\"u1\"}"));
	assert_non_null(strstr(strbuf_str(&server.bodies), "\"gracePeriodSeconds\":7"));
	client_free(client);
	fake_server_stop(&server);
}

static void refusals_say_why_and_when_to_return(void **state)
{
	static const struct exchange script[] = {
		{ "POST", "/pods", 409, "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"message\":\"pods \\\"a\\\" exists\"}" },
		{ "POST", "/pods", 429, "{\"kind\":\"Status\",\"reason\":\"TooManyRequests\"}", "Retry-After", "7" },
		{ "POST", "/pods", 429, "{\"details\":{\"retryAfterSeconds\":3}}" },
		{ "POST", "/pods", 503, "<html>Bad Gateway</html>" },
		{ "POST", "/pods", 200, "{broken" },
	};
	static const struct {
		int status;
		const char *reason, *message;
		int64_t retry_after_ns;
	} rows[] = {
		{ 409, "AlreadyExists", "POST /api/v1/namespaces/ns/pods: 409 AlreadyExists: pods \"a\" exists", 0 },
		{ 429, "TooManyRequests", "429 TooManyRequests", 7 * NS_PER_SEC },
		{ 429, "", "429", 3 * NS_PER_SEC },
		{ 503, "", "503", 0 },
		{ 0, "", "POST /api/v1/namespaces/ns/pods: ", 0 },
	};
	struct fake_server server;
	_cleanup_json_ cJSON *object = pod();
	struct err err = { 0 };
	(void)state;

	fake_server_start(&server, script, ARRAY_SIZE(script));
	struct client *client = fake_client(&server, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct outcome o = { 0 };
		assert_int_equal(client_create(client, object, NULL, keep, &o, &err), 0);
		turn_until(server.base, &o.done);
		assert_int_equal(o.status, rows[i].status);
		assert_string_equal(o.reason, rows[i].reason);
		assert_int_equal(o.retry_after_ns, rows[i].retry_after_ns);
		assert_non_null(strstr(o.text, rows[i].message));
		cJSON_Delete(o.object);
	}
	client_free(client);
	fake_server_stop(&server);
}

static void a_401_reads_the_token_again_and_is_tried_once_more(void **state)
{
	static const struct exchange script[] = {
		{ "GET", "/pods/x", 401, "{}" },
		{ "GET", "/pods/x", 200, "{}" },
		{ "GET", "/pods/x", 401, "{}" },
	};
	char file[] = "/tmp/client-test-XXXXXX";
	_cleanup_close_ int fd = mkstemp(file);
	struct fake_server server;
	struct err err = { 0 };
	(void)state;

	assert_int_equal(fd_write_all(fd, "new\n", 4, &err), 0);
	fake_server_start(&server, script, ARRAY_SIZE(script));
	struct client *client = fake_client(&server, file);
	const struct resource *pods = resource_find("v1", "Pod");
	static const int statuses[] = { 200, 401 };
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct outcome o = { 0 };
		assert_int_equal(client_get(client, pods, "ns", "x", keep, &o, &err), 0);
		turn_until(server.base, &o.done);
		assert_int_equal(o.status, statuses[i]);
		cJSON_Delete(o.object);
	}
	assert_string_equal(strbuf_str(&server.tokens), "Bearer old\nBearer new\nBearer new\n");
	client_free(client);
	fake_server_stop(&server);
	unlink(file);
}

static void a_lost_answer_may_have_been_a_write_and_a_refused_connection_not(void **state)
{
	static const struct exchange script[] = { { "POST", "/pods", 0, "" } };
	struct fake_server server;
	_cleanup_json_ cJSON *object = pod();
	struct outcome lost = { 0 }, refused = { 0 };
	struct err err = { 0 };
	(void)state;

	fake_server_start(&server, script, 1);
	struct client *client = fake_client(&server, NULL);
	assert_int_equal(client_create(client, object, NULL, keep, &lost, &err), 0);
	turn_until(server.base, &lost.done);
	assert_int_equal(lost.status, 0);
	assert_true(lost.maybe_done);
	client_free(client);

	snprintf(server.url, sizeof(server.url), "http://127.0.0.1:1");
	client = fake_client(&server, NULL);
	assert_int_equal(client_create(client, object, NULL, keep, &refused, &err), 0);
	turn_until(server.base, &refused.done);
	assert_int_equal(refused.code, ECONNREFUSED);
	assert_false(refused.maybe_done);
	client_free(client);
	fake_server_stop(&server);
}

static void an_answer_above_the_ceiling_is_an_error(void **state)
{
	static const struct exchange script[] = { { "GET", "/x", 200, "{\"a\":\"0123456789\"}" } };
	struct fake_server server;
	struct outcome o = { 0 };
	struct err err = { 0 };
	(void)state;

	fake_server_start(&server, script, 1);
	struct client *client = fake_client(&server, NULL);
	struct client_request request = { .method = "GET", .path = "/x", .answer_max = 10 };
	assert_int_equal(client_start(client, &request, keep, &o, NULL, &err), 0);
	turn_until(server.base, &o.done);
	assert_int_equal(o.code, EFBIG);
	/* Its status would have callers believe that there is no object. */
	assert_int_equal(o.status, 0);
	assert_null(o.object);
	client_free(client);
	fake_server_stop(&server);
}

/* What is left of a deadline may be less than libcurl's unit. */
static void a_deadline_of_less_than_a_millisecond_is_one(void **state)
{
	static const struct exchange script[] = { { "GET", "/x", 200, "{}" } };
	struct fake_server server;
	struct outcome o = { 0 };
	struct err err = { 0 };
	(void)state;

	/* The server does not answer, and keeps the connection open */
	fake_server_start(&server, script, 0);
	struct client *client = fake_client(&server, NULL);
	struct client_request request = { .method = "GET",
					  .path = "/x",
					  .deadline_ns = NS_PER_MS / 2 };
	assert_int_equal(client_start(client, &request, keep, &o, NULL, &err), 0);
	turn_until(server.base, &o.done);
	assert_int_equal(o.code, ETIMEDOUT);
	client_free(client);
	fake_server_stop(&server);
}

struct cancelling {
	struct client_call *self, *other;
	bool done;
};

static int cancel_both(void *arg, const void *data, size_t len)
{
	struct cancelling *c = arg;

	(void)data;
	(void)len;
	assert_false(c->done);
	client_cancel(TAKE_PTR(c->self));
	client_cancel(TAKE_PTR(c->other));
	c->done = true;
	return 0;
}

static void never(void *arg, struct client_response *response)
{
	(void)arg;
	(void)response;
	fail_msg("a cancelled call was answered");
}

static void calls_can_be_cancelled_from_inside_their_own_stream(void **state)
{
	static const struct exchange script[] = { { "GET", "/stream", 200, "one\ntwo\nthree\n",
						    NULL, NULL, true } };
	struct fake_server server;
	struct cancelling c = { 0 };
	struct err err = { 0 };
	(void)state;

	fake_server_start(&server, script, 1);
	struct client *client = fake_client(&server, NULL);
	struct client_request stream = { .method = "GET", .path = "/stream", .data = cancel_both };
	assert_int_equal(client_start(client, &stream, never, &c, &c.self, &err), 0);
	struct client_request other = { .method = "GET", .path = "/never" };
	turn_until(server.base, &c.done);
	assert_int_equal(client_start(client, &other, never, &c, &c.other, &err), 0);
	client_cancel(c.other);
	event_base_loop(server.base, EVLOOP_NONBLOCK);
	client_free(client);
	fake_server_stop(&server);
}

static bool allow_none(void *arg)
{
	++*(int *)arg;
	return false;
}

static void a_fenced_write_does_not_leave_and_a_read_does(void **state)
{
	static const struct exchange script[] = { { "GET", "/pods/x", 200, "{}" },
						  { "POST", "/subjectaccessreviews", 201, "{}" } };
	const struct client_request question = {
		.method = "POST",
		.path = "/apis/authorization.k8s.io/v1/subjectaccessreviews",
		.content_type = "application/json",
		.body = "{}",
		.asks = true
	};
	struct fake_server server;
	struct outcome write = { 0 }, read = { 0 }, answer = { 0 };
	struct client_call *call;
	_cleanup_json_ cJSON *object = pod();
	struct err err = { 0 };
	int asked = 0;
	(void)state;

	fake_server_start(&server, script, ARRAY_SIZE(script));
	struct client *client = fake_client(&server, NULL);
	client_set_fence(client, allow_none, &asked);
	assert_int_equal(client_create(client, object, NULL, keep, &write, &err), 0);
	assert_false(write.done); /* never before it returns */
	turn_until(server.base, &write.done);
	assert_int_equal(write.status, 0);
	assert_int_equal(write.code, EPERM);
	assert_false(write.maybe_done);
	assert_non_null(strstr(
		write.text,
		"POST /api/v1/namespaces/ns/pods: not sent: this replica does not hold the lease"));
	assert_int_equal(
		client_get(client, resource_find("v1", "Pod"), "ns", "x", keep, &read, &err), 0);
	turn_until(server.base, &read.done);
	assert_int_equal(read.status, 200);
	/* A replica that does not hold the lease asks about rights, too. */
	assert_int_equal(client_start(client, &question, keep, &answer, &call, &err), 0);
	turn_until(server.base, &answer.done);
	assert_int_equal(answer.status, 201);
	assert_int_equal(asked, 1);
	cJSON_Delete(read.object);
	cJSON_Delete(answer.object);
	client_free(client);
	fake_server_stop(&server);
}

static bool allow_once(void *arg)
{
	int *asked = arg;

	return ++*asked == 1;
}

/* The loop may be delayed between the two for longer than the Lease lasts. */
static void a_write_that_was_let_go_does_not_leave_when_the_lease_is_lost_while_it_connects(void **state)
{
	struct fake_server server;
	struct outcome write = { 0 };
	_cleanup_json_ cJSON *object = pod();
	struct err err = { 0 };
	int asked = 0;
	(void)state;

	fake_server_start(&server, NULL, 0);
	struct client *client = fake_client(&server, NULL);
	client_set_fence(client, allow_once, &asked);
	assert_int_equal(client_create(client, object, NULL, keep, &write, &err), 0);
	turn_until(server.base, &write.done);
	assert_int_equal(write.status, 0);
	assert_int_equal(write.code, EPERM);
	assert_false(write.maybe_done);
	assert_int_equal(asked, 2);
	assert_int_equal(server.at, 0);
	assert_non_null(strstr(write.text, "not sent: this replica does not hold the lease"));
	client_free(client);
	fake_server_stop(&server);
}

static bool allow_the_first_request(void *arg)
{
	int *asked = arg;

	return ++*asked <= 2; /* asked when it is started, and when it is connected */
}

static void a_write_that_is_tried_again_may_have_been_done_by_the_first_try(void **state)
{
	/* The first answer is too long, so it is incomplete. */
	static const struct exchange script[] = {
		{ "POST", "/pods", 401, "{\"message\":\"of more than sixteen bytes\"}" },
		{ "POST", "/pods", 403, "{}" },
		{ "POST", "/pods", 401, "{\"message\":\"of more than sixteen bytes\"}" },
		{ "POST", "/pods", 201, "{}" },
		{ "POST", "/pods", 401, "{\"message\":\"of more than sixteen bytes\"}" },
	};
	struct client_request request = {
		.method = "POST", .path = "/pods", .body = "{}", .answer_max = 16
	};
	struct fake_server server;
	struct err err = { 0 };
	(void)state;

	fake_server_start(&server, script, ARRAY_SIZE(script));
	for (int i = 0; i < 3; i++) {
		char file[] = "/tmp/client-test-XXXXXX";
		_cleanup_close_ int fd = mkstemp(file);
		struct outcome o = { 0 };
		int asked = 0;

		assert_int_equal(fd_write_all(fd, "new\n", 4, &err), 0);
		struct client *client = fake_client(&server, file);
		if (i == 2)
			client_set_fence(client, allow_the_first_request, &asked);
		assert_int_equal(client_start(client, &request, keep, &o, NULL, &err), 0);
		turn_until(server.base, &o.done);
		assert_int_equal(o.status, i == 0 ? 403 : i == 1 ? 201 : 0);
		assert_int_equal(o.maybe_done, i != 1);
		if (i == 2)
			assert_non_null(strstr(
				o.text,
				"POST /pods: not sent again: this replica does not hold the lease"));
		cJSON_Delete(o.object);
		client_free(client);
		unlink(file);
	}
	assert_int_equal(server.at, ARRAY_SIZE(script));
	fake_server_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_have_their_paths_and_types),
		cmocka_unit_test(refusals_say_why_and_when_to_return),
		cmocka_unit_test(a_401_reads_the_token_again_and_is_tried_once_more),
		cmocka_unit_test(a_lost_answer_may_have_been_a_write_and_a_refused_connection_not),
		cmocka_unit_test(an_answer_above_the_ceiling_is_an_error),
		cmocka_unit_test(a_deadline_of_less_than_a_millisecond_is_one),
		cmocka_unit_test(calls_can_be_cancelled_from_inside_their_own_stream),
		cmocka_unit_test(a_fenced_write_does_not_leave_and_a_read_does),
		cmocka_unit_test(a_write_that_is_tried_again_may_have_been_done_by_the_first_try),
		cmocka_unit_test(
			a_write_that_was_let_go_does_not_leave_when_the_lease_is_lost_while_it_connects),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
