/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests with ends that were recorded with Ray 2.60, in milliseconds before the container's: when
 * one of its processes was killed, when it was asked to stop, and when the head's GCS was gone.
 */
#include "sidecar/verdict/ray_process_verdict.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/units.h"
#include "sidecar/verdict/classify.h"

#define END (1000 * NS_PER_SEC)
#define UNREAD (-1)
#define EXIT(code) ((code) << 8)
#define CORE 0x80

enum logged {
	LOGGED_NOTHING,
	LOGGED_AGENT,
	LOGGED_RTAGENT,
	LOGGED_GCS_LOST,
	LOGGED_REFUSED,
	LOGGED_STOPPED,
	LOGGED_STOPPED_BEFORE,
	LOGGED_RAYLET_9,
	LOGGED_GCS_1,
	LOGGED_GCS_9,
	LOGGED_DASHBOARD_9,
	LOGGED_GAVE_UP
};

struct row {
	const char *name;
	struct {
		enum ray_process_kind kind;
		int status, before_ms;
	} ends[5];
	enum logged logged;
	int exit_code;
	bool no_ray_start;
	enum failure_class class;
	enum confidence confidence;
	const char *process;
	int signal, code; /* of the process */
};

static const struct row rows[] = {
	{ "raylet, kill -9",
	  { { RAY_PROCESS_RAYLET, 9, 4866 }, { RAY_PROCESS_GCS_SERVER, 9, 3661 }, { RAY_PROCESS_MONITOR, 9, 3115 } },
	  LOGGED_RAYLET_9, 1, false, FAILURE_RAYLET_FAILED, CONFIDENCE_CERTAIN, "raylet", SIGKILL, -1 },
	{ "raylet, SIGSEGV with a core",
	  { { RAY_PROCESS_RAYLET, 11 | CORE, 1187 }, { RAY_PROCESS_GCS_SERVER, 9, 444 }, { RAY_PROCESS_DASHBOARD_AGENT, 0, 109 } },
	  LOGGED_NOTHING, 1, false, FAILURE_RAYLET_FAILED, CONFIDENCE_CERTAIN, "raylet", SIGSEGV, -1 },
	{ "gcs_server, kill -9",
	  { { RAY_PROCESS_GCS_SERVER, 9, 1408 }, { RAY_PROCESS_RAYLET, 9, 643 }, { RAY_PROCESS_DASHBOARD, 9, 421 } },
	  LOGGED_GCS_9, 1, false, FAILURE_GCS_FAILED, CONFIDENCE_CERTAIN, "gcs_server", SIGKILL, -1 },
	{ "dashboard, kill -9",
	  { { RAY_PROCESS_DASHBOARD, 9, 1867 }, { RAY_PROCESS_RAYLET, 9, 1006 }, { RAY_PROCESS_GCS_SERVER, 9, 1000 } },
	  LOGGED_DASHBOARD_9, 1, false, FAILURE_RAY_PROCESS_FAILED, CONFIDENCE_CERTAIN, "dashboard", SIGKILL, -1 },
	{ "log monitor, an exit code of its own", { { RAY_PROCESS_LOG_MONITOR, EXIT(1), 1012 }, { RAY_PROCESS_RAYLET, 9, 100 } },
	  LOGGED_NOTHING, 1, false, FAILURE_RAY_PROCESS_FAILED, CONFIDENCE_CERTAIN, "log_monitor", 0, 1 },
	{ "the agents end a moment before the raylet that lost the GCS",
	  { { RAY_PROCESS_RUNTIME_ENV_AGENT, 0, 744 }, { RAY_PROCESS_RAYLET, EXIT(1), 737 }, { RAY_PROCESS_LOG_MONITOR, 9, 22 } },
	  LOGGED_GCS_LOST, 1, false, FAILURE_GCS_LOST, CONFIDENCE_LIKELY, "raylet", 0, 1 },
	{ "a restarted GCS does not know raylet, which aborts", { { RAY_PROCESS_RAYLET, 6, 900 } }, LOGGED_REFUSED, 1, false,
	  FAILURE_GCS_LOST, CONFIDENCE_LIKELY, "raylet", SIGABRT, -1 },
	{ "who is killed has no last words", { { RAY_PROCESS_RAYLET, 9, 900 } }, LOGGED_GCS_LOST, 1, false, FAILURE_RAYLET_FAILED,
	  CONFIDENCE_LIKELY, "raylet", SIGKILL, -1 },
	{ "an agent is killed, and a raylet of an older release ends with 1",
	  { { RAY_PROCESS_DASHBOARD_AGENT, 9, 1200 }, { RAY_PROCESS_RAYLET, EXIT(1), 900 } }, LOGGED_AGENT, 1, false,
	  FAILURE_RAY_PROCESS_FAILED, CONFIDENCE_LIKELY, "dashboard_agent", SIGKILL, -1 },
	{ "the agent that raylet names counts, and not the one that it killed",
	  { { RAY_PROCESS_DASHBOARD_AGENT, 9, 1200 }, { RAY_PROCESS_RUNTIME_ENV_AGENT, EXIT(3), 1100 },
	    { RAY_PROCESS_RAYLET, EXIT(1), 900 } }, LOGGED_RTAGENT, 1, false, FAILURE_RAY_PROCESS_FAILED, CONFIDENCE_LIKELY,
	  "runtime_env_agent", 0, 3 },
	{ "`ray start` is asked to stop: raylet kills its agents, `ray start` the rest",
	  { { RAY_PROCESS_DASHBOARD_AGENT, 9, 2623 }, { RAY_PROCESS_RAYLET, 0, 2579 }, { RAY_PROCESS_GCS_SERVER, 0, 2110 },
	    { RAY_PROCESS_MONITOR, 9, 1092 } }, LOGGED_STOPPED, 1, false, FAILURE_TERMINATED, CONFIDENCE_LIKELY, "raylet", 0, 0 },
	{ "a driver without `ray start` fails, and stops its raylet as it ends", { { RAY_PROCESS_RAYLET, 0, 1400 }, { RAY_PROCESS_GCS_SERVER, 0, 900 } },
	  LOGGED_STOPPED, 1, true, FAILURE_APPLICATION_ERROR, CONFIDENCE_LIKELY, "", 0, 0 },
	{ "the same without raylet's words, and another exit code", { { RAY_PROCESS_RAYLET, 0, 1400 } }, LOGGED_NOTHING, 3, true,
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_LIKELY, "", 0, 0 },
	{ "`ray start` without --block began Ray, and `ray stop` ended it",
	  { { RAY_PROCESS_START, 0, 50000 }, { RAY_PROCESS_RAYLET, 0, 1400 }, { RAY_PROCESS_GCS_SERVER, 0, 900 } }, LOGGED_STOPPED, 1, true,
	  FAILURE_TERMINATED, CONFIDENCE_LIKELY, "raylet", 0, 0 },
	{ "a driver without `ray start`, whose raylet kills its agents as it is stopped",
	  { { RAY_PROCESS_DASHBOARD_AGENT, 9, 1440 }, { RAY_PROCESS_RAYLET, 0, 1400 } }, LOGGED_STOPPED, 1, true, FAILURE_APPLICATION_ERROR,
	  CONFIDENCE_LIKELY, "", 0, 0 },
	{ "an agent was killed, and raylet went without a word, perhaps for that",
	  { { RAY_PROCESS_DASHBOARD_AGENT, 9, 1440 }, { RAY_PROCESS_RAYLET, 0, 1400 } }, LOGGED_NOTHING, 1, true, FAILURE_TERMINATED,
	  CONFIDENCE_LIKELY, "raylet", 0, 0 },
	{ "a command without `ray start` fails long after its raylet was stopped", { { RAY_PROCESS_RAYLET, 0, 14000 } }, LOGGED_STOPPED, 1, true,
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_LIKELY, "", 0, 0 },
	{ "the same without raylet's words", { { RAY_PROCESS_RAYLET, 0, 2579 }, { RAY_PROCESS_MONITOR, 9, 1092 } }, LOGGED_NOTHING, 1,
	  false, FAILURE_TERMINATED, CONFIDENCE_LIKELY, "raylet", 0, 0 },
	{ "two at once: which was first does not show",
	  { { RAY_PROCESS_RAYLET, 9, 1500 }, { RAY_PROCESS_GCS_SERVER, 9, 1499 } }, LOGGED_NOTHING, 1, false, FAILURE_RAYLET_FAILED,
	  CONFIDENCE_LIKELY, "raylet", SIGKILL, -1 },
	{ "one before it whose end nobody read",
	  { { RAY_PROCESS_MONITOR, UNREAD, 1600 }, { RAY_PROCESS_RAYLET, 9, 1500 } }, LOGGED_RAYLET_9, 1, false, FAILURE_RAYLET_FAILED,
	  CONFIDENCE_LIKELY, "raylet", SIGKILL, -1 },
	{ "an old launcher: `ray start` names its child", { { RAY_PROCESS_GCS_SERVER, UNREAD, 900 } }, LOGGED_RAYLET_9, 1, false,
	  FAILURE_RAYLET_FAILED, CONFIDENCE_LIKELY, "raylet", SIGKILL, -1 },
	{ "no word and no status", { { RAY_PROCESS_RAYLET, UNREAD, 900 } }, LOGGED_NOTHING, 1, false, FAILURE_RAYLET_FAILED,
	  CONFIDENCE_LIKELY, "raylet", 0, -1 },
	{ "words alone", { { RAY_PROCESS_NONE } }, LOGGED_GCS_1, 1, false, FAILURE_GCS_FAILED, CONFIDENCE_LIKELY, "gcs_server", 0, 1 },
	{ "a driver that began Ray by itself", { { RAY_PROCESS_RAYLET, 9, 1900 } }, LOGGED_NOTHING, 1, true, FAILURE_RAYLET_FAILED,
	  CONFIDENCE_LIKELY, "raylet", SIGKILL, -1 },
	{ "os._exit(7) of a driver that began Ray by itself: the kernel kills its raylet", { { RAY_PROCESS_RAYLET, 9, 60 } }, LOGGED_NOTHING, 7,
	  true, FAILURE_APPLICATION_ERROR, CONFIDENCE_LIKELY, "", 0, 0 },
	{ "the same, and the GCS server's end was seen first, the raylet's after the driver's",
	  { { RAY_PROCESS_GCS_SERVER, 9, 900 }, { RAY_PROCESS_RAYLET, 9, -20 } }, LOGGED_NOTHING, 7, true, FAILURE_APPLICATION_ERROR,
	  CONFIDENCE_LIKELY, "", 0, 0 },
	{ "the same, and raylet was seen to end later", { { RAY_PROCESS_RAYLET, 9, -20 } }, LOGGED_NOTHING, 7, true,
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_LIKELY, "", 0, 0 },
	{ "the same, and nobody read raylet's status", { { RAY_PROCESS_RAYLET, UNREAD, 60 } }, LOGGED_NOTHING, 7, true,
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_LIKELY, "", 0, 0 },
	{ "a raylet that crashed right before its driver ended", { { RAY_PROCESS_RAYLET, 11, 60 } }, LOGGED_NOTHING, 1, true,
	  FAILURE_RAYLET_FAILED, CONFIDENCE_LIKELY, "raylet", SIGSEGV, -1 },
	{ "`ray start` without --block began Ray: its raylet has no driver to follow",
	  { { RAY_PROCESS_START, 0, 50000 }, { RAY_PROCESS_RAYLET, 9, 60 } }, LOGGED_NOTHING, 1, true, FAILURE_RAYLET_FAILED,
	  CONFIDENCE_LIKELY, "raylet", SIGKILL, -1 },
	{ "another exit code than that of `ray start`", { { RAY_PROCESS_RAYLET, 9, 900 } }, LOGGED_NOTHING, 3, false,
	  FAILURE_RAYLET_FAILED, CONFIDENCE_LIKELY, "raylet", SIGKILL, -1 },
	{ "an end of ten minutes ago is no more than a fact", { { RAY_PROCESS_RAYLET, 0, 600000 } }, LOGGED_NOTHING, 1, false,
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_LIKELY, "", 0, 0 },
	{ "an agent took raylet along, which ends no container by itself",
	  { { RAY_PROCESS_DASHBOARD_AGENT, 9, 28000 }, { RAY_PROCESS_RAYLET, 0, 27700 } }, LOGGED_AGENT, 1, false,
	  FAILURE_RAY_PROCESS_FAILED, CONFIDENCE_LIKELY, "dashboard_agent", SIGKILL, -1 },
	{ "a job's driver is not a process that the container lives by", { { RAY_PROCESS_DRIVER, EXIT(1), 900 } }, LOGGED_NOTHING, 1, false,
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_CERTAIN, "", 0, 0 },
	{ "a child that ended in order", { { RAY_PROCESS_MONITOR, 15, 900 } }, LOGGED_NOTHING, 1, false, FAILURE_APPLICATION_ERROR,
	  CONFIDENCE_CERTAIN, "", 0, 0 },
	{ "`ray start` is asked to stop, and kills a raylet that hangs after a second: it has no word for that",
	  { { RAY_PROCESS_RAYLET, 9, 4866 }, { RAY_PROCESS_GCS_SERVER, 9, 3661 } }, LOGGED_NOTHING, 1, false, FAILURE_RAYLET_FAILED,
	  CONFIDENCE_LIKELY, "raylet", SIGKILL, -1 },
	{ "raylet got SIGTERM, and was killed when it took too long", { { RAY_PROCESS_RAYLET, 9, 4866 }, { RAY_PROCESS_GCS_SERVER, 9, 3661 } },
	  LOGGED_STOPPED, 1, false, FAILURE_TERMINATED, CONFIDENCE_LIKELY, "raylet", SIGKILL, -1 },
	{ "`timeout` ends a driver and its raylet, and the GCS server, which takes too long, is killed", { { RAY_PROCESS_GCS_SERVER, 9, 849 } },
	  LOGGED_STOPPED_BEFORE, 124, true, FAILURE_APPLICATION_ERROR, CONFIDENCE_LIKELY, "", 0, 0 },
	{ "raylet had got SIGTERM before the GCS server was killed", { { RAY_PROCESS_GCS_SERVER, 9, 849 } }, LOGGED_STOPPED_BEFORE, 1, false,
	  FAILURE_TERMINATED, CONFIDENCE_LIKELY, "gcs_server", SIGKILL, -1 },
	{ "the GCS server is killed, and raylet gets SIGTERM for that", { { RAY_PROCESS_GCS_SERVER, 9, 849 } }, LOGGED_STOPPED, 1, false,
	  FAILURE_GCS_FAILED, CONFIDENCE_LIKELY, "gcs_server", SIGKILL, -1 },
	{ "the GCS server crashes after raylet had got SIGTERM", { { RAY_PROCESS_GCS_SERVER, 11, 849 } }, LOGGED_STOPPED_BEFORE, 1, false,
	  FAILURE_GCS_FAILED, CONFIDENCE_CERTAIN, "gcs_server", SIGSEGV, -1 },
	{ "the GCS server gave up at its start, before anybody saw it", { { RAY_PROCESS_NONE } }, LOGGED_GAVE_UP, 1, false,
	  FAILURE_GCS_FAILED, CONFIDENCE_LIKELY, "gcs_server", 0, -1 },
	{ "the GCS server gave up, and its end was seen", { { RAY_PROCESS_GCS_SERVER, 6, 900 } }, LOGGED_GAVE_UP, 1, false,
	  FAILURE_GCS_FAILED, CONFIDENCE_CERTAIN, "gcs_server", SIGABRT, -1 },
	{ "exit code 0", { { RAY_PROCESS_RAYLET, 9, 900 } }, LOGGED_NOTHING, 0, false, FAILURE_COMPLETED, CONFIDENCE_CERTAIN, "", 0, 0 },
};

