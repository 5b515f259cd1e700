/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says of a command has no words of Kubernetes. */
#include "sidecar/report/command_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <string.h>

#include "lib/macros.h"

static void sentences_speak_of_the_command(void **state)
{
	static const struct {
		const char *of_container, *of_command;
	} rows[] = {
		{ "Container train.py crashed with SIGSEGV in f (x.so).", "train.py crashed with SIGSEGV in f (x.so)." },
		{ "Process p (PID 7) in container train crashed; the container lives on.", "Process p (PID 7) under train crashed; the command goes on." },
		{ "The kernel killed a (PID 7) in container b: it reached its memory limit of 1.0 GiB; the container lives on.",
		  "The kernel killed a (PID 7) under b: it reached its memory limit of 1.0 GiB; the command goes on." },
		{ "raylet in container b ended; the container lives on without it.", "raylet under b ended; the command goes on without it." },
		{ "sysctl kernel.core_pattern=core on the node, or the node agent, changes that",
		  "sysctl kernel.core_pattern=core, as root, changes that" },
		/* A name is no word of ours, wherever it stands. */
		{ "Container Container was killed.", "Container was killed." },
		{ "x crashed in std::container_of (libcontainer.so).", "x crashed in std::container_of (libcontainer.so)." },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report r = { 0 };

		snprintf(r.verdict.sentence, sizeof(r.verdict.sentence), "%s",
			 rows[i].of_container);
		report_use_command_words(&r);
		assert_string_equal(r.verdict.sentence, rows[i].of_command);
	}
}

static void a_command_that_left_ray_behind_does_not_go_on(void **state)
{
	static const char *const lives[] = { "", " without it", " without raylet" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lives); i++) {
		struct report r = { .left_behind = true };

		snprintf(r.verdict.sentence, sizeof(r.verdict.sentence),
			 "raylet ended in container b; the container lives on%s.", lives[i]);
		report_use_command_words(&r);
		assert_string_equal(r.verdict.sentence,
				    "raylet ended under b; the command had ended before.");
	}
}

static void lists_and_advice_do_so_too(void **state)
{
	struct report r = { 0 };

	(void)state;
	verdict_add_evidence(&r.verdict, "kernel log", "no OOM kill in this container's cgroup");
	verdict_add_missing(&r.verdict, "which container's process the OOM killer took",
			    "the command's own log, and the pod's events");
	snprintf(r.advice, sizeof(r.advice),
		 "delete the pod: a new one starts with an empty /dev/shm");
	for (int again = 0; again < 2; again++) {
		report_use_command_words(&r);
		assert_string_equal(r.verdict.evidence[0].text,
				    "no OOM kill in this command's cgroup");
		assert_string_equal(r.verdict.missing[0].what, "which process the OOM killer took");
		assert_string_equal(r.verdict.missing[0].needs, "the command's own log");
		assert_string_equal(r.advice, "remove what nobody uses from /dev/shm");
	}
}

static void what_the_program_wrote_is_quoted_as_it_is(void **state)
{
	static const char line[] = "KeyError: no item in container b of the container";
	struct report r = { 0 };

	(void)state;
	verdict_add_evidence(&r.verdict, "driver's log", "%s", line);
	report_use_command_words(&r);
	assert_string_equal(r.verdict.evidence[0].text, line);
}

static void a_text_that_becomes_too_long_is_cut(void **state)
{
	struct report r = { 0 };
	const char *end = "the pod's events";

	(void)state;
	memset(r.verdict.sentence, 'x', sizeof(r.verdict.sentence) - 1);
	memcpy(r.verdict.sentence + sizeof(r.verdict.sentence) - 1 - strlen(end), end, strlen(end));
	report_use_command_words(&r);
	assert_int_equal(strlen(r.verdict.sentence), sizeof(r.verdict.sentence) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sentences_speak_of_the_command),
		cmocka_unit_test(a_command_that_left_ray_behind_does_not_go_on),
		cmocka_unit_test(lists_and_advice_do_so_too),
		cmocka_unit_test(what_the_program_wrote_is_quoted_as_it_is),
		cmocka_unit_test(a_text_that_becomes_too_long_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
