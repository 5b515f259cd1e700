/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/verdict/crash_verdict.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sidecar/ray/ray_lines.h"
#include "sidecar/verdict/classify.h"

static const struct crash_info segfault = {
	.known = true,
	.unwound = true,
	.pid = 162,
	.tid = 163,
	.signal = 11,
	.threads = 9,
	.comm = "ray::IDLE",
	.function = "deref_null",
	.module = "/x/boom.so",
	.python = "crash.py:12 in f",
	.sentence = "SIGSEGV at address 0x0 in deref_null (boom.so), thread 163 (one of 9)",
};

static const struct observation lives = {
	.container = "ray-worker", .container_lives = true, .cgroup_version = 2, .last = MEMORY_ABSENT, .before = MEMORY_ABSENT,
	.after = MEMORY_ABSENT, .oom_age_ns = -1, .crash = &segfault,
};

static bool has_evidence(const struct verdict *v, const char *source, const char *text)
{
	for (unsigned int i = 0; i < v->n_evidence; i++)
		if (strcmp(v->evidence[i].source, source) == 0 && strstr(v->evidence[i].text, text))
			return true;
	return false;
}

static const char *needs(const struct verdict *v, const char *what)
{
	for (unsigned int i = 0; i < v->n_missing; i++)
		if (strcmp(v->missing[i].what, what) == 0)
			return v->missing[i].needs;
	return NULL;
}

static void a_process_that_dumps_while_its_container_lives_has_a_class_of_its_own(void **state)
{
	struct observation o = lives;
	struct verdict v;

	(void)state;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_SEGFAULT);
	assert_int_equal(v.confidence, CONFIDENCE_CERTAIN);
	assert_int_equal(v.exit_code, -1);
	assert_string_equal(
		v.sentence,
		"Process ray::IDLE (PID 162) in container ray-worker crashed with SIGSEGV in deref_null "
		"(boom.so); the container lives on.");
	assert_true(has_evidence(&v, "core", "SIGSEGV at address 0x0"));
	assert_true(has_evidence(&v, "Python", "crash.py:12 in f"));
	o.container_over = true;
	classify(&o, &v);
	assert_non_null(strstr(v.sentence, "shortly before its end"));
	o.core_is_old = true;
	classify(&o, &v);
	assert_non_null(strstr(v.sentence, "before this start of the container"));
}

/*
 * A copy of a core has the time of the copy, and another job may have left the core in the same
 * directory.
 */
static void a_core_whose_process_was_not_seen_proves_no_crash_of_the_container(void **state)
{
	static const struct {
		bool unproved, old, lives, certain;
		const char *says;
	} cases[] = {
		{ false, false, false, true, "; the container lives on." },
		{ true, false, false, false, "; perhaps it was not a process of this container." },
		/* the same PID of an earlier start */
		{ false, false, true, false, ", perhaps before this start of the container." },
		{ true, false, true, false, ", perhaps before this start of the container." },
		/* the report says that it is from before */
		{ false, true, true, true, ", before this start of the container." },
		{ true, true, false, false, ", before this start of the container." },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct observation o = lives;
		struct verdict v;

		o.core_is_unproved = cases[i].unproved;
		o.core_is_old = cases[i].old;
		o.core_pid_lives = cases[i].lives;
		classify(&o, &v);
		assert_int_equal(v.class, FAILURE_SEGFAULT);
		assert_int_equal(v.confidence == CONFIDENCE_CERTAIN, cases[i].certain);
		assert_non_null(strstr(v.sentence, cases[i].says));
		assert_int_equal(needs(&v, "whether the process was one of this container") != NULL,
				 !cases[i].certain);
	}
}

static void what_the_c_library_wrote_before_it_aborted_is_evidence(void **state)
{
	struct crash_info info = segfault;
	struct observation o = lives;
	struct verdict v;
	(void)state;

	o.crash = &info;
	classify(&o, &v);
	assert_false(has_evidence(&v, "core", "aborted with"));
	snprintf(info.message, sizeof(info.message), "free(): invalid pointer");
	classify(&o, &v);
	assert_true(
		has_evidence(&v, "core", "the C library aborted with: free(): invalid pointer"));
}

/* A process at a breakpoint has SIGTRAP. It may go on, or the debugger ends it. */
static void the_core_of_a_debugger_proves_no_crash(void **state)
{
	struct crash_info info = segfault;
	struct observation o = lives;
	struct verdict v;

	(void)state;
	info.by_debugger = true;
	info.signal = SIGTRAP;
	o.crash = &info;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_TRAP);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_non_null(
		strstr(v.sentence, "in container ray-worker most likely crashed with SIGTRAP"));
	assert_non_null(needs(&v, "whether that signal ended it"));
}

