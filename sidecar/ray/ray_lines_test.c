/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of parsing Ray's log lines. testdata/ has what Ray 2.60 wrote when tasks of ours leaked,
 * crashed and ran out of descriptors. The older texts were made from Ray's format strings.
 */
#include "sidecar/ray/ray_lines.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/strbuf.h"

#define TESTDATA "sidecar/ray/testdata/"

/* Cuts a file into records as the follower does, parses each, and keeps the events. */
static size_t events_of(const char *file, struct ray_event *events, size_t max)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	const char *record, *line, *end;
	size_t n = 0;

	assert_int_equal(file_read(AT_FDCWD, file, &text, NULL), 0);
	end = strbuf_str(&text) + text.len;
	for (record = line = strbuf_str(&text); line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const char *next = newline ? newline + 1 : end;

		if (next == end || ray_line_begins_record(next, (size_t)(end - next))) {
			assert_true(n < max);
			n += ray_record_parse(record, (size_t)(next - record), &events[n]);
			record = next;
		}
		line = next;
	}
	return n;
}

static struct ray_event parse(const char *record)
{
	struct ray_event e;

	ray_record_parse(record, strlen(record), &e);
	return e;
}

static void ray_2_60_events_of_a_raylet(void **state)
{
	struct ray_event e[16];
	(void)state;

	assert_int_equal(events_of(TESTDATA "event_RAYLET.log", e, 16), 9);
	assert_int_equal(e[0].kind, RAY_WORKER_CRASH);
	assert_int_equal(e[0].pid, 457);
	assert_string_equal(e[0].worker_id,
			    "3c64927114d7f946a8b8b18d33bfb26cc6bd6e124f2fab778b118227");
	assert_non_null(strstr(e[0].detail, "The leased worker has unrecoverable failure."));
	assert_int_equal(e[1].pid, 458);
	assert_string_equal(
		e[1].detail,
		"Worker unexpectedly exits with a connection error code 2. End of file.");
	assert_non_null(strstr(e[3].detail, "Worker exits with an exit code 4."));
	assert_int_equal(e[5].kind, RAY_FDS_EXHAUSTED);
	assert_int_equal(e[5].pid, 586);
	assert_string_equal(e[5].detail, "OSError: [Errno 24] Too many open files: '/dev/null'");
	assert_int_equal(e[8].kind, RAY_MEMORY_KILL);
	assert_int_equal(e[8].workers, 1);
	assert_int_equal(e[8].pid, 706);
	assert_string_equal(e[8].task, "ray::leak");
	assert_string_equal(e[8].held, "0.71GB");
	assert_string_equal(e[8].memory, "1.42GB used / 1.46GB limit (0.969198)");
	assert_non_null(strstr(e[8].detail, "exceeded threshold of 1494220800B"));
	assert_string_equal(e[8].worker_id,
			    "03307320e8d46da4a7c2c740b73b4a36417dfaea8f60abddfa564f60");
	assert_memory_equal(e[8].table,
			    "706\t0.71\tray::leak\n321\t0.07\tray::DashboardAgent\n43\t0.07\t", 50);
}

static void ray_2_60_raylet_out(void **state)
{
	struct ray_event e[8];
	(void)state;

	assert_int_equal(events_of(TESTDATA "raylet.out", e, 8), 2);
	assert_int_equal(e[0].kind, RAY_MEMORY_KILL);
	assert_int_equal(e[0].pid, 706);
	assert_string_equal(e[0].task, "ray::leak");
	assert_string_equal(e[0].memory, "1.42GB used / 1.46GB limit (0.969198)");
	assert_non_null(strstr(e[0].table, "\n705\t0.04\tray::IDLE\n"));
	assert_int_equal(e[1].kind, RAY_SUMMARY);
	assert_int_equal(e[1].killed, 1);
	assert_int_equal(e[1].crashed, 0);
}

static void the_gcs_tells_of_lost_nodes_and_not_of_workers(void **state)
{
	struct ray_event e[4];
	(void)state;

	assert_int_equal(events_of(TESTDATA "gcs_server.out", e, 4), 1);
	assert_int_equal(e[0].kind, RAY_NODE_LOST);
	assert_non_null(strstr(e[0].detail, "Health check failed for node 6f53fe6d"));
}

