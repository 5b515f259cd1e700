/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/ray/ray_last_lines.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/macros.h"

static const char *lines(const char *text, size_t size)
{
	static char out[1024];

	out[0] = '\0';
	ray_last_lines_of("raylet.out", text, strlen(text), out, size);
	return out;
}

static void the_last_lines_come_in_their_order(void **state)
{
	(void)state;
	assert_string_equal(lines("a\nb\n", 1024), "raylet.out: a\nraylet.out: b\n");
	assert_string_equal(lines("1\n2\n3\n4\n5\n6", 1024),
			    "raylet.out: 3\nraylet.out: 4\nraylet.out: 5\nraylet.out: 6\n");
	assert_string_equal(lines("", 1024), "");
	assert_string_equal(lines("\n\n  \n", 1024), "");
}

static void dumps_of_the_state_and_blank_lines_are_left_out(void **state)
{
	(void)state;
	assert_string_equal(
		lines("last word\n\tRayletLoadPulled - 118 total\n[state-dump] x\n\n[state-dump] \n[state-dump] y\n",
		      1024),
		"raylet.out: last word\n");
}

static void frames_of_a_stack_do_not_hide_what_it_is_about(void **state)
{
	(void)state;
	assert_string_equal(
		lines("[2026-11-22 08:56:28,5 C 344 344] (raylet) x.cc:1: Check failed: y\n*** StackTrace Information ***\n"
		      "/x/raylet/raylet(+0x23ccf4) [0x55e62dbc4cf4] main\n/lib/libc.so.6(__libc_start_main+0x85) [0x7f] f\n",
		      1024),
		"raylet.out: [2026-11-22 08:56:28,5 C 344 344] (raylet) x.cc:1: Check failed: y\n"
		"raylet.out: *** StackTrace Information ***\n");
	assert_string_equal(
		lines("*** SIGTERM received at time=1795823443 on cpu 1 ***\nPC: @     0x7f2f85a0cf16  (unknown)  (unknown)\n"
		      "    @     0x7f2f859c3050  (unknown)  (unknown)\n    @     0x5e8d60  224  _PyEval_EvalFrameDefault\n"
		      "    @     0x5e8d61  (unknown)  (unknown)\n    @     0x5e8d62  (unknown)  (unknown)\n",
		      1024),
		"raylet.out: *** SIGTERM received at time=1795823443 on cpu 1 ***\n");
}

/* Python ends the children of a driver that fails with SIGTERM, and each writes so. */
static void signals_of_several_children_do_not_hide_what_came_before(void **state)
{
	(void)state;
	assert_string_equal(
		lines("KeyError: 3\n*** SIGTERM received at time=1 on cpu 1 ***\n*** SIGTERM received at time=1 on cpu 2 ***\n"
		      "*** SIGTERM received at time=1 on cpu 3 ***\n*** SIGTERM received at time=1 on cpu 4 ***\n"
		      "*** SIGABRT received at time=2 on cpu 1 ***\n",
		      1024),
		"raylet.out: KeyError: 3\nraylet.out: *** SIGTERM received at time=1 on cpu 1 ***\n"
		"raylet.out: *** SIGABRT received at time=2 on cpu 1 ***\n");
}

static void of_the_stacks_that_python_writes_the_top_of_the_thread_that_crashed_is_shown(void **state)
{
	(void)state;
	assert_string_equal(
		lines("[2026-11-27 23:54:51,232 E 8306 8306] logging.cc:118: Unhandled exception: what(): row 7 /x/_raylet.so(+0x18) [0x7f3a\n"
		      "/lib/libc.so.6(+0x2724a) [0x7f3a57bc924a]\n[2026-11-27 23:54:51,242 E 8306 8306] logging.cc:125: Stack trace: \n"
		      "*** SIGABRT received at time=1795823691 on cpu 1 ***\nPC: @     0x7f3a57c2ceec  (unknown)  (unknown)\n"
		      "[2026-11-27 23:54:51,243 E 8306 8306] logging.cc:474: *** SIGABRT received at time=1795823691 on cpu 1 ***\n"
		      "[2026-11-27 23:54:51,243 E 8306 8306] logging.cc:474: PC: @     0x7f3a57c2ceec  (unknown)  (unknown)\n"
		      "Fatal Python error: Aborted\n\nStack (most recent call first):\n  File \"/a.py\", line 7 in shard\n"
		      "  File \"/b.py\", line 323 in <module>\n\nExtension modules: yaml._yaml (total: 1)\n",
		      1024),
		"raylet.out: [2026-11-27 23:54:51,232 E 8306 8306] logging.cc:118: Unhandled exception: what(): row 7 /x/_raylet.so(+0x18) [0x7f3a\n"
		"raylet.out: *** SIGABRT received at time=1795823691 on cpu 1 ***\nraylet.out: Fatal Python error: Aborted\n"
		"raylet.out:   File \"/a.py\", line 7 in shard\n");
	assert_string_equal(
		lines("Fatal Python error: lost the state\nPython runtime state: initialized\n\nThread 0x00007fba6fcba6c0 (most recent call first):\n"
		      "  File \"/usr/lib/python3.11/threading.py\", line 320 in wait\n\nCurrent thread 0x00007fbac17122c0 (most recent call first):\n"
		      "  File \"/a.py\", line 9 in fatal\n  File \"/b.py\", line 323 in <module>\n",
		      1024),
		"raylet.out: Fatal Python error: lost the state\nraylet.out:   File \"/a.py\", line 9 in fatal\n");
	assert_string_equal(
		lines("  File \"/a.py\", line 9, in f\nKeyError: 3\n", 1024),
		"raylet.out:   File \"/a.py\", line 9, in f\nraylet.out: KeyError: 3\n");
}

