/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the node agent's messages about signals: valid ones, hostile ones, and more than are
 * kept.
 */
#include "sidecar/node/node_signals.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

#define ID "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static bool parse(const char *text, struct node_signal *s)
{
	char id[NODE_SIGNALS_ID_LEN + 1];

	return node_signal_parse(text, strlen(text), id, s) && strcmp(id, ID) == 0;
}

static void a_signal_has_target_sender_and_place(void **state)
{
	struct node_signal s;

	(void)state;
	assert_true(parse("signal " ID " 12 9 42005496650123 120 3 1000 " ID " python3 a", &s));
	assert_int_equal(s.target, 12);
	assert_int_equal(s.signal, SIGKILL);
	assert_int_equal(s.at_ns, 42005496650123);
	assert_int_equal(s.sender, 120);
	assert_int_equal(s.sender_own, 3);
	assert_int_equal(s.uid, 1000);
	assert_int_equal(s.place, NODE_SIGNAL_SAME);
	assert_string_equal(s.comm, "python3 a");
	assert_false(s.oom);
	assert_true(parse("signal " ID " 12 15 5 120 3 1000 " ID_B " x", &s));
	assert_int_equal(s.place, NODE_SIGNAL_POD);
	assert_true(parse("signal " ID " 12 15 5 120 0 -1 unknown ", &s));
	assert_int_equal(s.place, NODE_SIGNAL_UNKNOWN);
	assert_int_equal(s.uid, -1);
	assert_string_equal(s.comm, "");
	assert_true(parse("signal " ID " 0 15 5 812 0 0 node kubelet", &s));
	assert_int_equal(s.place, NODE_SIGNAL_NODE);
	assert_true(parse("oom " ID " 12 7", &s));
	assert_true(s.oom);
	assert_int_equal(s.target, 12);
}

static void a_name_cannot_disturb_a_terminal(void **state)
{
	struct node_signal s;

	(void)state;
	assert_true(parse("signal " ID " 12 9 5 120 3 1000 node a\x1b[31m\nb\xff", &s));
	assert_string_equal(s.comm, "a?[31m?b?");
	assert_true(parse("signal " ID
			  " 12 9 5 120 3 1000 node a name that is longer than sixteen bytes",
			  &s));
	assert_string_equal(s.comm, "a name that is ");
}