static void an_actor_is_called_what_rays_table_calls_it(void **state)
{
	struct ray_event e = parse(
		"1 worker(s) were killed due to the node running low on memory.\n"
		"Selected to kill: (Actor(d93c): job ID=02, task name=Keeper.__init__, required resources={}, "
		"pid=896, actual memory used=0.76GB, worker ID=673d)\n"
		"Top 10 memory users: PID\tMEM(GB)\tCOMMAND\n89\t0.9\tray::other\n896\t0.76\tray::Keeper.leak\n");
	(void)state;

	assert_string_equal(e.task, "ray::Keeper.leak");
	assert_int_equal(e.pid, 896);
}

#define OLD_KILL \
	"Task was killed due to the node running low on memory.%sMemory on the node (IP: 10.0.0.1, ID: e5d9) where the " \
	"task (task ID: 4353, name=allocate, pid=11362, memory used=1.25GB) was running was 27.71GB / 28.80GB " \
	"(0.962273), which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: 6f2e) because it " \
	"was the most recently scheduled task; to see more information about memory usage on this node, use `ray logs " \
	"raylet.out -ip 10.0.0.1`. Top 10 memory users:%sPID\tMEM(GB)\tCOMMAND%s11362\t1.25\tray::allocate%s7\t0.09\t" \
	"sh -c a; b%s8\t0.01\tx"

static void texts_of_older_versions(void **state)
{
	const char *const breaks[] = { "\n", ";", "; " };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
		const char *b = breaks[i];
		char text[2048];
		struct ray_event e;

		snprintf(text, sizeof(text), OLD_KILL, b, b, b, b, b);
		e = parse(text);
		assert_int_equal(e.kind, RAY_MEMORY_KILL);
		assert_int_equal(e.pid, 11362);
		assert_string_equal(e.task, "ray::allocate");
		assert_string_equal(e.held, "1.25GB");
		assert_string_equal(e.memory, "27.71GB / 28.80GB (0.962273)");
		assert_string_equal(e.detail, "exceeds the memory usage threshold of 0.95");
		assert_string_equal(e.worker_id, "6f2e");
		assert_string_equal(
			e.table, "11362\t1.25\tray::allocate\n7\t0.09\tsh -c a; b\n8\t0.01\tx\n");
	}
}

static void a_crash_that_was_a_memory_kill_is_one(void **state)
{
	struct ray_event e = parse(
		"A worker died or was killed while executing a task by an unexpected system error. RayTask ID: "
		"8ce7 Worker ID: 5c9a Node ID: 3a4b Worker PID: 69161 Worker exit type: SYSTEM_ERROR Worker exit "
		"detail: Task was killed due to the node running low on memory.\nMemory on the node (IP: 1.2.3.4, "
		"ID: 3a) where the task was running was 32.91GB / 33.28GB (0.988698), which exceeds the memory usage "
		"threshold of 0.97. Ray killed this worker (ID: 5c9a) because");
	(void)state;

	assert_int_equal(e.kind, RAY_MEMORY_KILL);
	assert_string_equal(e.memory, "32.91GB / 33.28GB (0.988698)");
}

static void a_worker_that_ends_before_it_is_ready_has_died(void **state)
{
	struct ray_event e = parse(
		"[2026-11-27 23:57:01,501 E 11915 11915] (raylet) worker_pool.cc:660: Some workers of the worker process(14299) have not "
		"registered within the timeout. The process is dead, probably it crashed during start.");

	(void)state;
	assert_int_equal(e.kind, RAY_WORKER_CRASH);
	assert_int_equal(e.pid, 14299);
	assert_int_equal(e.workers, 1);
	assert_non_null(strstr(e.detail, "probably it crashed during start"));
	/* This one lives, and may yet come. */
	e = parse(
		"[2026-11-27 23:57:01,501 E 11915 11915] (raylet) worker_pool.cc:664: Some workers of the worker process(14299) have not registered "
		"within the timeout. The process is still alive, probably it's hanging during start.");
	assert_int_equal(e.kind, RAY_NOTHING);
}

