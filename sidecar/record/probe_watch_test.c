/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what is made of the answers of a port that a liveness probe asks. */
#include "sidecar/record/probe_watch.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "lib/units.h"

struct server {
	struct event_base *base;
	const char *answer; /* NULL: it hangs up */
	char question[256];
};

static void on_question(struct bufferevent *client, void *arg)
{
	struct server *s = arg;
	struct evbuffer *in = bufferevent_get_input(client);

	if (evbuffer_search(in, "\r\n\r\n", 4, NULL).pos < 0)
		return;
	s->question[evbuffer_remove(in, s->question, sizeof(s->question) - 1)] = '\0';
	if (s->answer)
		bufferevent_write(client, s->answer, strlen(s->answer));
	else
		bufferevent_free(client);
}

static void on_end(struct bufferevent *client, short, void *)
{
	bufferevent_free(client);
}

static void on_connection(struct evconnlistener *, evutil_socket_t fd, struct sockaddr *, int,
			  void *arg)
{
	struct server *s = arg;
	struct bufferevent *client = bufferevent_socket_new(s->base, fd, BEV_OPT_CLOSE_ON_FREE);

	bufferevent_setcb(client, on_question, NULL, on_end, s);
	bufferevent_enable(client, EV_READ | EV_WRITE);
}

static struct evconnlistener *listen_somewhere(struct server *s, char target[static 32])
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	struct evconnlistener *l = evconnlistener_new_bind(
		s->base, on_connection, s, LEV_OPT_CLOSE_ON_FREE, -1, (void *)&at, sizeof(at));

	assert_non_null(l);
	assert_int_equal(getsockname(evconnlistener_get_fd(l), (void *)&at, &size), 0);
	snprintf(target, 32, "%d/api/healthz", ntohs(at.sin_port));
	return l;
}

/* Asks, and waits for what comes of it. */
static void ask(struct probe_watch *w, struct event_base *base, const char *target, int64_t now_ns)
{
	probe_watch_ask(w, base, target, now_ns);
	while (w->asking)
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
}

static void the_first_bad_answer_after_a_good_one_is_a_failure(void **state)
{
	static const char good[] = "HTTP/1.1 200 OK\r\n\r\nsuccess";
	static const struct {
		const char *answer;
		bool failed;
	} rows[] = {
		{ "HTTP/1.1 503 not yet\r\n\r\n", false }, /* Ray starts */
		{ NULL, false },
		{ good, false },
		{ "HTTP/1.0 302 there\r\n\r\n", false },
		{ "HTTP/1.1 503 dead\r\n\r\n", true },
		{ "HTTP/1.1 503 dead\r\n\r\n", true },
		{ good, false },
		{ NULL, true },
		{ good, false },
		{ "220 mail.example ESMTP\r\n", true },
		{ good, false },
	};
	struct server s = { .base = event_base_new() };
	struct probe_watch w = { 0 };
	char target[32];
	struct evconnlistener *l = listen_somewhere(&s, target);
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		s.answer = rows[i].answer;
		ask(&w, s.base, target, (int64_t)(i + 1) * PROBE_EVERY_NS);
		if (w.failed != rows[i].failed)
			fail_msg("row %zu: %d", i, w.failed);
	}
	assert_string_equal(s.question, "GET /api/healthz HTTP/1.0\r\nHost: localhost\r\n\r\n");
	/* Nobody listens any more. */
	evconnlistener_free(l);
	ask(&w, s.base, target, 100 * PROBE_EVERY_NS);
	assert_true(w.failed);
	probe_watch_release(&w);
	event_base_free(s.base);
}

static void it_asks_one_question_at_a_time_and_not_too_often(void **state)
{
	struct server s = { .base = event_base_new(), .answer = "HTTP" };
	struct probe_watch w = { 0 };
	char target[32];
	struct evconnlistener *l = listen_somewhere(&s, target);
	(void)state;

	probe_watch_ask(&w, s.base, target, NS_PER_SEC);
	const struct bufferevent *first = w.asking;
	/* Half a status is no answer yet. */
	while (!s.question[0])
		assert_int_equal(event_base_loop(s.base, EVLOOP_ONCE), 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(event_base_loop(s.base, EVLOOP_NONBLOCK), 0);
	assert_non_null(first);
	probe_watch_ask(&w, s.base, target, NS_PER_SEC + PROBE_EVERY_NS);
	assert_ptr_equal(w.asking, first);
	assert_int_equal(w.asked_ns, NS_PER_SEC);
	probe_watch_release(&w);
	assert_null(w.asking);
	probe_watch_ask(&w, s.base, target, PROBE_EVERY_NS);
	assert_null(w.asking);
	probe_watch_ask(&w, s.base, target, NS_PER_SEC + PROBE_EVERY_NS);
	assert_non_null(w.asking);
	probe_watch_release(&w);
	evconnlistener_free(l);
	/* The server's end of the connections. */
	for (int i = 0; i < 20; i++)
		event_base_loop(s.base, EVLOOP_NONBLOCK);
	event_base_free(s.base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_bad_answer_after_a_good_one_is_a_failure),
		cmocka_unit_test(it_asks_one_question_at_a_time_and_not_too_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