static void what_is_not_in_a_core_from_the_node_is_said_beside_it(void **state)
{
	struct crash_info partly = segfault;
	struct observation o = lives;
	struct verdict v;
	(void)state;

	o.crash = &partly;
	classify(&o, &v);
	assert_null(needs(&v, "the whole core"));
	partly.left_out = (int64_t)448 << 20;
	classify(&o, &v);
	assert_true(has_evidence(&v, "core", "448.0 MiB of the process's memory are not in it"));
	assert_non_null(strstr(needs(&v, "the whole core"), "core_pattern"));
}

static void a_dump_that_delayed_the_end_is_told_apart_from_the_crash(void **state)
{
	struct crash_info slow = segfault;
	struct observation o = lives;
	struct verdict v;

	(void)state;
	o.crash = &slow;
	slow.dump_ns = (int64_t)999 * 1000000;
	classify(&o, &v);
	assert_false(has_evidence(&v, "core", "the kernel wrote it for"));
	slow.dump_ns = (int64_t)11900 * 1000000;
	classify(&o, &v);
	assert_true(has_evidence(
		&v, "core",
		"the kernel wrote it for 11.9 s: the process crashed that long before it ended"));
}

static void with_rays_line_for_the_same_worker_it_is_one_failure(void **state)
{
	struct ray_finding finding = { .event = { .kind = RAY_WORKER_CRASH,
						  .pid = 162,
						  .task = "ray::boom",
						  .detail = "worker died" },
				       .file = "raylet.out",
				       .gone = true };
	struct observation o = lives;
	struct verdict v;

	(void)state;
	o.ray = &finding;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_WORKER_CRASH);
	assert_non_null(strstr(v.sentence,
			       "died of SIGSEGV in deref_null (boom.so); the container lives on."));
	assert_true(has_evidence(&v, "core", "deref_null"));
	assert_true(has_evidence(&v, "raylet.out", "worker died"));
	assert_null(needs(&v, "what ended the worker"));
}

static void the_containers_own_crash_names_its_frame(void **state)
{
	struct observation o = lives;
	struct verdict v;

	(void)state;
	o.container_lives = false;
	o.status_known = true;
	o.wait_status = 11 | 0x80;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_SEGFAULT);
	assert_string_equal(v.sentence,
			    "Container ray-worker crashed with SIGSEGV in deref_null (boom.so).");
	assert_null(needs(&v, "core file and backtrace"));
	/* The core is that of another process. Where the command crashed is unknown. */
	o.command_pid = 7;
	classify(&o, &v);
	assert_string_equal(v.sentence, "Container ray-worker crashed with SIGSEGV.");
	assert_true(has_evidence(&v, "core", "in deref_null"));
	assert_non_null(needs(&v, "core file of the command"));
	o.command_pid = segfault.pid;
	classify(&o, &v);
	assert_non_null(strstr(v.sentence, "in deref_null"));
	/* A process of the container crashed, and then the container ended. */
	o.wait_status = 1 << 8;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_APPLICATION_ERROR);
	assert_true(has_evidence(&v, "core", "deref_null"));
}

static void a_core_of_the_end_is_reported_once(void **state)
{
	struct crash_info quit = {
		.known = true, .unwound = true, .pid = 7, .signal = 3, .sentence = "SIGQUIT in main"
	};
	struct observation o = lives;
	struct verdict v;
	unsigned int n_lines = 0;

	(void)state;
	o.container_lives = false;
	o.status_known = true;
	o.crash = &quit;
	o.wait_status = 3 | 0x80;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_SIGNALED);
	for (unsigned int i = 0; i < v.n_evidence; i++)
		n_lines += strcmp(v.evidence[i].source, "core") == 0;
	assert_int_equal(n_lines, 1);
	/* The core of a process with another such signal is only additional evidence. */
	o.wait_status = 13;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_SIGNALED);
	assert_non_null(strstr(v.sentence, "SIGPIPE"));
	assert_true(has_evidence(&v, "core", "SIGQUIT in main"));
}

static void without_a_core_it_says_what_would_be_needed(void **state)
{
	struct observation o = lives;
	struct verdict v;

	(void)state;
	o.container_lives = false;
	o.status_known = true;
	o.wait_status = 11;
	o.crash = NULL;
	o.core_needs = "a node that writes cores to files";
	classify(&o, &v);
	assert_string_equal(needs(&v, "core file and backtrace"),
			    "a node that writes cores to files");
	o.core_needs = NULL;
	classify(&o, &v);
	assert_string_equal(needs(&v, "core file and backtrace"),
			    "a sidecar that runs when it crashes");
	/* A command that did not crash needs no core. */
	o.wait_status = 15;
	classify(&o, &v);
	assert_null(needs(&v, "core file and backtrace"));
}