static void a_runtime_environment_that_cannot_be_made_has_its_last_line(void **state)
{
	struct ray_event e = parse(
		"[2026-11-28 03:57:01,501 I 15 15] (raylet) runtime_env_agent_client.cc:374: Failed to create runtime env for job 01000000, "
		"error message: Traceback (most recent call last):\n  File \"x.py\", line 366, in _create_runtime_env_with_retry\n"
		"ray._private.runtime_env.utils.SubprocessCalledProcessError: Run cmd[5] failed with the following details.\nLast 50 lines of stdout:\n"
		"    ERROR: Could not find a version that satisfies the requirement x\n    ERROR: No matching distribution found for x\n\n");
	(void)state;

	assert_int_equal(e.kind, RAY_NO_ENVIRONMENT);
	assert_string_equal(e.detail, "ERROR: No matching distribution found for x");
	e = parse(
		"[2026-11-28 03:57:01,501 I 15 15] (raylet) runtime_env_agent_client.cc:374: Failed to create runtime env for job 01000000, status = IOError: x");
	assert_int_equal(e.kind, RAY_NO_ENVIRONMENT);
	assert_string_equal(
		e.detail,
		"runtime_env_agent_client.cc:374: Failed to create runtime env for job 01000000, status = IOError: x");
}

static void file_descriptors_in_any_log(void **state)
{
	struct ray_event e = parse(
		"[2026-11-21 05:01:59,920 E 1 1] (raylet) io.cc:1: accept failed: Too many open files\n");
	(void)state;

	assert_int_equal(e.kind, RAY_FDS_EXHAUSTED);
	assert_string_equal(e.detail, "io.cc:1: accept failed: Too many open files");
	e = parse(
		"2026-11-21 05:01:59,920\tERROR agent.py:1 -- oh\nTraceback:\n  File\nOSError: [Errno 24] Too many open files: "
		"'/x'\nmore\n");
	assert_int_equal(e.kind, RAY_FDS_EXHAUSTED);
	assert_string_equal(e.detail, "OSError: [Errno 24] Too many open files: '/x'");
	e = parse(
		"[2026-11-21 05:56:55,000 C 21 21] (raylet) worker_pool.cc:760: Too many workers, failed to create a file. Try "
		"setting `ulimit -n <num_files>` then restart Ray.\n");
	assert_int_equal(e.kind, RAY_FDS_EXHAUSTED);
}

static void a_raylet_that_crashes_says_so(void **state)
{
	struct ray_event e = parse(
		"*** SIGABRT received at time=1795239418 on cpu 1 ***\nPC: @     0x7f9a6a0c5eec  (unknown)\n");
	(void)state;

	assert_int_equal(e.kind, RAY_DAEMON_CRASH);
	assert_string_equal(e.detail, "*** SIGABRT received at time=1795239418 on cpu 1 ***");
	e = parse(
		"[2026-11-21 05:36:58,602 E 299 299] (raylet) logging.cc:474: *** SIGSEGV received at time=1795239418 on cpu 1 ***\n");
	assert_int_equal(e.kind, RAY_DAEMON_CRASH);
	/* The exception that it died of says more. */
	e = parse(
		"[2026-11-21 05:36:58,602 E 299 299] (raylet) logging.cc:118: Unhandled exception: N5boost. what(): open: Too many "
		"open files [system:24 at x.hpp:133 in function 'open']\n/raylet(+0xff770a) [0x55b50461870a]\n\n"
		"*** SIGABRT received at time=1795239418 on cpu 1 ***\n");
	assert_int_equal(e.kind, RAY_FDS_EXHAUSTED);
	assert_int_equal(strncmp(e.detail, "logging.cc:118: Unhandled exception", 35), 0);
}

static void a_raylet_that_was_declared_dead_says_so(void **state)
{
	struct ray_event e = parse(
		"[2026-11-21 06:09:53,033 C 303 303] (raylet) node_manager.cc:519: GCS consider this node to be "
		"dead. This may happen when GCS is not backed by a DB and restarted.\n");
	(void)state;

	assert_int_equal(e.kind, RAY_GCS_LOST);
	e = parse(
		"[2026-11-21 06:09:43,843 W 8 8] (gcs_server) gcs_health_check_manager.cc:88: Node is dead because the health check "
		"failed. node_id=132b\n");
	assert_int_equal(e.kind, RAY_NODE_LOST);
}

