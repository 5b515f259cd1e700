/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the HTTP client with a server that answers from a script. They cover what the client of
 * the API server does not use.
 */
#include "operator/kube/http.h"

#include <dlfcn.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/units.h"
#include "operator/kube/testing.h"

/* A script sets only the members that matter to it */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

struct outcome {
	bool done;
	int status;
	int64_t max_age_ns;
	bool maybe_done;
	char text[ERR_TEXT_MAX];
};

static void keep(void *arg, const struct http_response *response)
{
	struct outcome *o = arg;

	*o = (struct outcome){ .done = true,
			       .status = response->status,
			       .max_age_ns = response->max_age_ns,
			       .maybe_done = response->maybe_done };
	snprintf(o->text, sizeof(o->text), "%s", response->err.text);
}

static void an_answer_says_for_how_long_it_is_good(void **state)
{
	static const struct {
		const char *header, *value;
		int64_t seconds;
	} rows[] = {
		{ "Cache-Control", "private, max-age=10", 10 },
		{ "cache-control", "max-age=300", 300 },
		{ "Cache-Control", "no-store", 0 },
		{ "Cache-Control", "s-max-age=10", 0 },
		{ "Cache-Control", "max-age=", 0 },
		{ "Cache-Control", "max-age=-5", 0 },
		{ "Cache-Control", "max-age=soon", 0 },
		{ "Cache-Control", "max-age=99999999999999999999", 0 },
		{ "X-Other", "max-age=10", 0 },
		{ NULL, NULL, 0 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct exchange script[] = {
			{ .method = "GET",
			  .asked = "/failures",
			  .status = 304,
			  .body = "",
			  .header = rows[i].header,
			  .value = rows[i].value },
		};
		struct fake_server server;
		struct outcome o = { 0 };
		struct http_call *call;
		struct http *http;
		char url[64];

		fake_server_start(&server, script, 1);
		assert_int_equal(http_new(server.base, &http, NULL), 0);
		snprintf(url, sizeof(url), "%s/failures", server.url);
		const struct http_request request = { .method = "GET",
						      .url = url,
						      .direct = true,
						      .deadline_ns = 5 * NS_PER_SEC,
						      .answer_max = 100 };
		assert_int_equal(http_start(http, &request, NULL, keep, &o, &call, NULL), 0);
		turn_until(server.base, &o.done);
		assert_int_equal(o.status, 304);
		if (o.max_age_ns != rows[i].seconds * NS_PER_SEC)
			fail_msg("%s: %s", rows[i].header, rows[i].value);
		http_free(http);
		fake_server_stop(&server);
	}
}

/* --- A name server that does not answer --- */

typedef int (*lookup_fn)(const char *host, const char *service, const struct addrinfo *hints,
			 struct addrinfo **ret_list);
static int lookup[2] = { -1, -1 }; /* while this pipe is open, a lookup waits for a byte from it */

/* Replaces glibc's function. libcurl calls it in a thread. */
int getaddrinfo(const char *restrict host, const char *restrict service,
		const struct addrinfo *restrict hints, struct addrinfo **restrict ret_list)
{
	char byte;

	if (lookup[0] < 0)
		return ((lookup_fn)dlsym(RTLD_NEXT, "getaddrinfo"))(host, service, hints, ret_list);
	(void)!read(lookup[0], &byte, 1);
	return EAI_AGAIN;
}

static void a_call_ends_while_the_name_of_its_host_is_still_looked_up(void **state)
{
	struct event_base *base = event_base_new();
	struct outcome o = { 0 };
	struct http *http;
	(void)state;

	assert_int_equal(pipe(lookup), 0);
	assert_int_equal(http_new(base, &http, NULL), 0);
	const struct http_request request = { .method = "GET",
					      .url = "http://collector.example:4318",
					      .direct = true,
					      .deadline_ns = 100 * NS_PER_MS,
					      .answer_max = 100 };
	assert_int_equal(http_start(http, &request, NULL, keep, &o, NULL, NULL), 0);
	/* The lookup has not ended, because its pipe is empty and open. */
	turn_until(base, &o.done);
	assert_int_equal(o.status, 0);
	http_free(http);
	event_base_free(base);
	close(lookup[1]);
}

/* --- A server that is killed while it works on a request --- */

struct mortal_server {
	struct event_base *base;
	struct evconnlistener *listener;
	struct bufferevent *connection;
	bool returns; /* another server listens in its place at once */
	int requests;
	char url[64];
};

/*
 * Does what the kernel does for a killed server: nobody listens any more, and its connections are
 * reset.
 */
static void die(struct mortal_server *server)
{
	const struct linger at_once = { .l_onoff = 1 };

	if (!server->returns) {
		evconnlistener_free(server->listener);
		server->listener = NULL;
	}
	setsockopt(bufferevent_getfd(server->connection), SOL_SOCKET, SO_LINGER, &at_once,
		   sizeof(at_once));
	bufferevent_free(server->connection);
	server->connection = NULL;
}

/* It answers the first request, and dies during the second. */
static void on_request(struct bufferevent *connection, void *arg)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	struct mortal_server *server = arg;
	struct evbuffer *input = bufferevent_get_input(connection);

	if (evbuffer_search(input, "{}", 2, NULL).pos < 0)
		return;
	evbuffer_drain(input, evbuffer_get_length(input));
	if (++server->requests == 1)
		bufferevent_write(connection, answer, sizeof(answer) - 1);
	else
		die(server);
}