static void a_signal_that_another_process_sent_blames_no_function(void **state)
{
	struct crash_info sent = { .known = true,
				   .unwound = true,
				   .pid = 5,
				   .signal = 11,
				   .comm = "k",
				   .sent = true,
				   .sender = 77,
				   .function = "pause" };
	struct observation o = lives;
	struct verdict v;

	(void)state;
	o.crash = &sent;
	classify(&o, &v);
	assert_string_equal(
		v.sentence,
		"Process k (PID 5) in container ray-worker was ended by SIGSEGV, which PID 77 sent; the container lives on.");
	sent.sender = 0;
	classify(&o, &v);
	assert_string_equal(
		v.sentence,
		"Process k (PID 5) in container ray-worker was ended by SIGSEGV, which a process outside of the container sent; "
		"the container lives on.");
}

/* The launcher read the wait status, and nobody has the core. */
static void a_crash_without_a_core_is_known_by_its_wait_status(void **state)
{
	struct crash_info bare = { .pid = 5, .signal = 11, .comm = "rank1" };
	struct observation o = lives;
	struct verdict v;

	(void)state;
	o.crash = &bare;
	o.core_needs = "a node that writes cores to files";
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_SEGFAULT);
	assert_int_equal(v.confidence, CONFIDENCE_CERTAIN);
	assert_string_equal(
		v.sentence,
		"Process rank1 (PID 5) in container ray-worker crashed with SIGSEGV; the container lives on.");
	assert_string_equal(needs(&v, "core file and backtrace"),
			    "a node that writes cores to files");
	o.container_lives = false;
	o.status_known = true;
	o.wait_status = 3 << 8;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_APPLICATION_ERROR);
	assert_non_null(
		strstr(v.sentence, "; before, rank1 (PID 5) in it had crashed with SIGSEGV."));
}

static void the_limit_of_processes_is_told_with_a_crash_that_may_come_from_it(void **state)
{
	struct crash_info aborted = {
		.known = true, .unwound = true, .pid = 5, .signal = 6, .comm = "pool"
	};
	struct observation o = lives;
	struct verdict v;

	(void)state;
	o.crash = &aborted;
	o.limits = (struct limits){ .processes = 80, .processes_max = 80, .processes_refused = 3 };
	o.limits_before.processes_refused = 2;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_ABORT);
	assert_non_null(strstr(v.sentence,
			       " Its container had met its limit of 80 processes and threads."));
	/* That refusal was told before. */
	o.limits_before.processes_refused = 3;
	classify(&o, &v);
	assert_null(strstr(v.sentence, "limit of 80"));
}

static void what_a_core_lacks_is_reported(void **state)
{
	struct crash_info bare = { .known = true, .pid = 5, .signal = 6, .cut = true };
	struct observation o = lives;
	struct verdict v;

	(void)state;
	o.crash = &bare;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_ABORT);
	assert_string_equal(
		v.sentence,
		"Process ? (PID 5) in container ray-worker crashed with SIGABRT; the container lives on.");
	assert_non_null(needs(&v, "backtrace"));
	assert_non_null(needs(&v, "the whole core"));
	/* It dumped core without a fault of its own. */
	bare.signal = 3;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_SIGNALED);
	assert_string_equal(
		v.sentence,
		"Process ? (PID 5) in container ray-worker was ended by SIGQUIT; the container lives on.");
	/* Any process could have written such a core, so it may contain any signal. */
	bare.signal = 0;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_UNKNOWN);
	assert_int_equal(v.confidence, CONFIDENCE_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_process_that_dumps_while_its_container_lives_has_a_class_of_its_own),
		cmocka_unit_test(
			a_core_whose_process_was_not_seen_proves_no_crash_of_the_container),
		cmocka_unit_test(what_the_c_library_wrote_before_it_aborted_is_evidence),
		cmocka_unit_test(the_core_of_a_debugger_proves_no_crash),
		cmocka_unit_test(what_is_not_in_a_core_from_the_node_is_said_beside_it),
		cmocka_unit_test(a_dump_that_delayed_the_end_is_told_apart_from_the_crash),
		cmocka_unit_test(with_rays_line_for_the_same_worker_it_is_one_failure),
		cmocka_unit_test(the_containers_own_crash_names_its_frame),
		cmocka_unit_test(a_core_of_the_end_is_reported_once),
		cmocka_unit_test(without_a_core_it_says_what_would_be_needed),
		cmocka_unit_test(a_signal_that_another_process_sent_blames_no_function),
		cmocka_unit_test(a_crash_without_a_core_is_known_by_its_wait_status),
		cmocka_unit_test(the_limit_of_processes_is_told_with_a_crash_that_may_come_from_it),
		cmocka_unit_test(what_a_core_lacks_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