static void a_raylet_that_gives_up_for_a_known_cause_says_that(void **state)
{
	struct ray_event e = parse(
		"[2026-11-22 08:56:28,512 C 344 344] (raylet) main.cc:500:  Check failed: ok() Failed to start "
		"CgroupManager due to Invalid: Failed to initialize resource isolation because x.\n");
	(void)state;

	assert_int_equal(e.kind, RAY_ISOLATION);
	e = parse(
		"[2026-11-22 08:56:28,512 C 344 344] (raylet) node_manager.cc:1033: [Timeout] Exiting because this node manager has "
		"mistakenly been marked as dead by the GCS: GCS failed to check the health of this node for 5 times. This is likely because the "
		"machine or raylet has become overloaded.\n");
	assert_int_equal(e.kind, RAY_GCS_LOST);
	assert_non_null(strstr(e.detail, "marked as dead by the GCS"));
	assert_non_null(strstr(e.detail, "overloaded"));
}

static void a_request_that_no_node_can_have_is_kept(void **state)
{
	struct ray_event e = parse(
		"2026-11-26 20:05:12,005\tINFO monitor.py:438 -- :event_summary:Error: No available node types can fulfill resource "
		"request {'CPU': 1.0, 'memory': 1363148800.0}. Add suitable node types to this cluster to resolve this issue.\n");
	(void)state;

	assert_int_equal(e.kind, RAY_INFEASIBLE);
	assert_string_equal(e.detail, "{'CPU': 1.0, 'memory': 1363148800.0}");
	e = parse(
		"2026-11-26 20:05:12,005\tINFO monitor.py:438 -- Error: No available node types can fulfill resource requests {'CPU': 8.0}*3. Add "
		"suitable node types to this cluster to resolve this issue.\n");
	assert_string_equal(e.detail, "{'CPU': 8.0}*3");
	/* As the second autoscaler writes it to events/event_AUTOSCALER.log. */
	e = parse(
		"{\"event_id\": \"0cCF8fBB\", \"source_type\": \"AUTOSCALER\", \"source_pid\": 46, \"severity\": \"WARNING\", "
		"\"message\": \"No available node types can fulfill placement group requests "
		"(detail=8147743dfcfb95efca8498c597cd02000000:STRICT_SPREAD|PENDING): {'CPU': 1.0}*2. Add suitable node types to "
		"this cluster to resolve this issue.\", \"timestamp\": \"1795823484\", \"label\": \"\", \"custom_fields\": {}}\n");
	assert_int_equal(e.kind, RAY_INFEASIBLE);
	assert_string_equal(e.detail, "{'CPU': 1.0}*2");
	assert_int_equal(
		parse("2026-11-26 20:05:12,005\tINFO x.py:1 -- No available node types can fulfill\n")
			.kind,
		RAY_NOTHING);
}

#define CHECK "[2026-11-22 08:56:28,512 C 344 344] (gcs_server) grpc_server.cc:130:  An unexpected system state has occurred. You have " \
	      "likely discovered a bug in Ray. Please report this issue at https://github.com/ray-project/ray/issues and we'll work with " \
	      "you to fix it. Check failed: "

static void the_cause_of_a_failed_check_is_kept(void **state)
{
	char record[2000], x[1500];
	struct ray_event e;
	(void)state;

	e = parse(CHECK "server_ Failed to start the grpc server. The specified port is 6379.\n");
	assert_string_equal(
		e.detail,
		"grpc_server.cc:130:  Check failed: server_ Failed to start the grpc server. The specified port is 6379.");
	/* Of a long line, the end is kept. */
	memset(x, 'x', sizeof(x));
	snprintf(record, sizeof(record), CHECK "%.1400s Status not OK: IOError: the cause\n", x);
	e = parse(record);
	assert_int_equal(strlen(e.detail), sizeof(e.detail) - 1);
	assert_non_null(strstr(e.detail, "Check failed: x"));
	assert_string_equal(e.detail + strlen(e.detail) - strlen("IOError: the cause"),
			    "IOError: the cause");
}

