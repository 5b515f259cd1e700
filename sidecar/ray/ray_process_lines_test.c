/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of parsing what Ray logs about its own processes. testdata/process/ has the last lines of
 * Ray 2.60's logs when its processes were killed; older texts were made from Ray's sources.
 */
#include "sidecar/ray/ray_process_lines.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/macros.h"
#include "lib/strbuf.h"
#include "sidecar/ray/ray_lines.h"

#define TESTDATA "sidecar/ray/testdata/process/"

/* Parses a log about Ray's own processes, record by record as the follower cuts it. */
static void read_words(const char *file, struct ray_process_words *w)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	const char *record, *line, *end;

	assert_int_equal(file_read(AT_FDCWD, file, &text, NULL), 0);
	end = strbuf_str(&text) + text.len;
	for (record = line = strbuf_str(&text); line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line)),
			   *next = newline ? newline + 1 : end;
		struct ray_event e;

		if (next == end || ray_line_begins_record(next, (size_t)(end - next))) {
			if (ray_record_parse(record, (size_t)(next - record), &e))
				ray_process_words_note(w, &e, file, 7);
			record = next;
		}
		line = next;
	}
}

static struct ray_event parse(const char *record)
{
	struct ray_event e;

	ray_record_parse(record, strlen(record), &e);
	return e;
}

static void raylet_names_the_agent_that_it_ends_with(void **state)
{
	struct ray_process_words w = { 0 };

	(void)state;
	read_words(TESTDATA "raylet-agent-killed.out", &w);
	assert_int_equal(w.agent_failed.at_ns, 7);
	assert_int_equal(w.agent_failed.process, RAY_PROCESS_DASHBOARD_AGENT);
	assert_int_equal(strncmp(w.agent_failed.line,
				 "agent_manager.cc:87: The raylet exited immediately", 50),
			 0);
	assert_int_equal(w.stopped.at_ns, 0);
	assert_int_equal(w.gcs_lost.at_ns, 0);
}

static void a_raylet_that_was_stopped_says_that_it_got_sigterm(void **state)
{
	struct ray_process_words w = { 0 };

	(void)state;
	read_words(TESTDATA "raylet-sigterm.out", &w);
	assert_int_equal(w.stopped.process, RAY_PROCESS_RAYLET);
	assert_int_equal(w.stopped.pid, 341);
	assert_non_null(strstr(w.stopped.line, "received SIGTERM"));
	assert_int_equal(w.agent_failed.at_ns, 0);
	/* `ray stop` asks the GCS server later, so raylet's message counts. */
	read_words(TESTDATA "gcs_server-sigterm.out", &w);
	assert_int_equal(w.stopped.process, RAY_PROCESS_RAYLET);
	w = (struct ray_process_words){ 0 };
	read_words(TESTDATA "gcs_server-sigterm.out", &w);
	assert_int_equal(w.stopped.process, RAY_PROCESS_GCS_SERVER);
}

static void a_raylet_without_a_gcs_says_so_before_it_leaves(void **state)
{
	static const char *const files[] = { TESTDATA "raylet-gcs-lost.out",
					     TESTDATA "raylet-gcs-lost.err" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct ray_process_words w = { 0 };

		read_words(files[i], &w);
		assert_int_equal(w.gcs_lost.at_ns, 7);
		assert_non_null(
			strstr(w.gcs_lost.line, "Failed to connect to GCS within 60 seconds."));
		assert_int_equal(w.agent_failed.at_ns, 0);
	}
}

static void ray_start_lists_which_child_ended_and_how(void **state)
{
	struct ray_process_words w = { 0 };

	(void)state;
	read_words(TESTDATA "ray_process_exit.log", &w);
	assert_int_equal(w.exited.process, RAY_PROCESS_RAYLET); /* the last of two records */
	assert_int_equal(w.exited.returncode, -9);
	assert_int_equal(w.exited.pid, 0);
	assert_string_equal(w.exited.line, "  raylet [exit code=-9 (signal 9)]");
}