static void say(enum logged logged, int64_t at_ns, struct ray_process_words *w)
{
	static const struct ray_process_word agent = { .process = RAY_PROCESS_DASHBOARD_AGENT,
						       .file = "raylet.out",
						       .line = "one Ray agent failed" };
	struct ray_process_word word = { .at_ns = at_ns };

	*w = (struct ray_process_words){ .exited.at_ns = 0 };
	switch (logged) {
	case LOGGED_NOTHING:
		break;
	case LOGGED_AGENT:
	case LOGGED_RTAGENT:
		w->agent_failed = agent;
		w->agent_failed.at_ns = at_ns;
		if (logged == LOGGED_RTAGENT)
			w->agent_failed.process = RAY_PROCESS_RUNTIME_ENV_AGENT;
		break;
	case LOGGED_GCS_LOST:
	case LOGGED_REFUSED:
		snprintf(word.line, sizeof(word.line), "%s",
			 logged == LOGGED_REFUSED ? "GCS returned an authentication error." :
						    "Failed to connect to GCS within 60 seconds.");
		w->gcs_lost = word;
		break;
	case LOGGED_GAVE_UP:
		word.process = RAY_PROCESS_GCS_SERVER;
		snprintf(word.file, sizeof(word.file), "gcs_server.out");
		snprintf(word.line, sizeof(word.line),
			 "Check failed: server_ Failed to start the grpc server.");
		w->gave_up = word;
		break;
	case LOGGED_STOPPED_BEFORE:
		word.at_ns = at_ns - 5 * NS_PER_SEC;
		/* fallthrough */
	case LOGGED_STOPPED:
		word.process = RAY_PROCESS_RAYLET;
		w->stopped = word;
		break;
	case LOGGED_RAYLET_9:
	case LOGGED_GCS_1:
	case LOGGED_GCS_9:
	case LOGGED_DASHBOARD_9:
		word.process = logged == LOGGED_RAYLET_9    ? RAY_PROCESS_RAYLET :
			       logged == LOGGED_DASHBOARD_9 ? RAY_PROCESS_DASHBOARD :
							      RAY_PROCESS_GCS_SERVER;
		word.returncode = logged == LOGGED_GCS_1 ? 1 : -9;
		snprintf(word.file, sizeof(word.file), "ray_process_exit.log");
		w->exited = word;
		break;
	}
}