static void what_is_malformed_is_no_signal(void **state)
{
	static const char *const texts[] = {
		"", "signal", "signal ", "oom " ID, "oom " ID " 12", "oom " ID " 12 7 8", "oom " ID " -1 7", "oom " ID " 12 0", "oom abc 12 7",
		"signal " ID " 12 9 5 120 3 1000 node", "signal " ID " 12 0 5 120 3 1000 node x", "signal " ID " 12 65 5 120 3 1000 node x",
		"signal " ID " -12 9 5 120 3 1000 node x", "signal " ID " 12 9 -5 120 3 1000 node x",
		"signal " ID " 12 9 5 120 -3 1000 node x", "signal " ID " 12 9 5 120 3 1000 nowhere x",
		"signal " ID "a 12 9 5 120 3 1000 node x", "signal ../../etc 12 9 5 120 3 1000 node x",
		"signal " ID " 99999999999 9 5 120 3 1000 node x", "signal " ID " 12 9 99999999999999999999 120 3 1000 node x", "kill " ID " 12",
	};
	struct node_signal s;
	char long_text[5000], id[NODE_SIGNALS_ID_LEN + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (parse(texts[i], &s))
			fail_msg("taken: %s", texts[i]);
	memset(long_text, 'a', sizeof(long_text));
	memcpy(long_text, "signal ", 7);
	assert_false(node_signal_parse(long_text, sizeof(long_text), id, &s));
	assert_false(node_signal_parse("oom " ID "\0 12 7", 80, id, &s));
}

static void an_agent_watches_for_a_bounded_time(void **state)
{
	int64_t ns = 0;

	(void)state;
	assert_true(node_watching_parse("watching 30", 11, &ns));
	assert_int_equal(ns, 30000000000);
	assert_true(node_watching_parse("watching 999999", 15, &ns));
	assert_int_equal(ns, 3600000000000);
	assert_false(node_watching_parse("watching 0", 10, &ns));
	assert_false(node_watching_parse("watching 30x", 12, &ns));
	assert_false(node_watching_parse("watching", 8, &ns));
}

static void a_line_of_the_kernel_is_a_record(void **state)
{
	static const char text[] = "kernel 6 42005529462 Killed process 12 (a b) total-vm:1kB";
	static const char *const others[] = { "kernel",		"kernel 6",	 "kernel 6 5",
					      "kernel 12 5 x",	"kernel -1 5 x", "kernel 6 -5 x",
					      "kernel 6 5 a\nb" };
	struct kmsg_record r;

	(void)state;
	assert_true(node_kernel_line_parse(text, strlen(text), &r));
	assert_true(kmsg_from_kernel(r.priority));
	assert_int_equal(r.time_us, 42005529462);
	assert_int_equal(r.len, strlen("Killed process 12 (a b) total-vm:1kB"));
	assert_ptr_equal(r.text, strstr(text, "Killed"));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(node_kernel_line_parse(others[i], strlen(others[i]), &r));
}

static void of_the_nodes_syslog_the_last_lines_are_kept(void **state)
{
	_cleanup_strbuf_ struct strbuf lines = STRBUF_INIT(NODE_SYSLOG_MAX);
	char text[200];

	(void)state;
	node_syslog_add(&lines, "syslog", 6);
	node_syslog_add(&lines, "syslogx y", 9);
	node_syslog_add(&lines, "kernel 6 1 x", 12);
	assert_int_equal(lines.len, 0);
	node_syslog_add(&lines, "syslog a\x1b[m\nb", 13);
	assert_string_equal(strbuf_str(&lines), "a?[m?b\n");
	for (int i = 0; i < 2000; i++) {
		snprintf(text, sizeof(text), "syslog kubelet[1]: %d%100s", i, "x");
		node_syslog_add(&lines, text, strlen(text));
		assert_false(strbuf_failed(&lines));
	}
	assert_true(lines.len <= NODE_SYSLOG_MAX && lines.len > NODE_SYSLOG_MAX / 3);
	assert_int_equal(strncmp(strbuf_str(&lines), "kubelet", 7), 0);
	assert_non_null(strstr(strbuf_str(&lines), "kubelet[1]: 1999"));
}

static void signals_to_children_do_not_push_out_that_to_the_command(void **state)
{
	struct node_signals all = { 0 };
	struct node_signal s = { .target = 7, .at_ns = 1 }, list[NODE_SIGNALS_MAX];

	(void)state;
	assert_int_equal(node_signals_list(&all, list), 0);
	node_signals_add(&all, &s, true);
	for (int i = 0; i < 1000; i++) {
		s = (struct node_signal){ .target = 8, .at_ns = 2 + i };
		node_signals_add(&all, &s, false);
	}
	assert_int_equal(node_signals_list(&all, list), NODE_SIGNALS_OTHER_MAX + 1);
	assert_int_equal(list[0].target, 7);
	assert_int_equal(list[1].at_ns, 2 + 1000 - NODE_SIGNALS_OTHER_MAX);
	assert_int_equal(list[NODE_SIGNALS_OTHER_MAX].at_ns, 1001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_has_target_sender_and_place),
		cmocka_unit_test(a_name_cannot_disturb_a_terminal),
		cmocka_unit_test(what_is_malformed_is_no_signal),
		cmocka_unit_test(an_agent_watches_for_a_bounded_time),
		cmocka_unit_test(a_line_of_the_kernel_is_a_record),
		cmocka_unit_test(of_the_nodes_syslog_the_last_lines_are_kept),
		cmocka_unit_test(signals_to_children_do_not_push_out_that_to_the_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