static void on_connection(struct evconnlistener *listener, evutil_socket_t fd,
			  struct sockaddr *from, int len, void *arg)
{
	struct mortal_server *server = arg;
	(void)listener;
	(void)from;
	(void)len;

	server->connection = bufferevent_socket_new(server->base, fd, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(server->connection, on_request, NULL, NULL, server);
	bufferevent_enable(server->connection, EV_READ | EV_WRITE);
}

static void mortal_server_start(struct mortal_server *server)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);

	server->base = event_base_new();
	server->listener =
		evconnlistener_new_bind(server->base, on_connection, server, LEV_OPT_CLOSE_ON_FREE,
					8, (struct sockaddr *)&address, sizeof(address));
	assert_non_null(server->listener);
	assert_int_equal(getsockname(evconnlistener_get_fd(server->listener),
				     (struct sockaddr *)&address, &len),
			 0);
	snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%d/pods",
		 ntohs(address.sin_port));
}

/* Sends a write to the server and returns its outcome. */
static struct outcome post(const struct mortal_server *server, struct http *http,
			   bool (*fence)(void *arg), void *fence_arg)
{
	struct outcome o = { 0 };
	const struct http_request request = { .method = "POST",
					      .url = server->url,
					      .body = "{}",
					      .body_len = 2,
					      .deadline_ns = 60 * NS_PER_SEC,
					      .answer_max = 100,
					      .fence = fence,
					      .fence_arg = fence_arg };

	assert_int_equal(http_start(http, &request, NULL, keep, &o, NULL, NULL), 0);
	turn_until(server->base, &o.done);
	return o;
}

static void a_write_on_a_connection_that_broke_may_have_been_done_though_the_next_one_is_refused(void **state)
{
	struct mortal_server server = { 0 };
	struct http *http;
	(void)state;

	mortal_server_start(&server);
	assert_int_equal(http_new(server.base, &http, NULL), 0);
	for (int i = 0; i < 2; i++) {
		struct outcome o = post(&server, http, NULL, NULL);

		assert_int_equal(o.status, i == 0 ? 200 : 0);
		assert_int_equal(o.maybe_done, i == 1);
	}
	assert_int_equal(server.requests, 2);
	http_free(http);
	event_base_free(server.base);
}

static bool allow_the_first_two(void *arg)
{
	int *asked = arg;

	return ++*asked <= 2;
}

static void a_write_that_went_out_and_is_not_repeated_without_the_lease_may_have_been_done(void **state)
{
	struct mortal_server server = { .returns = true };
	struct http *http;
	int asked = 0;
	(void)state;

	mortal_server_start(&server);
	assert_int_equal(http_new(server.base, &http, NULL), 0);
	for (int i = 0; i < 2; i++) {
		struct outcome o = post(&server, http, allow_the_first_two, &asked);

		assert_int_equal(o.maybe_done, i == 1);
		if (i == 1)
			assert_non_null(strstr(
				o.text, "not sent again: this replica does not hold the lease"));
	}
	assert_int_equal(asked, 3);
	assert_int_equal(server.requests, 2);
	http_free(http);
	if (server.connection)
		bufferevent_free(server.connection);
	evconnlistener_free(server.listener);
	event_base_free(server.base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_says_for_how_long_it_is_good),
		cmocka_unit_test(a_call_ends_while_the_name_of_its_host_is_still_looked_up),
		cmocka_unit_test(
			a_write_on_a_connection_that_broke_may_have_been_done_though_the_next_one_is_refused),
		cmocka_unit_test(
			a_write_that_went_out_and_is_not_repeated_without_the_lease_may_have_been_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