struct world {
	struct ray_process_end ends[5];
	struct ray_process_words words;
	struct observation o;
};

static void make(const struct row *row, struct world *w)
{
	struct memory quiet = MEMORY_ABSENT;

	quiet.oom_kill = 0;
	*w = (struct world){ .o = { .container = "ray-head",
				    .status_known = true,
				    .wait_status = EXIT(row->exit_code),
				    .ran_ns = NS_PER_SEC,
				    .cgroup_version = 2,
				    .before = quiet,
				    .after = quiet,
				    .after_known = true,
				    .last = MEMORY_ABSENT,
				    .last_age_ns = -1,
				    .oom_age_ns = -1,
				    .kernel.needs = "CAP_SYSLOG",
				    .ended_ns = END,
				    .ray_start = !row->no_ray_start } };
	for (size_t i = 0; i < 5 && row->ends[i].kind; i++)
		w->ends[w->o.n_ends++] = (struct ray_process_end){
			.kind = row->ends[i].kind,
			.pid = 300 + (pid_t)i,
			.status_known = row->ends[i].status != UNREAD,
			.wait_status = row->ends[i].status == UNREAD ? 0 : row->ends[i].status,
			.ended_ns = END - row->ends[i].before_ms * NS_PER_MS,
		};
	say(row->logged, END, &w->words);
	for (size_t i = 0; i < w->o.n_ends; i++)
		if (w->ends[i].kind == RAY_PROCESS_RAYLET)
			w->words.stopped.pid = w->ends[i].pid;
	w->o.ends = w->ends;
	w->o.process_words = &w->words;
}

/* Returns the row of that name. */
static const struct row *row_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	fail_msg("no row is named %s", name);
	return NULL;
}

/* Ray 2.60: what has lost its GCS server tries to reach it for 60 s, and then ends with 1. */
static void a_gcs_server_explains_what_waited_a_minute_for_it(void **state)
{
	struct row row = { .ends = { { RAY_PROCESS_GCS_SERVER, SIGSEGV, 61050 },
				     { RAY_PROCESS_DASHBOARD, EXIT(1), 624 } },
			   .exit_code = 1,
			   .no_ray_start = true };
	struct verdict v;
	struct world w;

	(void)state;
	make(&row, &w);
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_GCS_FAILED);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_non_null(strstr(v.sentence, "The GCS server crashed with SIGSEGV"));
	row.ends[0].before_ms = 200000;
	make(&row, &w);
	classify(&w.o, &v);
	assert_string_equal(v.process.name, "dashboard");
	/* Nor does what Ray had before it was started again explain the end of what runs now. */
	row.ends[0].before_ms = 61050;
	row.no_ray_start = false;
	make(&row, &w);
	classify(&w.o, &v);
	assert_string_equal(v.process.name, "dashboard");
	row.no_ray_start = true;
	struct row again = row;
	again.ends[1].kind = RAY_PROCESS_GCS_SERVER;
	again.ends[1].status = 0;
	again.ends[2] = row.ends[1];
	make(&again, &w);
	classify(&w.o, &v);
	assert_string_equal(v.process.name, "dashboard");
	/* Another process of Ray's does not wait so long for what it needs. */
	row.ends[0].kind = RAY_PROCESS_LOG_MONITOR;
	row.ends[0].before_ms = 61050;
	make(&row, &w);
	classify(&w.o, &v);
	assert_string_equal(v.process.name, "dashboard");
}

static void what_ended_first_explains_the_end(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		make(&rows[i], &w);
		classify(&w.o, &v);
		if (v.class != rows[i].class || v.confidence != rows[i].confidence ||
		    strcmp(v.process.name, rows[i].process) != 0)
			fail_msg("%s: %s, %s, \"%s\": %s", rows[i].name,
				 failure_class_name(v.class), confidence_name(v.confidence),
				 v.process.name, v.sentence);
		assert_int_equal(v.exit_code, rows[i].exit_code);
		if (rows[i].process[0] &&
		    (v.process.signal != rows[i].signal || v.process.exit_code != rows[i].code))
			fail_msg("%s: signal %d, code %d", rows[i].name, v.process.signal,
				 v.process.exit_code);
		/* If the class line says "likely", the sentence must not assert it. */
		if (v.process.name[0] &&
		    !strstr(v.sentence, "most likely") != (v.confidence == CONFIDENCE_CERTAIN))
			fail_msg("%s: %s", rows[i].name, v.sentence);
	}
}

/* A store that is full refuses objects all the time. */
static void an_object_that_was_refused_hides_no_other_cause(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		make(&rows[i], &w);
		w.words.object_refused = (struct ray_process_word){ .at_ns = END - 50 * NS_PER_SEC,
								    .line = "Out-of-disk: x" };
		classify(&w.o, &v);
		if (v.class != rows[i].class && rows[i].class != FAILURE_APPLICATION_ERROR)
			fail_msg("%s: %s: %s", rows[i].name, failure_class_name(v.class),
				 v.sentence);
	}
}

static void a_sentence_says_that_ray_start_followed(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	make(&rows[0], &w);
	classify(&w.o, &v);
	assert_string_equal(
		v.sentence,
		"raylet was killed with SIGKILL in container ray-head; `ray start` then ended the container with "
		"exit code 1.");
	assert_int_equal(v.process.pid, 300);
	make(&rows[2], &w);
	classify(&w.o, &v);
	assert_string_equal(
		v.sentence,
		"The GCS server was killed with SIGKILL in container ray-head; `ray start` then ended the "
		"container with exit code 1.");
	make(&rows[5], &w);
	classify(&w.o, &v);
	assert_string_equal(
		v.sentence,
		"Container ray-head most likely ended because its raylet lost the GCS of the head.");
	make(&rows[6], &w);
	classify(&w.o, &v);
	assert_non_null(strstr(v.sentence, "does not know its raylet"));
}

static void a_driver_that_stops_its_raylet_ended_for_reasons_of_its_own(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	make(row_named("a driver without `ray start` fails, and stops its raylet as it ends"), &w);
	classify(&w.o, &v);
	assert_string_equal(
		v.sentence,
		"Container ray-head ended with exit code 1 after 1.0 s; its raylet was stopped 1.4 s before, most likely by "
		"the command itself, as a driver does at its end.");
	assert_true(v.stopped_its_ray);
	/* Without any evidence, "was stopped" is not a fact. */
	make(row_named("the same without raylet's words, and another exit code"), &w);
	classify(&w.o, &v);
	assert_string_equal(
		v.sentence,
		"Container ray-head ended with exit code 3 after 1.0 s; its raylet ended in order 1.4 s before, most "
		"likely stopped by the command itself, as a driver does at its end.");
	/* A request to stop explains everything. */
	w.o.asked = (struct stop_request){ .signal = SIGTERM, .at_ns = END - 4 * NS_PER_SEC };
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_TERMINATED);
	assert_null(strstr(v.sentence, "driver"));
	assert_false(v.stopped_its_ray);
}

static void where_the_kernel_may_have_killed_a_drivers_raylet_the_order_stays_open(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	make(row_named(
		     "os._exit(7) of a driver that began Ray by itself: the kernel kills its raylet"),
	     &w);
	classify(&w.o, &v);
	assert_string_equal(
		v.sentence,
		"Container ray-head ended with exit code 7 after 1.0 s; raylet was killed with SIGKILL 60 ms before: the Ray of a "
		"driver ends with the driver, or the driver ended for want of it.");
	make(row_named("the same, and raylet was seen to end later"), &w);
	classify(&w.o, &v);
	assert_string_equal(
		v.sentence,
		"Container ray-head ended with exit code 7 after 1.0 s; raylet was killed with SIGKILL as it ended or later: the "
		"Ray of a driver ends with the driver.");
	/* A driver of 16 GiB takes seconds to end. */
	make(row_named("a driver that began Ray by itself"), &w);
	w.o.command_rss = (int64_t)16 << 30;
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_APPLICATION_ERROR);
}

static void a_driver_that_ended_because_of_an_oom_killed_worker_is_recognized(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	make(row_named("a driver without `ray start` fails, and stops its raylet as it ends"), &w);
	w.o.after.oom_kill = 1;
	w.o.oom_age_ns = 3 * NS_PER_SEC;
	w.o.victim = "ray::leak";
	w.o.victim_pid = 9;
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_KERNEL_OOM_CONTAINER);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_string_equal(
		v.sentence,
		"The kernel killed a process (most likely ray::leak, PID 9) in container ray-head: most likely it "
		"reached a memory limit (its own, of a cgroup above it, or the node's); then the command ended with "
		"exit code 1.");
	assert_string_equal(v.process.name, "ray::leak");
}

static void a_pod_that_is_deleted_stops_its_processes(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	make(&rows[0], &w);
	w.o.pod_terminating = true;
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_POD_DELETED);
	assert_string_equal(v.process.name, "");
}