static void of_several_children_the_gcs_server_counts(void **state)
{
	static const char head[] =
		"2026-11-22 07:56:55,697\tERROR scripts.py:100 -- Some Ray subprocesses exited unexpectedly:\n";
	static const struct {
		const char *lines;
		enum ray_kind kind;
		enum ray_process_kind process;
		int returncode;
	} rows[] = {
		{ "  dashboard [exit code=1]\n", RAY_PROCESS_EXITED, RAY_PROCESS_DASHBOARD, 1 },
		{ "  raylet [exit code=-6 (signal 6)]\n  gcs_server [exit code=-9 (signal 9)]\n", RAY_PROCESS_EXITED,
		  RAY_PROCESS_GCS_SERVER, -9 },
		{ "  gcs_server [exit code=-9 (signal 9)]\n  monitor [exit code=1]\n", RAY_PROCESS_EXITED, RAY_PROCESS_GCS_SERVER, -9 },
		{ "  redis_server [exit code=1]\n", RAY_PROCESS_EXITED, RAY_PROCESS_NONE, 1 },
		{ "  raylet [exit code=99999999999]\n", RAY_NOTHING, RAY_PROCESS_NONE, 0 },
		{ "  raylet [exit code=-9999]\n", RAY_NOTHING, RAY_PROCESS_NONE, 0 },
		{ "   [exit code=1]\n", RAY_NOTHING, RAY_PROCESS_NONE, 0 },
		{ "  raylet [exit code=", RAY_PROCESS_EXITED, RAY_PROCESS_RAYLET, 0 },
		{ "  raylet", RAY_NOTHING, RAY_PROCESS_NONE, 0 },
		{ "", RAY_NOTHING, RAY_PROCESS_NONE, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char record[512];
		struct ray_event e;

		snprintf(record, sizeof(record), "%s%s", head, rows[i].lines);
		e = parse(record);
		assert_int_equal(e.kind, rows[i].kind);
		assert_int_equal(e.process, rows[i].process);
		assert_int_equal(e.returncode, rows[i].returncode);
	}
}

static void the_head_of_a_record_names_the_process_that_wrote_it(void **state)
{
	static const struct {
		const char *head;
		pid_t writer;
	} rows[] = {
		{ "[2026-11-22 08:05:59,822 I 341 351] (raylet) ", 341 },
		{ "[2026-11-22 08:05:59,822 I  341 351] (raylet) ", 0 },
		{ "[2026-11-22 08:05:59,822 I 99999999999 1] (raylet) ", 0 },
		{ "[x] (raylet) I 341 ", 0 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char record[256];
		struct ray_event e;

		snprintf(record, sizeof(record),
			 "%smain.cc:1: Raylet received SIGTERM, shutting down...\n", rows[i].head);
		e = parse(record);
		assert_int_equal(e.kind, RAY_STOPPED);
		assert_int_equal(e.writer, rows[i].writer);
	}
}

static void older_and_newer_releases_say_it_in_these_words(void **state)
{
	static const struct {
		const char *record;
		enum ray_kind kind;
		enum ray_process_kind process;
	} rows[] = {
		{ "[2022-10-28 10:07:32,236 E 81604 81646] (raylet) agent_manager.cc:134: The raylet exited immediately because the Ray "
		  "agent failed. The raylet fate shares with the agent.\n",
		  RAY_AGENT_FAILED, RAY_PROCESS_DASHBOARD_AGENT },
		{ "[2023-11-22 13:47:00,634 E 24 59] (raylet) agent_manager.cc:70: The raylet exited immediately because one Ray agent "
		  "failed, agent_name = dashboard_agent/1015601482.\n",
		  RAY_AGENT_FAILED, RAY_PROCESS_DASHBOARD_AGENT },
		{ "[2026-11-22 07:59:31,443 E 3 3] (raylet) agent_manager.cc:87: The raylet exited immediately because one Ray agent "
		  "failed, agent_name = runtime_env_agent.\n",
		  RAY_AGENT_FAILED, RAY_PROCESS_RUNTIME_ENV_AGENT },
		{ "[2026-11-22 07:59:31,443 E 3 3] (raylet) agent_manager.cc:87: The raylet exited immediately because one Ray agent "
		  "failed, agent_name = ",
		  RAY_AGENT_FAILED, RAY_PROCESS_NONE },
		{ "[2024-01-01 00:00:00,000 E 3 3] (raylet) runtime_env_agent_client.cc:1: The raylet exited immediately because the "
		  "runtime env agent timed out when Raylet try to connect to it.\n",
		  RAY_AGENT_FAILED, RAY_PROCESS_RUNTIME_ENV_AGENT },
		{ "[2025-12-19 15:55:39,521 E 30 30] (raylet) gcs_rpc_client.h:203: Failed to connect to GCS within 60 seconds. GCS may "
		  "have been killed.\n",
		  RAY_GCS_LOST, RAY_PROCESS_RAYLET },
		{ "[2026-11-21 06:09:53,033 C 3 3] (raylet) node_manager.cc:519: GCS consider this node to be dead. This may happen\n",
		  RAY_GCS_LOST, RAY_PROCESS_RAYLET },
		{ "[2026-11-21 06:09:53,033 C 3 3] (raylet) node_manager.cc:524: GCS returned an authentication error. This may happen "
		  "when GCS is not backed by a DB and restarted\n",
		  RAY_GCS_LOST, RAY_PROCESS_RAYLET },
		{ "[2026-11-22 08:56:28,512 C 344 344] (gcs_server) grpc_server.cc:130:  An unexpected system state has occurred. You have "
		  "likely discovered a bug in Ray. Please report this issue at https://github.com/ray-project/ray/issues and we'll work with "
		  "you to fix it. Check failed: server_ Failed to start the grpc server. The specified port is 6379.\n",
		  RAY_GAVE_UP, RAY_PROCESS_GCS_SERVER },
		{ "[2026-11-22 08:56:28,512 C 344 344] (core_worker) core_worker.cc:1:  Check failed: x\n",
		  RAY_NOTHING, RAY_PROCESS_NONE },
		{ "[2026-11-28 07:39:42,574 E 99 110] (raylet) file_system_monitor.cc:116: /tmp/spill is over 95% full, available space: "
		  "0.00903702 GB; capacity: 0.195312 GB. Object creation will fail if spilling is required.\n",
		  RAY_DISK_FULL, RAY_PROCESS_RAYLET },
		{ "[2026-11-28 07:39:42,595 I 99 109] (raylet) create_request_queue.cc:96: Out-of-disk: Failed to create object "
		  "00ffffffffffffffffffffffffffffffffffffff010000001ce1f505 of size 9MB\n",
		  RAY_OBJECT_REFUSED, RAY_PROCESS_RAYLET },
		{ "[2026-11-22 08:56:28,512 I 3 3] (raylet) x.cc:1: vitamin C is good\n",
		  RAY_NOTHING, RAY_PROCESS_NONE },
		{ "[2022-10-28 10:07:32,236 I 8 8] (raylet) main.cc:290: Raylet received SIGTERM, shutting down...\n",
		  RAY_STOPPED, RAY_PROCESS_RAYLET },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ray_event e = parse(rows[i].record);

		assert_int_equal(e.kind, rows[i].kind);
		assert_int_equal(e.process, rows[i].process);
		assert_int_equal(strlen(e.detail) > 20, e.kind != RAY_NOTHING);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(raylet_names_the_agent_that_it_ends_with),
		cmocka_unit_test(a_raylet_that_was_stopped_says_that_it_got_sigterm),
		cmocka_unit_test(a_raylet_without_a_gcs_says_so_before_it_leaves),
		cmocka_unit_test(ray_start_lists_which_child_ended_and_how),
		cmocka_unit_test(of_several_children_the_gcs_server_counts),
		cmocka_unit_test(the_head_of_a_record_names_the_process_that_wrote_it),
		cmocka_unit_test(older_and_newer_releases_say_it_in_these_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