static void fixed_texts_do_not_hide_what_came_before(void **state)
{
	(void)state;
	assert_string_equal(
		lines("OSError: gone\n:job_id:01000000\n:actor_name:A\n:task_name:f\n:task_name:f\n",
		      1024),
		"raylet.out: OSError: gone\n");
	assert_string_equal(
		lines("  what():  Resource temporarily unavailable\n[5 E 1 1] (raylet) agent_manager.cc:87: The raylet exited immediately\n"
		      "The raylet fate shares with the agent. This can happen because\n- The version of `grpcio` doesn't follow\n"
		      "- The agent failed to start because of unexpected error\n- The agent is killed by the OS (e.g., out of memory).\n",
		      1024),
		"raylet.out:   what():  Resource temporarily unavailable\n"
		"raylet.out: [5 E 1 1] (raylet) agent_manager.cc:87: The raylet exited immediately\n");
	assert_string_equal(lines("    f(x)\n    ^^^^\n    x = a / b\n        ~~^~~\n", 1024),
			    "raylet.out:     f(x)\nraylet.out:     x = a / b\n");
	assert_string_equal(
		lines("*** SIGSEGV received at time=1 on cpu 0 ***\n[5 E 1 1] (gcs_server) logging.cc:474: *** SIGSEGV received at time=1\n",
		      1024),
		"raylet.out: *** SIGSEGV received at time=1 on cpu 0 ***\n");
}

static void what_a_tenant_writes_is_printable_and_bounded(void **state)
{
	char text[5000], out[1024] = "";

	(void)state;
	assert_string_equal(lines("a\033[31m\tb\n", 1024), "raylet.out: a?[31m b\n");
	memset(text, 'x', sizeof(text));
	ray_last_lines_of("raylet.out", text, sizeof(text), out, sizeof(out));
	assert_in_range(strlen(out), 100, RAY_LAST_LINE_MAX + 16);
	assert_string_equal(lines("a\nb\n", 16), "raylet.out: a\n");
	out[0] = '\0';
	ray_last_lines_of("raylet.out", "\0\0\n\xff\xfe\n", 6, out, sizeof(out));
	for (const char *p = out; *p; p++)
		assert_true((unsigned char)*p >= 0x20 || *p == '\n');
}

static void the_name_of_a_file_is_printable_and_bounded(void **state)
{
	char name[256], out[1024] = "";

	(void)state;
	ray_last_lines_of("job-driver-a\n\x1b]0;b\xff.log", "x\n", 2, out, sizeof(out));
	assert_string_equal(out, "job-driver-a??]0;b?.log: x\n");
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	out[0] = '\0';
	ray_last_lines_of(name, "x\n", 2, out, sizeof(out));
	assert_in_range(strlen(out), 10, 110);
}

static void the_end_of_a_long_line_is_kept(void **state)
{
	char text[1000];

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text + sizeof(text) - sizeof("because the machine has become overloaded"),
	       "because the machine has become overloaded",
	       sizeof("because the machine has become overloaded"));
	assert_non_null(strstr(lines(text, 1024), " ... xxx"));
	assert_non_null(strstr(lines(text, 1024), "because the machine has become overloaded\n"));
}