static void a_raylet_that_hangs_when_its_container_is_asked_to_stop_has_not_failed(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	make(row_named(
		     "`ray start` is asked to stop, and kills a raylet that hangs after a second: it has no word for that"),
	     &w);
	w.o.asked = (struct stop_request){ .signal = SIGTERM, .at_ns = END - 6 * NS_PER_SEC };
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_TERMINATED);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_string_equal(v.process.name, "");
	assert_string_equal(
		v.sentence,
		"Container ray-head ended with exit code 1, most likely because it was asked to stop (SIGTERM from "
		"outside the container, 6.0 s before).");
}

static void a_raylet_that_was_dead_before_the_container_was_asked_to_stop_has_failed(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	make(&rows[0], &w);
	w.o.asked = (struct stop_request){ .signal = SIGTERM, .at_ns = END - 2 * NS_PER_SEC };
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_RAYLET_FAILED);
	/* `ray start` exits with 1 for either reason. */
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_string_equal(v.process.name, "raylet");
}

static const struct {
	const char *name;
	struct row row;
	int asked_before_ms;
	enum failure_class class;
	const char *process;
} stops[] = {
	{ "raylet crashed after the container was asked to stop",
	  { .ends = { { RAY_PROCESS_RAYLET, 11 | CORE, 1187 }, { RAY_PROCESS_GCS_SERVER, 9, 444 } },
	    .exit_code = 1 },
	  6000,
	  FAILURE_RAYLET_FAILED,
	  "raylet" },
	{ "gcs_server aborted after the container was asked to stop",
	  { .ends = { { RAY_PROCESS_GCS_SERVER, 6 | CORE, 900 } }, .exit_code = 1 },
	  6000,
	  FAILURE_GCS_FAILED,
	  "gcs_server" },
	{ "raylet crashed before the container was asked to stop",
	  { .ends = { { RAY_PROCESS_RAYLET, 11, 5000 } }, .exit_code = 1 },
	  2000,
	  FAILURE_RAYLET_FAILED,
	  "raylet" },
	{ "raylet aborted, as the GCS of the head was stopped too",
	  { .ends = { { RAY_PROCESS_RAYLET, 6, 900 } }, .logged = LOGGED_GCS_LOST, .exit_code = 1 },
	  6000,
	  FAILURE_TERMINATED,
	  "" },
	{ "the dashboard gave up after the container was asked to stop",
	  { .ends = { { RAY_PROCESS_DASHBOARD, EXIT(1), 900 } }, .exit_code = 1 },
	  6000,
	  FAILURE_TERMINATED,
	  "" },
	{ "an agent was killed, and raylet went with it",
	  { .ends = { { RAY_PROCESS_DASHBOARD_AGENT, 9, 1200 }, { RAY_PROCESS_RAYLET, 0, 900 } },
	    .logged = LOGGED_AGENT,
	    .exit_code = 1 },
	  6000,
	  FAILURE_TERMINATED,
	  "" },
	{ "`ray start` wrote of a dead raylet after the request",
	  { .logged = LOGGED_RAYLET_9, .exit_code = 1 },
	  6000,
	  FAILURE_TERMINATED,
	  "" },
};

static void a_crash_of_rays_own_outweighs_a_request_to_stop(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stops); i++) {
		make(&stops[i].row, &w);
		w.o.asked = (struct stop_request){
			.signal = SIGTERM, .at_ns = END - stops[i].asked_before_ms * NS_PER_MS
		};
		classify(&w.o, &v);
		if (v.class != stops[i].class || strcmp(v.process.name, stops[i].process) != 0)
			fail_msg("%s: %s, \"%s\": %s", stops[i].name, failure_class_name(v.class),
				 v.process.name, v.sentence);
		assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
		assert_non_null(
			strstr(v.sentence, "asked to stop (SIGTERM from outside the container"));
	}
}

static void what_ray_start_wrote_before_the_request_is_no_part_of_the_stop(void **state)
{
	struct row row = { .logged = LOGGED_RAYLET_9, .exit_code = 1 };
	struct verdict v;
	struct world w;

	(void)state;
	make(&row, &w);
	w.words.exited.at_ns = END - 8 * NS_PER_SEC;
	w.o.asked = (struct stop_request){ .signal = SIGTERM, .at_ns = END - 2 * NS_PER_SEC };
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_RAYLET_FAILED);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
}

static void a_sigkill_is_certain_only_when_it_was_not_the_oom_killer(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	make(&rows[0], &w);
	w.o.after_known = false;
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_RAYLET_FAILED);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	/* A crash is no OOM kill, whatever the counters show. */
	make(&rows[1], &w);
	w.o.after_known = false;
	classify(&w.o, &v);
	assert_int_equal(v.confidence, CONFIDENCE_CERTAIN);
}

static void an_oom_kill_of_raylet_keeps_its_class(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	make(&rows[0], &w);
	w.o.after.oom_kill = 1;
	w.o.oom_age_ns = 4 * NS_PER_SEC;
	w.o.victim = "raylet";
	w.o.victim_pid = 300;
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_KERNEL_OOM_CONTAINER);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_string_equal(v.process.name, "raylet");
	assert_int_equal(v.process.signal, SIGKILL);
	/* If the kernel log says that raylet was killed, no other explanation fits. */
	w.o.kernel = (struct kernel_evidence){ .oom = true,
					       .by_cgroup = true,
					       .pid = 4711,
					       .name = "raylet",
					       .kills = 1,
					       .where = OOM_WHERE_CONTAINER,
					       .age_ns = 4 * NS_PER_SEC };
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_KERNEL_OOM_CONTAINER);
	assert_int_equal(v.confidence, CONFIDENCE_CERTAIN);
	assert_non_null(strstr(v.sentence, "`ray start` ends with raylet."));
	/* It killed a process of that name, but at another time. */
	w.o.kernel.age_ns = 9 * NS_PER_SEC;
	classify(&w.o, &v);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	/* The log does not say whose memory ran out. */
	w.o.kernel.age_ns = 4 * NS_PER_SEC;
	w.o.kernel.where = OOM_WHERE_UNKNOWN;
	classify(&w.o, &v);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
}

/* At the container's end all processes are gone, and the largest seems to be the victim. */
static void the_first_of_rays_processes_that_a_sigkill_ended_is_the_oom_killers_victim(void **state)
{
	static const struct {
		const char *name;
		int row;
		int64_t seen_ago_ms, victim_rss;
		const char *kernel, *process;
	} cases[] = {
		{ "gcs_server", 2, 1300, 1, NULL, "gcs_server" },
		{ "the kernel names it", 2, 1300, 1, "gcs_server", "gcs_server" },
		{ "the kernel names another process", 2, 1300, 1, "ray::leak", "" },
		{ "a process of the user's held most of the memory", 2, 1300, 900, NULL,
		  "python3 other.py" },
		{ "the OOM killer came ten seconds earlier", 2, 11500, 1, NULL, "gcs_server" },
		{ "raylet crashed before `ray start` killed the rest", 1, 1000, 1, NULL, "raylet" },
		{ "dashboard", 3, 1800, 1, "python3", "dashboard" },
	};
	struct verdict v;
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make(&rows[cases[i].row], &w);
		w.o.after.oom_kill = w.o.latest.oom_kill = 1;
		w.o.oom_age_ns = cases[i].seen_ago_ms * NS_PER_MS;
		w.o.last.limit = 1000;
		w.o.victim = "python3 other.py";
		w.o.victim_pid = 61;
		w.o.victim_rss = cases[i].victim_rss;
		if (cases[i].kernel) {
			w.o.kernel = (struct kernel_evidence){ .oom = true,
							       .by_cgroup = true,
							       .pid = 4711,
							       .kills = 1,
							       .where = OOM_WHERE_CONTAINER,
							       .age_ns = w.o.oom_age_ns };
			snprintf(w.o.kernel.name, sizeof(w.o.kernel.name), "%s", cases[i].kernel);
		}
		classify(&w.o, &v);
		if (strcmp(v.process.name, cases[i].process) != 0 ||
		    (cases[i].process[0] && !strstr(cases[i].process, "other.py") &&
		     strstr(v.sentence, "other.py")))
			fail_msg("%s: \"%s\": %s", cases[i].name, v.process.name, v.sentence);
	}
}

/* The kernel sends the children of `ray start` SIGKILL when it is gone. */
static void an_oom_kill_of_ray_start_is_none_of_its_children(void **state)
{
	static const struct row killed = { "",
					   { { RAY_PROCESS_DASHBOARD, 9, 30 },
					     { RAY_PROCESS_LOG_MONITOR, 9, 20 } },
					   LOGGED_NOTHING,
					   0,
					   false,
					   0,
					   0,
					   NULL,
					   0,
					   0 };
	struct verdict v;
	struct world w;

	(void)state;
	make(&killed, &w);
	w.o.wait_status = SIGKILL;
	w.o.after.oom_kill = w.o.latest.oom_kill = 1;
	w.o.oom_age_ns = 40 * NS_PER_MS;
	w.o.last.limit = 1000;
	w.o.victim = "python3 ray";
	w.o.victim_pid = w.o.command_pid = 7;
	classify(&w.o, &v);
	assert_non_null(strstr(v.sentence, "python3 ray"));
	assert_null(strstr(v.sentence, "dashboard"));
	/* The samples name another process, so `timeout` may have passed on its child's signal. */
	w.o.command_pid = 6;
	classify(&w.o, &v);
	assert_non_null(strstr(v.sentence, "dashboard"));
}