static void ordinary_records_say_nothing(void **state)
{
	static const char *const records[] = {
		"", "\n", "{", "[", "[2026-11-21 04:54:36,422 I 297 297] (raylet) store_runner.cc:50: Allowing the Plasma store",
		"{\"label\":\"x\"}", "[state-dump] 	WorkerPool.PopWorkerCallback - 4 total", "killed worker(s) pid=",
		"2026-11-21 04:54:37,400	INFO log_monitor.py:182 -- Starting log monitor with [max open files=200]",
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		assert_int_equal(parse(records[i]).kind, RAY_NOTHING);
}

static void hostile_records_stay_within_bounds(void **state)
{
	struct ray_event e;
	char text[RAY_RECORD_MAX + 100];
	(void)state;

	e = parse(
		"running low on memory Selected to kill: (task name=\033[31m\xff\xc2\x9bx\u202e, required pid=99999999999999, worker ID=\n"
		"MEM(GB)COMMAND\n1");
	assert_string_equal(e.task, "ray:: [31m???x???");
	assert_int_equal(e.pid, 0);
	assert_string_equal(e.table, "");
	e = parse("4294967297 worker(s) running low on memory");
	assert_int_equal(e.workers, 1);

	/* A table that does not end. */
	memset(text, '9', sizeof(text));
	memcpy(text, "running low on memory MEM(GB)\tCOMMAND\n", 38);
	for (size_t i = 40; i + 4 < sizeof(text); i += 5)
		memcpy(text + i, "\n1\t2x", 5);
	ray_record_parse(text, sizeof(text), &e);
	assert_true(strlen(e.table) < sizeof(e.table));

	/* Escapes that are cut at each position. */
	{
		static const char line[] =
			"{\"message\":\"running low on memory\\\\n\\t\\u001b\\u00e9\\\"pid=7";

		for (size_t len = 0; len < sizeof(line); len++)
			ray_record_parse(line, len, &e);
		assert_int_equal(e.kind, RAY_MEMORY_KILL);
	}
}

static void a_workers_own_log_names_its_task_and_signal(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 16);
	char task[32] = "before", logged_signal[16] = "";
	(void)state;

	assert_int_equal(file_read(AT_FDCWD, TESTDATA "worker-458.err", &text, NULL), 0);
	ray_worker_log_parse(strbuf_str(&text), text.len, task, sizeof(task), logged_signal,
			     sizeof(logged_signal));
	assert_string_equal(task, "ray::segv");
	assert_string_equal(logged_signal, "SIGSEGV");
	ray_worker_log_parse(":actor_name:Keeper\nx", 20, task, sizeof(task), logged_signal,
			     sizeof(logged_signal));
	assert_string_equal(task, "ray::Keeper");
	ray_worker_log_parse("say :task_name:forged by print", 30, task, sizeof(task),
			     logged_signal, sizeof(logged_signal));
	assert_string_equal(task, "ray::Keeper");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ray_2_60_events_of_a_raylet),
		cmocka_unit_test(ray_2_60_raylet_out),
		cmocka_unit_test(the_gcs_tells_of_lost_nodes_and_not_of_workers),
		cmocka_unit_test(an_actor_is_called_what_rays_table_calls_it),
		cmocka_unit_test(texts_of_older_versions),
		cmocka_unit_test(a_crash_that_was_a_memory_kill_is_one),
		cmocka_unit_test(a_worker_that_ends_before_it_is_ready_has_died),
		cmocka_unit_test(a_runtime_environment_that_cannot_be_made_has_its_last_line),
		cmocka_unit_test(file_descriptors_in_any_log),
		cmocka_unit_test(a_raylet_that_crashes_says_so),
		cmocka_unit_test(a_raylet_that_was_declared_dead_says_so),
		cmocka_unit_test(a_raylet_that_gives_up_for_a_known_cause_says_that),
		cmocka_unit_test(a_request_that_no_node_can_have_is_kept),
		cmocka_unit_test(the_cause_of_a_failed_check_is_kept),
		cmocka_unit_test(ordinary_records_say_nothing),
		cmocka_unit_test(hostile_records_stay_within_bounds),
		cmocka_unit_test(a_workers_own_log_names_its_task_and_signal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