static void the_exception_that_ended_a_driver_is_found(void **state)
{
	static const struct {
		const char *lines, *exception;
	} rows[] = {
		{ "job-driver-x.log: Traceback (most recent call last):\njob-driver-x.log:   File \"a.py\", line 1, in <module>\n"
		  "job-driver-x.log:     f()\njob-driver-x.log: ValueError: no such shard: 7\n", "ValueError: no such shard: 7" },
		{ "d.log: torch.OutOfMemoryError: CUDA out of memory\nd.log: KeyboardInterrupt\n", "KeyboardInterrupt" },
		{ "d.log: ray.exceptions.RayTaskError(ValueError): ray::f() (pid=1)\nd.log:   File \"a.py\"\n", "ray.exceptions.RayTaskError(ValueError): ray::f() (pid=1)" },
		{ "d.log: an Error: of somebody\nd.log: Errors: 3\n", NULL },
		{ "d.log: done\n", NULL },
		{ "d.log: \n", NULL },
		{ "no colon\n", NULL },
		{ "", NULL },
	};
	char line[RAY_LAST_LINE_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(ray_last_exception(rows[i].lines, line),
				 rows[i].exception != NULL);
		if (rows[i].exception)
			assert_string_equal(line, rows[i].exception);
	}
}

static void a_worker_is_heard_by_its_standard_error(void **state)
{
	char path[] = "/tmp/ray_last_lines_test.XXXXXX", out[1024] = "";
	struct ray_error error = { 0 };
	int dir;

	(void)state;
	assert_non_null(mkdtemp(path));
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	assert_int_equal(file_put(dir, "worker-0e5f-01000000-458.err",
				  "Traceback\nImportError: libfoo.so.3\n", 35, 0644, NULL),
			 0);
	assert_int_equal(file_put(dir, "worker-0e5f-01000000-458.out", "hello\n", 6, 0644, NULL),
			 0);
	assert_int_equal(file_put(dir, "worker-0e5f-01000000-459.err", "another\n", 8, 0644, NULL),
			 0);
	ray_last_lines(dir, &(struct ray_process_life){ .pid = 458 }, out, sizeof(out), &error);
	assert_string_equal(
		out, "worker-458.err: Traceback\nworker-458.err: ImportError: libfoo.so.3\n");
	/* One that died before it had a file of its own wrote into raylet's, Ray 2.60. */
	out[0] = '\0';
	assert_int_equal(file_put(dir, "raylet.err",
				  "bash: line 1: /opt/python3.13: No such file or directory\n", 57,
				  0644, NULL),
			 0);
	ray_last_lines(dir, &(struct ray_process_life){ .pid = 460 }, out, sizeof(out), &error);
	assert_string_equal(
		out, "raylet.err: bash: line 1: /opt/python3.13: No such file or directory\n");
	/* So does one of its agents. */
	out[0] = '\0';
	ray_last_lines(dir, &(struct ray_process_life){ .kind = RAY_PROCESS_RUNTIME_ENV_AGENT },
		       out, sizeof(out), &error);
	assert_string_equal(
		out, "raylet.err: bash: line 1: /opt/python3.13: No such file or directory\n");
	/* What it holds for minutes is about others. */
	out[0] = '\0';
	assert_int_equal(utimensat(dir, "raylet.err", (struct timespec[2]){ { 0 }, { 0 } }, 0), 0);
	ray_last_lines(dir, &(struct ray_process_life){ .pid = 460 }, out, sizeof(out), &error);
	ray_last_lines(dir, &(struct ray_process_life){ .kind = RAY_PROCESS_RUNTIME_ENV_AGENT },
		       out, sizeof(out), &error);
	assert_string_equal(out, "");
	close(dir);
	assert_true(tree_remove(AT_FDCWD, path));
}