/*
 * The sidecar sees the kill and has the launcher end the rest by SIGKILL, so such an end after it
 * says nothing about the victim.
 */
static void a_process_that_oomgroup_ended_is_not_the_oom_killers_victim(void **state)
{
	static const struct row killed = { "",
					   { { RAY_PROCESS_RUNTIME_ENV_AGENT, 9, 30 },
					     { RAY_PROCESS_RAYLET, 9, 20 } },
					   LOGGED_NOTHING,
					   0,
					   false,
					   0,
					   0,
					   NULL,
					   0,
					   0 };
	static const struct {
		int64_t seen_ago_ms;
		const char *victim;
	} cases[] = { { 31, "ray::load_samples, PID 114" },
		      { 30, "ray::load_samples, PID 114" },
		      { 29, "runtime_env_agent, PID " } };
	struct verdict v;
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make(&killed, &w);
		w.o.wait_status = SIGKILL;
		w.o.after.oom_kill = w.o.latest.oom_kill = 1;
		w.o.oom_age_ns = cases[i].seen_ago_ms * NS_PER_MS;
		w.o.group_ended_by_us = true;
		w.o.last.limit = 1000;
		w.o.victim = "ray::load_samples";
		w.o.victim_pid = 114;
		classify(&w.o, &v);
		assert_int_equal(v.class, FAILURE_KERNEL_OOM_CONTAINER);
		if (!strstr(v.sentence, cases[i].victim))
			fail_msg("%d ms: %s", (int)cases[i].seen_ago_ms, v.sentence);
	}
}

static void an_oom_kill_of_an_agent_names_it_as_ray_does(void **state)
{
	static const struct row killed = { "",
					   { { RAY_PROCESS_DASHBOARD_AGENT, 9, 100 } },
					   LOGGED_NOTHING,
					   0,
					   false,
					   0,
					   0,
					   NULL,
					   0,
					   0 };
	struct verdict v;
	struct world w;

	(void)state;
	make(&killed, &w);
	w.o.container_lives = true;
	w.o.status_known = false;
	w.o.after.oom_kill = 1;
	w.o.victim = "ray::DashboardAgent";
	w.o.victim_pid = 300;
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_KERNEL_OOM_PROCESS);
	assert_string_equal(v.process.name, "dashboard_agent");
	assert_int_equal(v.process.pid, 300);
}

/*
 * `ray start` may look so late that the OOM kill is reported, and the counters are read again,
 * before the container ends.
 */
static void an_oom_kill_that_is_reported_already_is_no_certain_kill_by_somebody(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	make(&rows[0], &w);
	w.o.before.oom_kill = w.o.latest.oom_kill = w.o.after.oom_kill = 1;
	w.o.process_oom_ns = w.ends[0].ended_ns + NS_PER_SEC / 10;
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_RAYLET_FAILED);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_non_null(strstr(
		v.sentence,
		"raylet was killed with SIGKILL, most likely by the kernel's OOM killer, in container"));
	/* The victim may be a process of another container. */
	w.o.cgroup_shared = true;
	classify(&w.o, &v);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_non_null(strstr(
		v.sentence,
		"raylet was killed with SIGKILL, perhaps by the kernel's OOM killer, in container"));
	w.o.cgroup_shared = false;
	/* An OOM kill an hour ago is unrelated. */
	w.o.process_oom_ns -= 3600 * NS_PER_SEC;
	classify(&w.o, &v);
	assert_int_equal(v.confidence, CONFIDENCE_CERTAIN);
}

/* A driver that ends for want of it ends many seconds later. */
static void what_ends_in_the_moment_of_its_driver_was_not_taken_by_the_oom_killer_seconds_before(void **state)
{
	static const struct row with_driver[] = {
		{ "", { { RAY_PROCESS_GCS_SERVER, 9, 0 } }, LOGGED_NOTHING, 124, true, 0, 0, NULL, 0, 0 },
		{ "", { { RAY_PROCESS_RAYLET, 9, 10 }, { RAY_PROCESS_GCS_SERVER, 9, 10 } }, LOGGED_NOTHING,
		  1, true, 0, 0, NULL, 0, 0 },
	};
	static const struct row before = { "",
					   { { RAY_PROCESS_GCS_SERVER, 9, 12000 } },
					   LOGGED_NOTHING,
					   1,
					   true,
					   0,
					   0,
					   NULL,
					   0,
					   0 };
	struct verdict v;
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(with_driver); i++) {
		make(&with_driver[i], &w);
		w.o.before.oom_kill = w.o.latest.oom_kill = w.o.after.oom_kill = 16;
		w.o.process_oom_ns = END - 4 * NS_PER_SEC;
		w.o.process_oom_reported = true;
		classify(&w.o, &v);
		assert_int_equal(v.class, FAILURE_APPLICATION_ERROR);
		assert_null(strstr(v.sentence, "OOM killer"));
		assert_non_null(strstr(v.sentence, "the Ray of a driver ends with the driver"));
	}
	make(&before, &w);
	w.o.before.oom_kill = w.o.latest.oom_kill = w.o.after.oom_kill = 1;
	w.o.process_oom_ns = w.ends[0].ended_ns;
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_GCS_FAILED);
	assert_non_null(strstr(v.sentence, "most likely by the kernel's OOM killer"));
}

static void what_is_certain_does_not_lack_whether_it_was_an_earlier_oom_kill(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	make(&rows[0], &w);
	w.o.before.oom_kill = w.o.latest.oom_kill = w.o.after.oom_kill = 1;
	w.o.process_oom_ns = END - 40 * NS_PER_SEC;
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_RAYLET_FAILED);
	assert_int_equal(v.confidence, CONFIDENCE_CERTAIN);
	for (unsigned int i = 0; i < v.n_missing; i++)
		assert_null(strstr(v.missing[i].what, "OOM kill"));
}

static void an_oom_kill_of_a_worker_is_not_the_cause_of_raylets_crash(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	make(&rows[1], &w);
	w.o.after.oom_kill = 1;
	w.o.oom_age_ns = 4 * NS_PER_SEC;
	w.o.victim = "ray::leak";
	w.o.victim_pid = 706;
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_RAYLET_FAILED);
	assert_string_equal(v.process.name, "raylet");
}

static void a_full_disk_explains_an_exit_code_and_no_sigkill(void **state)
{
	struct row exits = rows[4];
	struct verdict v;
	struct world w;

	(void)state;
	make(&exits, &w);
	w.o.limits.fullest = (struct disk){ .point = "/tmp", .total = 1 << 20, .device = 7 };
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_DISK_FULL);
	assert_string_equal(v.process.name, "log_monitor");
	make(&rows[0], &w);
	w.o.limits.fullest = (struct disk){ .point = "/tmp", .total = 1 << 20, .device = 7 };
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_RAYLET_FAILED);
}

static void the_crash_of_a_process_of_ray_names_its_function(void **state)
{
	struct crash_info crash = { .known = true,
				    .pid = 300,
				    .signal = SIGSEGV,
				    .comm = "raylet",
				    .unwound = true,
				    .function = "ray::raylet::NodeManager::Boom()" };
	struct verdict v;
	struct world w;

	(void)state;
	make(&rows[1], &w);
	w.o.crash = &crash;
	classify(&w.o, &v);
	assert_non_null(strstr(v.sentence,
			       "raylet crashed with SIGSEGV in ray::raylet::NodeManager::Boom()"));
}

/* --- The container lives on --- */

static void classify_alive(struct world *w, enum ray_process_kind kind, struct verdict *v)
{
	w->o.container_lives = true;
	w->o.status_known = false;
	for (size_t i = 0; i < w->o.n_ends; i++)
		if (w->ends[i].kind == kind)
			w->o.process = &w->ends[i];
	w->words.agent_failed.at_ns = w->words.agent_failed.at_ns ? w->o.process->ended_ns : 0;
	w->words.stopped.at_ns = w->words.stopped.at_ns ? w->o.process->ended_ns : 0;
	classify(&w->o, v);
}

static const struct row agent_killed = {
	"", { { RAY_PROCESS_DASHBOARD_AGENT, 9, 5411 }, { RAY_PROCESS_RUNTIME_ENV_AGENT, 9, 5271 }, { RAY_PROCESS_RAYLET, 0, 5000 } },
	LOGGED_AGENT, 0, false, 0, 0, NULL, 0, 0
};

