/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the messages that are kept for sidecars that do not listen yet. */
#include "node/backlog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/strbuf.h"
#include "lib/units.h"

#define POD "94eb36cd-29e1-478b-b365-4cb5dfc7d6fb"
#define OTHER "01234567-89ab-cdef-0123-456789abcdef"

struct sidecar {
	struct strbuf got;
	unsigned int takes; /* how many messages it takes before its buffer is full */
};

static bool send(const char *message, void *arg)
{
	struct sidecar *s = arg;

	if (s->takes == 0)
		return false;
	s->takes--;
	strbuf_addf(&s->got, "%s;", message);
	return true;
}

/* What the sidecar of the pod gets, in ret_text. */
static void flush(struct backlog *b, const char *pod_uid, unsigned int takes,
		  char ret_text[static 256])
{
	struct sidecar s = { .got = STRBUF_INIT(255), .takes = takes };

	backlog_send(b, pod_uid, send, &s);
	snprintf(ret_text, 256, "%s", strbuf_str(&s.got));
	strbuf_release(&s.got);
}

static void each_pod_gets_its_own_messages_in_their_order_and_once(void **state)
{
	struct backlog b = { 0 };
	char text[256];

	(void)state;
	backlog_add(&b, POD, "a", 1);
	backlog_add(&b, OTHER, "x", 2);
	backlog_add(&b, POD, "b", 3);
	flush(&b, POD, 9, text);
	assert_string_equal(text, "a;b;");
	flush(&b, POD, 9, text);
	assert_string_equal(text, "");
	flush(&b, OTHER, 9, text);
	assert_string_equal(text, "x;");
	assert_int_equal(b.bytes, 0);
	assert_null(b.first);
}

static void what_a_sidecar_cannot_take_now_is_kept(void **state)
{
	struct backlog b = { 0 };
	char text[256];

	(void)state;
	backlog_add(&b, POD, "a", 1);
	backlog_add(&b, POD, "b", 1);
	flush(&b, POD, 1, text);
	assert_string_equal(text, "a;");
	flush(&b, POD, 9, text);
	assert_string_equal(text, "b;");
	backlog_release(&b);
}

static void messages_are_forgotten_after_ten_minutes(void **state)
{
	struct backlog b = { 0 };
	char text[256];

	(void)state;
	backlog_add(&b, POD, "old", 1);
	backlog_add(&b, POD, "new", 2);
	backlog_expire(&b, 1 + BACKLOG_KEPT_NS);
	assert_non_null(b.first);
	backlog_expire(&b, 2 + BACKLOG_KEPT_NS);
	flush(&b, POD, 9, text);
	assert_string_equal(text, "new;");
	assert_int_equal(b.bytes, 0);
}

static void a_round_visits_each_pod_once(void **state)
{
	struct backlog b = { 0 };
	char pod[POD_UID_MAX + 1];

	(void)state;
	backlog_begin_round(&b);
	assert_false(backlog_next(&b, pod));
	backlog_add(&b, POD, "a", 1);
	backlog_add(&b, OTHER, "x", 1);
	backlog_add(&b, POD, "b", 1);
	for (int round = 0; round < 2; round++) {
		backlog_begin_round(&b);
		assert_true(backlog_next(&b, pod));
		assert_string_equal(pod, POD);
		assert_true(backlog_next(&b, pod));
		assert_string_equal(pod, OTHER);
		assert_false(backlog_next(&b, pod));
	}
	backlog_release(&b);
	assert_int_equal(b.bytes, 0);
}

/* Counts the messages of the pod. */
static size_t count(struct backlog *b, const char *pod_uid)
{
	struct sidecar s = { .got = STRBUF_INIT(0), .takes = UINT32_MAX };

	backlog_send(b, pod_uid, send, &s);
	strbuf_release(&s.got);
	return UINT32_MAX - s.takes;
}

static void a_pod_that_never_stops_has_room_for_its_newest_messages_only(void **state)
{
	struct backlog b = { 0 };
	char message[64], text[256];

	(void)state;
	backlog_add(&b, OTHER, "x", 1);
	for (int i = 0; i < 10000; i++) {
		snprintf(message, sizeof(message), "oom %04d", i);
		backlog_add(&b, POD, message, 2);
		assert_in_range(b.bytes, 1, BACKLOG_POD_MAX + 256);
	}
	flush(&b, OTHER, 9, text);
	assert_string_equal(text, "x;");
	assert_in_range(count(&b, POD), 100, 400);
	assert_int_equal(b.bytes, 0);
}

static void many_pods_have_bounded_room_in_all(void **state)
{
	struct backlog b = { 0 };
	char pod[POD_UID_MAX + 1], message[1001];

	(void)state;
	memset(message, 'm', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	for (int i = 0; i < 1000; i++) {
		snprintf(pod, sizeof(pod), "%08x-29e1-478b-b365-4cb5dfc7d6fb", i);
		backlog_add(&b, pod, message, 1);
		assert_in_range(b.bytes, 1, BACKLOG_MAX);
	}
	/* The newest is there, the oldest is not. */
	assert_int_equal(count(&b, pod), 1);
	assert_int_equal(count(&b, "00000000-29e1-478b-b365-4cb5dfc7d6fb"), 0);
	backlog_release(&b);
}

static void a_message_that_is_too_long_for_a_pod_is_left_out(void **state)
{
	static char message[BACKLOG_POD_MAX + 1];
	struct backlog b = { 0 };

	(void)state;
	memset(message, 'm', sizeof(message) - 1);
	backlog_add(&b, POD, "a", 1);
	backlog_add(&b, POD, message, 1);
	assert_int_equal(count(&b, POD), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_pod_gets_its_own_messages_in_their_order_and_once),
		cmocka_unit_test(what_a_sidecar_cannot_take_now_is_kept),
		cmocka_unit_test(messages_are_forgotten_after_ten_minutes),
		cmocka_unit_test(a_round_visits_each_pod_once),
		cmocka_unit_test(a_pod_that_never_stops_has_room_for_its_newest_messages_only),
		cmocka_unit_test(many_pods_have_bounded_room_in_all),
		cmocka_unit_test(a_message_that_is_too_long_for_a_pod_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