static void of_several_raylets_each_has_its_own_log(void **state)
{
	static const char *const logs[] = {
		"[2026-11-28 07:53:10,298 I 96 96] (raylet) a.cc:1: first\n",
		"[2026-11-28 07:53:10,298 I 195 207] (raylet) a.cc:1: second\n[state-dump] x\n",
	};
	static const struct {
		pid_t pid;
		const char *says;
	} of[] = {
		{ 96, "raylet.out: [2026-11-28 07:53:10,298 I 96 96] (raylet) a.cc:1: first\n" },
		{ 195,
		  "raylet.1.out: [2026-11-28 07:53:10,298 I 195 207] (raylet) a.cc:1: second\n" },
		{ 297, "" },
		{ 0, "raylet.out: [2026-11-28 07:53:10,298 I 96 96] (raylet) a.cc:1: first\n" },
	};
	char path[] = "/tmp/ray_last_lines_test.XXXXXX";
	struct ray_error error = { 0 };
	int dir;

	(void)state;
	assert_non_null(mkdtemp(path));
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	assert_int_equal(file_put(dir, "raylet.out", logs[0], strlen(logs[0]), 0644, NULL), 0);
	assert_int_equal(file_put(dir, "raylet.1.out", logs[1], strlen(logs[1]), 0644, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
		struct ray_process_life life = { .kind = RAY_PROCESS_RAYLET, .pid = of[i].pid };
		char out[1024] = "";

		ray_last_lines(dir, &life, out, sizeof(out), &error);
		assert_string_equal(out, of[i].says);
	}
	close(dir);
	assert_true(tree_remove(AT_FDCWD, path));
}

/* As Ray 2.60 writes it; the names that follow are left out. */
static void what_the_supervisor_wrote_of_a_stop_comes_before_the_drivers_lines(void **state)
{
	static const char supervisor[] =
		"2026-11-28 07:41:39,101\tINFO job_supervisor.py:375 -- Submitting job with RAY_ADDRESS = 127.0.0.1:6379 job_id=01000000\n"
		"2026-11-28 07:41:48,443\tWARNING job_supervisor.py:422 -- Attempt to gracefully terminate job j1 through SIGTERM has timed "
		"out after 3 seconds. Job is now being force-killed with SIGKILL. job_id=01000000 worker_id=aea506 node_id=d1e01e\n";
	char path[] = "/tmp/ray_last_lines_test.XXXXXX", out[2048] = "";
	struct ray_process_life life = { .kind = RAY_PROCESS_DRIVER,
					 .from_unix_ns = 1,
					 .until_unix_ns = INT64_MAX / 2 };
	struct ray_error error = { 0 };
	int dir;

	(void)state;
	assert_non_null(mkdtemp(path));
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	assert_int_equal(mkdirat(dir, "jobs", 0755), 0);
	assert_int_equal(file_put(dir, "jobs/supervisor-j1.log", supervisor, sizeof(supervisor) - 1,
				  0644, NULL),
			 0);
	assert_int_equal(file_put(dir, "jobs/supervisor-j2.log", supervisor, sizeof(supervisor) - 1,
				  0644, NULL),
			 0);
	assert_int_equal(file_put(dir, "job-driver-j1.log", "locked\n", 7, 0644, NULL), 0);
	ray_last_lines(dir, &life, out, sizeof(out), &error);
	assert_string_equal(
		out,
		"jobs/supervisor-j1.log: 2026-11-28 07:41:48,443 WARNING job_supervisor.py:422 -- Attempt to gracefully terminate "
		"job j1 through SIGTERM has timed out after 3 seconds. Job is now being force-killed with SIGKILL.\n"
		"job-driver-j1.log: locked\n");
	close(dir);
	assert_true(tree_remove(AT_FDCWD, path));
}

static void a_process_without_logs_says_nothing(void **state)
{
	char out[1024] = "";
	struct ray_error error = { 0 };
	int dir = open("sidecar/ray/testdata/process", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(dir >= 0);
	/* There are no files with such names, so there are no lines. */
	ray_last_lines(dir, &(struct ray_process_life){ .kind = RAY_PROCESS_DASHBOARD }, out,
		       sizeof(out), &error);
	assert_string_equal(out, "");
	ray_last_lines(-1, &(struct ray_process_life){ .kind = RAY_PROCESS_RAYLET }, out,
		       sizeof(out), &error);
	assert_string_equal(out, "");
	close(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_lines_come_in_their_order),
		cmocka_unit_test(dumps_of_the_state_and_blank_lines_are_left_out),
		cmocka_unit_test(frames_of_a_stack_do_not_hide_what_it_is_about),
		cmocka_unit_test(signals_of_several_children_do_not_hide_what_came_before),
		cmocka_unit_test(
			of_the_stacks_that_python_writes_the_top_of_the_thread_that_crashed_is_shown),
		cmocka_unit_test(fixed_texts_do_not_hide_what_came_before),
		cmocka_unit_test(what_a_tenant_writes_is_printable_and_bounded),
		cmocka_unit_test(the_name_of_a_file_is_printable_and_bounded),
		cmocka_unit_test(the_end_of_a_long_line_is_kept),
		cmocka_unit_test(the_exception_that_ended_a_driver_is_found),
		cmocka_unit_test(a_worker_is_heard_by_its_standard_error),
		cmocka_unit_test(of_several_raylets_each_has_its_own_log),
		cmocka_unit_test(
			what_the_supervisor_wrote_of_a_stop_comes_before_the_drivers_lines),
		cmocka_unit_test(a_process_without_logs_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