static void an_agent_that_was_killed_took_raylet_along(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	make(&agent_killed, &w);
	classify_alive(&w, RAY_PROCESS_RAYLET, &v);
	assert_int_equal(v.class, FAILURE_RAY_PROCESS_FAILED);
	assert_int_equal(v.confidence, CONFIDENCE_CERTAIN);
	assert_string_equal(v.process.name, "dashboard_agent");
	assert_int_equal(v.process.pid, 300);
	assert_int_equal(v.process.signal, SIGKILL);
	assert_int_equal(v.exit_code, -1);
	assert_string_equal(
		v.sentence,
		"Ray's dashboard agent (PID 300) was killed with SIGKILL in container ray-head, and raylet ended "
		"with it; the container lives on without raylet.");
	/* The OOM killer killed a process just before. */
	w.o.process_oom_ns = w.ends[0].ended_ns;
	classify(&w.o, &v);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_non_null(strstr(v.sentence, "most likely by the kernel's OOM killer"));
}

/* A busy launcher sees both ends at once, or only raylet's. */
static void the_agent_that_raylet_names_counts_also_when_it_was_seen_late(void **state)
{
	static const struct row late = { "",
					 { { RAY_PROCESS_RAYLET, 0, 5000 },
					   { RAY_PROCESS_DASHBOARD_AGENT, 11 | CORE, 4990 } },
					 LOGGED_AGENT,
					 0,
					 false,
					 0,
					 0,
					 NULL,
					 0,
					 0 };
	static const struct row unseen = {
		"", { { RAY_PROCESS_RAYLET, 0, 5000 } }, LOGGED_AGENT, 0, false, 0, 0, NULL, 0, 0
	};
	struct crash_info crash = { .known = true,
				    .pid = 46,
				    .signal = SIGSEGV,
				    .comm = "ray::DashboardA",
				    .unwound = true,
				    .function = "epoll_wait" };
	struct verdict v;
	struct world w;

	(void)state;
	make(&late, &w);
	classify_alive(&w, RAY_PROCESS_RAYLET, &v);
	assert_int_equal(v.process.pid, 301);
	assert_int_equal(v.process.signal, SIGSEGV);
	make(&unseen, &w);
	w.o.crash = &crash;
	classify_alive(&w, RAY_PROCESS_RAYLET, &v);
	assert_int_equal(v.class, FAILURE_RAY_PROCESS_FAILED);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_int_equal(v.process.pid, 46);
	assert_int_equal(v.process.signal, SIGSEGV);
	assert_non_null(strstr(
		v.sentence, "Ray's dashboard agent (PID 46) crashed with SIGSEGV in epoll_wait"));
	/* The core is that of another process. */
	snprintf(crash.comm, sizeof(crash.comm), "python3");
	classify(&w.o, &v);
	assert_int_equal(v.process.pid, 0);
	assert_non_null(strstr(v.sentence, "Ray's dashboard agent ended in container"));
}

static void ray_stop_is_not_a_crash(void **state)
{
	struct row stopped = agent_killed;
	struct verdict v;
	struct world w;

	(void)state;
	stopped.logged = LOGGED_STOPPED;
	make(&stopped, &w);
	classify_alive(&w, RAY_PROCESS_RAYLET, &v);
	assert_int_equal(v.class, FAILURE_TERMINATED);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_string_equal(v.process.name, "raylet");
	assert_non_null(strstr(
		v.sentence,
		"Ray was most likely stopped in container ray-head: raylet got SIGTERM, as `ray stop` sends it"));
}

static void a_raylet_that_left_without_a_word_may_have_been_stopped_or_not(void **state)
{
	struct row silent = agent_killed;
	struct verdict v;
	struct world w;

	(void)state;
	silent.logged = LOGGED_NOTHING;
	make(&silent, &w);
	classify_alive(&w, RAY_PROCESS_RAYLET, &v);
	assert_int_equal(v.class, FAILURE_RAYLET_FAILED);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_int_equal(v.n_missing, 1);
}

static void a_gcs_server_that_ended_in_order_was_stopped(void **state)
{
	static const struct row stopped = { "",
					    { { RAY_PROCESS_GCS_SERVER, 0, 30000 } },
					    LOGGED_NOTHING,
					    0,
					    false,
					    0,
					    0,
					    NULL,
					    0,
					    0 };
	struct verdict v;
	struct world w;

	(void)state;
	make(&stopped, &w);
	classify_alive(&w, RAY_PROCESS_GCS_SERVER, &v);
	assert_int_equal(v.class, FAILURE_TERMINATED);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_non_null(strstr(
		v.sentence,
		"Ray was most likely stopped in container ray-head: the GCS server got SIGTERM"));
}

static void why_a_gcs_server_gave_up_is_told(void **state)
{
	static const char *const names[] = {
		"the GCS server gave up at its start, before anybody saw it",
		"the GCS server gave up, and its end was seen"
	};
	struct verdict v;
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		make(row_named(names[i]), &w);
		if (i == 0)
			/* `ray start` waits for it */
			w.words.gave_up.at_ns = END - 45 * NS_PER_SEC;
		classify(&w.o, &v);
		assert_int_equal(v.class, FAILURE_GCS_FAILED);
		assert_string_equal(v.evidence[v.n_evidence - 1].source, "gcs_server.out");
		assert_string_equal(v.evidence[v.n_evidence - 1].text,
				    "Check failed: server_ Failed to start the grpc server.");
	}
	make(row_named(names[0]), &w);
	classify(&w.o, &v);
	assert_string_equal(
		v.sentence,
		"The GCS server gave up in container ray-head; `ray start` then most likely ended the container with exit code 1.");
	w.words.gave_up.at_ns = END - 61 * NS_PER_SEC;
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_APPLICATION_ERROR);
}

static void a_raylet_that_the_gcs_takes_for_dead_is_no_restart_of_the_head(void **state)
{
	struct verdict v;
	struct world w;

	(void)state;
	make(row_named("a restarted GCS does not know raylet, which aborts"), &w);
	snprintf(
		w.words.gcs_lost.line, sizeof(w.words.gcs_lost.line),
		"GCS consider this node to be dead. This may happen when GCS is not backed by a DB and restarted or there is data loss in the DB.");
	classify(&w.o, &v);
	assert_string_equal(
		v.sentence,
		"Container ray-head most likely ended because the GCS takes its raylet for dead: raylet missed the "
		"health checks of the GCS, or the head was restarted without its state.");
	snprintf(
		w.words.gcs_lost.line, sizeof(w.words.gcs_lost.line),
		"[Timeout] Exiting because this node manager has mistakenly been marked as dead by the GCS: GCS failed to check the health of this node "
		"for 5 times. This is likely because the machine or raylet has become overloaded.");
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_GCS_LOST);
	assert_string_equal(
		v.sentence,
		"Container ray-head most likely ended because its raylet did not answer the health checks of the GCS in "
		"time: it or its machine was overloaded or frozen, or the network failed.");
	assert_non_null(strstr(v.evidence[v.n_evidence - 1].text, "has become overloaded"));
	for (unsigned int i = 0; i < v.n_missing; i++)
		assert_null(strstr(v.missing[i].what, "became of the GCS"));
	classify_alive(&w, RAY_PROCESS_RAYLET, &v);
	assert_int_equal(v.class, FAILURE_GCS_LOST);
	assert_string_equal(
		v.sentence,
		"raylet in container ray-head most likely ended because it did not answer the health checks of the GCS in "
		"time: it or its machine was overloaded or frozen, or the network failed; the container lives on without it.");
}

static void a_drivers_exit_code_is_no_failure_of_ray(void **state)
{
	static const struct row failed = { "",
					   { { RAY_PROCESS_DRIVER, EXIT(1), 5000 } },
					   LOGGED_NOTHING,
					   0,
					   false,
					   0,
					   0,
					   NULL,
					   0,
					   0 };
	struct verdict v;
	struct world w;

	(void)state;
	make(&failed, &w);
	classify_alive(&w, RAY_PROCESS_DRIVER, &v);
	assert_int_equal(v.class, FAILURE_RAY_JOB_FAILED);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_string_equal(v.process.name, "driver");
	assert_string_equal(
		v.sentence,
		"The driver of a Ray job (PID 300) ended with exit code 1 in container ray-head; the container lives on.");
}

static void a_job_to_which_ray_refused_an_object_names_the_disk(void **state)
{
	static const struct row failed = {
		"", { { RAY_PROCESS_DRIVER, EXIT(1), 5000 } }, LOGGED_NOTHING, 0, false, 0, 0, NULL, 0, 0
	};
	struct verdict v;
	struct world w;

	(void)state;
	make(&failed, &w);
	w.words.object_refused = (struct ray_process_word){ .at_ns = END - 6 * NS_PER_SEC,
							    .line = "Out-of-disk: x" };
	w.words.disk_full = (struct ray_process_word){
		.at_ns = END - 6 * NS_PER_SEC,
		.line = "y.cc:1: /tmp/spill is over 95% full, available space: 0 GB"
	};
	classify_alive(&w, RAY_PROCESS_DRIVER, &v);
	assert_int_equal(v.class, FAILURE_RAY_JOB_FAILED);
	assert_true(v.object_refused);
	assert_non_null(strstr(
		v.sentence,
		"lives on. Ray had refused to create an object: /tmp/spill is over 95% full."));
	w.words.object_refused.at_ns = END - 300 * NS_PER_SEC;
	classify_alive(&w, RAY_PROCESS_DRIVER, &v);
	assert_null(strstr(v.sentence, "refused"));
}

