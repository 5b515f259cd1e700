/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of renderings that answers share. Draining a body is what sending it does. */
#include "lib/loop/shared_text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/units.h"

#define TEXT_MAX 64

static unsigned int n_renderings;

static void render(void *arg, struct strbuf *out)
{
	(void)arg;
	strbuf_addf(out, "rendering %u\n", ++n_renderings);
}

static void render_too_much(void *arg, struct strbuf *out)
{
	(void)arg;
	for (int i = 0; i <= TEXT_MAX; i++)
		strbuf_addc(out, 'x');
}

static void render_nothing(void *arg, struct strbuf *out)
{
	(void)arg;
	(void)out;
}

/* An answer to a client that does not read it. */
struct unread {
	struct evbuffer *body;
	int pair[2]; /* the server's end and the client's */
};

static struct unread ask(struct shared_text *text, int64_t now_ns)
{
	struct unread u = { .body = evbuffer_new() };

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, u.pair), 0);
	assert_int_equal(shared_text_add(text, u.pair[0], now_ns, u.body), 0);
	return u;
}

static bool is_ended(const struct unread *u)
{
	char c;

	return recv(u->pair[1], &c, 1, MSG_DONTWAIT) == 0;
}

static void end(struct unread *u)
{
	evbuffer_free(u->body);
	close(u->pair[0]);
	close(u->pair[1]);
}

static void expect_rendering(const struct unread *u, unsigned int n)
{
	char expected[32], got[32] = "";

	snprintf(expected, sizeof(expected), "rendering %u\n", n);
	evbuffer_copyout(u->body, got, sizeof(got) - 1);
	assert_string_equal(got, expected);
}

static struct shared_text *begin(void)
{
	n_renderings = 0;
	return shared_text_new(TEXT_MAX, render, NULL);
}

static void once_it_is_read_the_next_request_gets_a_new_rendering(void **state)
{
	struct shared_text *text = begin();
	(void)state;

	for (unsigned int i = 1; i <= 20; i++) {
		struct unread u = ask(text, 0);

		expect_rendering(&u, i);
		end(&u);
	}
	shared_text_free(text);
}

static void those_who_ask_within_a_second_share_a_rendering(void **state)
{
	struct shared_text *text = begin();
	struct unread first = ask(text, 0), second = ask(text, NS_PER_SEC - 1),
		      third = ask(text, NS_PER_SEC);
	(void)state;

	expect_rendering(&first, 1);
	end(&first); /* the second still has it */
	expect_rendering(&second, 1);
	expect_rendering(&third, 2);
	end(&third);
	end(&second);
	shared_text_free(text);
}

static void unread_renderings_are_few_and_readers_have_their_time(void **state)
{
	struct shared_text *text = begin();
	struct unread u[SHARED_TEXT_MAX], late, last;
	(void)state;

	for (int i = 0; i < SHARED_TEXT_MAX; i++)
		u[i] = ask(text, i * NS_PER_SEC);
	late = ask(text, SHARED_TEXT_READ_NS - 1);
	expect_rendering(&late, SHARED_TEXT_MAX);
	assert_false(is_ended(&u[0]));
	last = ask(text, SHARED_TEXT_READ_NS);
	expect_rendering(&last, SHARED_TEXT_MAX + 1);
	assert_true(is_ended(&u[0]));
	for (int i = 1; i < SHARED_TEXT_MAX; i++)
		assert_false(is_ended(&u[i]));
	for (int i = 0; i < SHARED_TEXT_MAX; i++)
		end(&u[i]);
	end(&late);
	end(&last);
	shared_text_free(text);
}

static void a_descriptor_that_is_another_connection_by_now_is_left_alone(void **state)
{
	struct shared_text *text = begin();
	struct unread u[SHARED_TEXT_MAX], next;
	int other[2];
	char c;
	(void)state;

	for (int i = 0; i < SHARED_TEXT_MAX; i++)
		u[i] = ask(text, i * NS_PER_SEC);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, other), 0);
	assert_int_equal(dup2(other[0], u[0].pair[0]), u[0].pair[0]);
	next = ask(text, SHARED_TEXT_READ_NS);
	assert_int_equal(recv(other[1], &c, 1, MSG_DONTWAIT), -1);
	for (int i = 0; i < SHARED_TEXT_MAX; i++)
		end(&u[i]);
	end(&next);
	close(other[0]);
	close(other[1]);
	shared_text_free(text);
}

static void an_answer_may_outlive_the_server(void **state)
{
	struct shared_text *text = begin();
	struct unread first = ask(text, 0), second = ask(text, 0), third = ask(text, NS_PER_SEC);
	(void)state;

	end(&second);
	shared_text_free(text);
	expect_rendering(&third, 2);
	end(&third);
	expect_rendering(&first, 1);
	end(&first);
}

static void without_a_text_there_is_an_error_and_an_empty_body(void **state)
{
	static const shared_text_fn wrong[] = { render_too_much, render_nothing };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct shared_text *text = shared_text_new(TEXT_MAX, wrong[i], NULL);
		struct evbuffer *body = evbuffer_new();

		assert_int_equal(shared_text_add(text, -1, 0, body), -ENOMEM);
		assert_int_equal(evbuffer_get_length(body), 0);
		evbuffer_free(body);
		shared_text_free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(once_it_is_read_the_next_request_gets_a_new_rendering),
		cmocka_unit_test(those_who_ask_within_a_second_share_a_rendering),
		cmocka_unit_test(unread_renderings_are_few_and_readers_have_their_time),
		cmocka_unit_test(a_descriptor_that_is_another_connection_by_now_is_left_alone),
		cmocka_unit_test(an_answer_may_outlive_the_server),
		cmocka_unit_test(without_a_text_there_is_an_error_and_an_empty_body),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