#define SIGTERM_LOGGED "job-driver-j1.log: *** SIGTERM received at time=1795823443 on cpu 1 ***\n"

static void a_driver_that_got_sigterm_was_asked_to_stop(void **state)
{
	static const struct row stopped = { "",
					    { { RAY_PROCESS_DRIVER, EXIT(1), 5000 } },
					    LOGGED_NOTHING,
					    0,
					    false,
					    0,
					    0,
					    NULL,
					    0,
					    0 };
	struct verdict v;
	struct world w;

	(void)state;
	make(&stopped, &w);
	classify_alive(&w, RAY_PROCESS_DRIVER, &v);
	ray_driver_stopped_verdict(
		&w.o,
		"job-driver-j2.log: the job stops on SIGTERM\njob-driver-j2.log: KeyError: 3\n",
		&v);
	assert_int_equal(v.class, FAILURE_RAY_JOB_FAILED);
	ray_driver_stopped_verdict(&w.o, SIGTERM_LOGGED, &v);
	assert_int_equal(v.class, FAILURE_TERMINATED);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_string_equal(
		v.sentence,
		"The driver of a Ray job (PID 300) ended with exit code 1 in container ray-head; the container lives on. It was "
		"most likely asked to stop: its log says that it got SIGTERM, as `ray job stop` sends it.");
}

#define SUPERVISOR_KILLED \
	"jobs/supervisor-j1.log: 2026-11-28 07:41:48,443 WARNING job_supervisor.py:422 -- Attempt to gracefully terminate job j1 through " \
	"SIGTERM has timed out after 3 seconds. Job is now being force-killed with SIGKILL.\n"

/*
 * Ray 2.60: what hangs in its handler of SIGTERM aborts itself after 3 s, and what ignores SIGTERM
 * is killed.
 */
static void a_driver_that_its_supervisor_ended_was_stopped(void **state)
{
	static const struct {
		int status;
		const char *lines, *says; /* NULL: it was not stopped */
	} rows_of_stops[] = {
		{ SIGKILL, SUPERVISOR_KILLED,
		  "its supervisor's log says that it did not end in time and was killed, as `ray job stop` does it." },
		{ SIGABRT, SUPERVISOR_KILLED SIGTERM_LOGGED, "did not end in time and was killed" },
		{ SIGABRT, SIGTERM_LOGGED,
		  "its log says that it got SIGTERM, as `ray job stop` sends it." },
		{ EXIT(3),
		  "jobs/supervisor-j1.log: INFO Job j1 has been terminated gracefully with SIGTERM.\n",
		  "its supervisor's log says that it ended when it was asked to, as `ray job stop` does it." },
		{ SIGSEGV, SUPERVISOR_KILLED, NULL },
		/* The SIGTERM was that of a child, and the abort has a reason of its own. */
		{ SIGABRT,
		  SIGTERM_LOGGED
		  "job-driver-j1.log: free(): invalid pointer\njob-driver-j1.log: *** SIGABRT received at time=1 on cpu 1 ***\n",
		  NULL },
		/* The driver writes that, too. */
		{ SIGKILL, "job-driver-j1.log: " SUPERVISOR_KILLED, NULL },
	};
	struct verdict v;
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows_of_stops); i++) {
		struct row row = { .ends = { { RAY_PROCESS_DRIVER, rows_of_stops[i].status,
					       5000 } } };

		make(&row, &w);
		classify_alive(&w, RAY_PROCESS_DRIVER, &v);
		ray_driver_stopped_verdict(&w.o, rows_of_stops[i].lines, &v);
		assert_int_equal(v.class == FAILURE_TERMINATED, rows_of_stops[i].says != NULL);
		if (rows_of_stops[i].says && !strstr(v.sentence, rows_of_stops[i].says))
			fail_msg("%s", v.sentence);
	}
}

/*
 * Ray writes the lines of workers to the driver's log, too, and Python ends a driver's children
 * with SIGTERM.
 */
static void the_sigterm_of_another_process_does_not_stop_a_driver(void **state)
{
	static const struct row failed = { "",
					   { { RAY_PROCESS_DRIVER, EXIT(1), 5000 } },
					   LOGGED_NOTHING,
					   0,
					   false,
					   0,
					   0,
					   NULL,
					   0,
					   0 };
	static const char *const lines[] = {
		"job-driver-j1.log: (f pid=7) *** SIGTERM received at time=1795823443 on cpu 1 ***\n",
		"job-driver-j1.log: (f pid=7) [x E 7 7] logging.cc:474: *** SIGTERM received at time=1795823443 on cpu 1 ***\n",
		"job-driver-j1.log: KeyError: 3\n" SIGTERM_LOGGED,
	};
	struct verdict v;
	struct world w;

	(void)state;
	make(&failed, &w);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		classify_alive(&w, RAY_PROCESS_DRIVER, &v);
		ray_driver_stopped_verdict(&w.o, lines[i], &v);
		assert_int_equal(v.class, FAILURE_RAY_JOB_FAILED);
		assert_null(strstr(v.sentence, "asked to stop"));
	}
	classify_alive(&w, RAY_PROCESS_DRIVER, &v);
	ray_driver_stopped_verdict(&w.o, SIGTERM_LOGGED "job-driver-j1.log: KeyError: 3\n", &v);
	assert_int_equal(v.class, FAILURE_TERMINATED);
}

static void a_driver_that_crashed_or_that_the_oom_killer_took_was_not_stopped(void **state)
{
	static const struct row crashed = { "",
					    { { RAY_PROCESS_DRIVER, SIGSEGV, 5000 } },
					    LOGGED_NOTHING,
					    0,
					    false,
					    0,
					    0,
					    NULL,
					    0,
					    0 };
	static const struct row taken = { "",
					  { { RAY_PROCESS_DRIVER, SIGKILL, 5000 } },
					  LOGGED_NOTHING,
					  0,
					  false,
					  0,
					  0,
					  NULL,
					  0,
					  0 };
	struct verdict v;
	struct world w;

	(void)state;
	make(&crashed, &w);
	classify_alive(&w, RAY_PROCESS_DRIVER, &v);
	ray_driver_stopped_verdict(&w.o, SIGTERM_LOGGED, &v);
	assert_int_equal(v.class, FAILURE_RAY_JOB_FAILED);
	make(&taken, &w);
	classify_alive(&w, RAY_PROCESS_DRIVER, &v);
	ray_driver_stopped_verdict(&w.o, SIGTERM_LOGGED, &v);
	assert_int_equal(v.class, FAILURE_TERMINATED);
	w.o.process_oom_ns = w.ends[0].ended_ns - NS_PER_SEC;
	classify_alive(&w, RAY_PROCESS_DRIVER, &v);
	ray_driver_stopped_verdict(&w.o, SIGTERM_LOGGED, &v);
	assert_int_equal(v.class, FAILURE_RAY_JOB_FAILED);
	assert_non_null(strstr(v.sentence, "most likely by the kernel's OOM killer"));
}

static void a_driver_whose_exception_names_a_node_says_so(void **state)
{
	struct ray_error error = { .name = "NodeDiedError",
				   .line = "ray.exceptions.NodeDiedError: x",
				   .ip = "10.0.0.7" };
	struct verdict v = { .sentence = "The driver ended." };

	(void)state;
	ray_error_verdict(&error, &v);
	assert_string_equal(
		v.sentence,
		"The driver ended. Its last exception is Ray's NodeDiedError, about node 10.0.0.7.");
	assert_string_equal(v.evidence[0].text, error.line);
	assert_int_equal(v.n_missing, 1);
	error.ip[0] = '\0';
	v = (struct verdict){ .sentence = "The driver ended." };
	ray_error_verdict(&error, &v);
	assert_string_equal(v.sentence,
			    "The driver ended. Its last exception is Ray's NodeDiedError.");
	assert_int_equal(v.n_missing, 0);
	v = (struct verdict){ .sentence = "The driver ended." };
	ray_error_verdict(&(struct ray_error){ .name = "ActorDiedError", .meant = "ray.kill" }, &v);
	assert_string_equal(
		v.sentence,
		"The driver ended. Its last exception is Ray's ActorDiedError, about what a program of the job had ended itself, by ray.kill.");
	assert_int_equal(v.n_missing, 0);
	memset(v.sentence, 'x', sizeof(v.sentence) - 1);
	ray_error_verdict(&error, &v);
	assert_int_equal(strlen(v.sentence), sizeof(v.sentence) - 1);
}

static void a_gcs_server_that_was_asked_to_stop_and_then_killed_was_stopped(void **state)
{
	static const struct row killed = { "",
					   { { RAY_PROCESS_GCS_SERVER, 9, 2000 } },
					   LOGGED_STOPPED_BEFORE,
					   0,
					   false,
					   0,
					   0,
					   NULL,
					   0,
					   0 };
	struct verdict v;
	struct world w;

	(void)state;
	make(&killed, &w);
	classify_alive(&w, RAY_PROCESS_GCS_SERVER, &v);
	assert_int_equal(v.class, FAILURE_TERMINATED);
	assert_string_equal(
		v.sentence,
		"Ray was most likely stopped in container ray-head: raylet got SIGTERM, as `ray stop` sends it, and the "
		"GCS server then was killed with SIGKILL; the container lives on without it.");
	/*
	 * The OOM killer came just then. In a cgroup that others share that may have been for one
	 * of theirs.
	 */
	w.o.process_oom_ns = w.ends[0].ended_ns;
	classify_alive(&w, RAY_PROCESS_GCS_SERVER, &v);
	assert_int_equal(v.class, FAILURE_GCS_FAILED);
	assert_non_null(strstr(v.sentence, "most likely by the kernel's OOM killer"));
	w.o.cgroup_shared = true;
	classify_alive(&w, RAY_PROCESS_GCS_SERVER, &v);
	assert_int_equal(v.class, FAILURE_TERMINATED);
}

/*
 * Several raylets may run on one machine, and another one may be started after a kill and then be
 * stopped.
 */
static void what_another_raylet_logs_says_nothing_of_this_one(void **state)
{
	static const struct row killed = {
		"", { { RAY_PROCESS_RAYLET, 9, 5000 } }, LOGGED_STOPPED, 0, false, 0, 0, NULL, 0, 0
	};
	static const struct row ended = {
		"", { { RAY_PROCESS_RAYLET, 0, 5000 } }, LOGGED_STOPPED, 0, false, 0, 0, NULL, 0, 0
	};
	static const struct row agent = { "",
					  { { RAY_PROCESS_RAYLET, EXIT(1), 5000 } },
					  LOGGED_AGENT,
					  0,
					  false,
					  0,
					  0,
					  NULL,
					  0,
					  0 };
	struct verdict v;
	struct world w;

	(void)state;
	make(&killed, &w);
	classify_alive(&w, RAY_PROCESS_RAYLET, &v);
	assert_int_equal(v.class, FAILURE_TERMINATED);
	w.words.stopped.pid = 77;
	classify_alive(&w, RAY_PROCESS_RAYLET, &v);
	assert_int_equal(v.class, FAILURE_RAYLET_FAILED);
	assert_string_equal(
		v.sentence,
		"raylet (PID 300) was killed with SIGKILL in container ray-head; the container lives on without it.");
	/* A line without a PID proves nothing of a process that was killed. */
	w.words.stopped.pid = 0;
	classify_alive(&w, RAY_PROCESS_RAYLET, &v);
	assert_int_equal(v.class, FAILURE_RAYLET_FAILED);
	make(&ended, &w);
	w.words.stopped.pid = 77;
	classify_alive(&w, RAY_PROCESS_RAYLET, &v);
	assert_null(strstr(v.sentence, "got SIGTERM"));
	make(&agent, &w);
	w.words.agent_failed.pid = 77;
	classify_alive(&w, RAY_PROCESS_RAYLET, &v);
	assert_string_equal(v.process.name, "raylet");
}

static void a_raylet_that_was_asked_to_stop_and_that_the_oom_killer_took_was_not_stopped(void **state)
{
	static const struct row killed = { "",
					   { { RAY_PROCESS_RAYLET, 9, 2000 } },
					   LOGGED_STOPPED_BEFORE,
					   1,
					   false,
					   0,
					   0,
					   NULL,
					   0,
					   0 };
	struct verdict v;
	struct world w;

	(void)state;
	make(&killed, &w);
	w.o.process_oom_ns = w.ends[0].ended_ns;
	classify(&w.o, &v);
	assert_int_equal(v.class, FAILURE_RAYLET_FAILED);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_non_null(strstr(v.sentence, "most likely by the kernel's OOM killer"));
}

static void a_gcs_server_that_is_gone_is_reported_while_its_container_lives(void **state)
{
	static const struct row gone = { "",
					 { { RAY_PROCESS_GCS_SERVER, 11, 5000 } },
					 LOGGED_NOTHING,
					 0,
					 false,
					 0,
					 0,
					 NULL,
					 0,
					 0 };
	struct verdict v;
	struct world w;

	(void)state;
	make(&gone, &w);
	classify_alive(&w, RAY_PROCESS_GCS_SERVER, &v);
	assert_int_equal(v.class, FAILURE_GCS_FAILED);
	assert_int_equal(v.confidence, CONFIDENCE_CERTAIN);
	assert_string_equal(
		v.sentence,
		"The GCS server (PID 300) crashed with SIGSEGV in container ray-head; the container lives on.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gcs_server_explains_what_waited_a_minute_for_it),
		cmocka_unit_test(what_ended_first_explains_the_end),
		cmocka_unit_test(an_object_that_was_refused_hides_no_other_cause),
		cmocka_unit_test(a_sentence_says_that_ray_start_followed),
		cmocka_unit_test(a_driver_that_stops_its_raylet_ended_for_reasons_of_its_own),
		cmocka_unit_test(
			where_the_kernel_may_have_killed_a_drivers_raylet_the_order_stays_open),
		cmocka_unit_test(a_driver_that_ended_because_of_an_oom_killed_worker_is_recognized),
		cmocka_unit_test(a_pod_that_is_deleted_stops_its_processes),
		cmocka_unit_test(
			a_raylet_that_hangs_when_its_container_is_asked_to_stop_has_not_failed),
		cmocka_unit_test(
			a_raylet_that_was_dead_before_the_container_was_asked_to_stop_has_failed),
		cmocka_unit_test(a_crash_of_rays_own_outweighs_a_request_to_stop),
		cmocka_unit_test(what_ray_start_wrote_before_the_request_is_no_part_of_the_stop),
		cmocka_unit_test(a_sigkill_is_certain_only_when_it_was_not_the_oom_killer),
		cmocka_unit_test(an_oom_kill_of_raylet_keeps_its_class),
		cmocka_unit_test(
			the_first_of_rays_processes_that_a_sigkill_ended_is_the_oom_killers_victim),
		cmocka_unit_test(a_process_that_oomgroup_ended_is_not_the_oom_killers_victim),
		cmocka_unit_test(an_oom_kill_of_ray_start_is_none_of_its_children),
		cmocka_unit_test(an_oom_kill_of_an_agent_names_it_as_ray_does),
		cmocka_unit_test(
			an_oom_kill_that_is_reported_already_is_no_certain_kill_by_somebody),
		cmocka_unit_test(
			what_ends_in_the_moment_of_its_driver_was_not_taken_by_the_oom_killer_seconds_before),
		cmocka_unit_test(what_is_certain_does_not_lack_whether_it_was_an_earlier_oom_kill),
		cmocka_unit_test(an_oom_kill_of_a_worker_is_not_the_cause_of_raylets_crash),
		cmocka_unit_test(a_full_disk_explains_an_exit_code_and_no_sigkill),
		cmocka_unit_test(the_crash_of_a_process_of_ray_names_its_function),
		cmocka_unit_test(an_agent_that_was_killed_took_raylet_along),
		cmocka_unit_test(the_agent_that_raylet_names_counts_also_when_it_was_seen_late),
		cmocka_unit_test(ray_stop_is_not_a_crash),
		cmocka_unit_test(a_raylet_that_left_without_a_word_may_have_been_stopped_or_not),
		cmocka_unit_test(a_gcs_server_that_ended_in_order_was_stopped),
		cmocka_unit_test(why_a_gcs_server_gave_up_is_told),
		cmocka_unit_test(a_raylet_that_the_gcs_takes_for_dead_is_no_restart_of_the_head),
		cmocka_unit_test(a_drivers_exit_code_is_no_failure_of_ray),
		cmocka_unit_test(a_driver_that_got_sigterm_was_asked_to_stop),
		cmocka_unit_test(a_job_to_which_ray_refused_an_object_names_the_disk),
		cmocka_unit_test(a_driver_that_its_supervisor_ended_was_stopped),
		cmocka_unit_test(the_sigterm_of_another_process_does_not_stop_a_driver),
		cmocka_unit_test(a_driver_that_crashed_or_that_the_oom_killer_took_was_not_stopped),
		cmocka_unit_test(a_driver_whose_exception_names_a_node_says_so),
		cmocka_unit_test(a_gcs_server_that_was_asked_to_stop_and_then_killed_was_stopped),
		cmocka_unit_test(what_another_raylet_logs_says_nothing_of_this_one),
		cmocka_unit_test(
			a_raylet_that_was_asked_to_stop_and_that_the_oom_killer_took_was_not_stopped),
		cmocka_unit_test(a_gcs_server_that_is_gone_is_reported_while_its_container_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
