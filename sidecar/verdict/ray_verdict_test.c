/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the verdict on workers whose death Ray logs, as a table. */
#include "sidecar/verdict/ray_verdict.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "sidecar/verdict/classify.h"

#define MIB ((int64_t)1 << 20)
#define LIVES .container = "ray-worker", .container_lives = true
#define FULL(percent) .cgroup_version = 2, .last = { .limit = 100 * MIB, .usage = (percent) * MIB }
#define NO_OOM .after_known = true, .before = { .oom_kill = 2 }, .after = { .oom_kill = 2 }
#define SENT_BY(name, signo) \
	.n_signals = 1, \
	.signals = &(const struct node_signal){ .target = 706, .signal = (signo), .sender = 4000, .sender_own = 12, .place = NODE_SIGNAL_SAME, .comm = (name) }
#define TABLE "706\t0.71\tray::leak\n321\t0.07\tray::DashboardAgent\n43\t0.07\t/usr/bin/python3 -m x\n8\t0.01\ty\n"

static const struct {
	const char *what;
	struct ray_finding finding;
	struct observation seen;
	enum failure_class class;
	enum confidence confidence;
	const char *sentence, *evidence[3], *missing;
} rows[] = {
	{ "a memory kill that our samples bear out",
	  { .file = "raylet.out", .gone = true,
	    .event = { RAY_MEMORY_KILL, .pid = 706, .workers = 1, .task = "ray::leak", .held = "0.71GB",
		       .memory = "1.42GB used / 1.46GB limit (0.97)", .detail = "exceeded threshold", .table = TABLE } },
	  { LIVES, FULL(96), .ray_seen = true }, FAILURE_RAY_MEMORY_MONITOR, CONFIDENCE_CERTAIN,
	  "Ray's memory monitor killed ray::leak (PID 706), which held 0.71GB in container ray-worker: memory was at 1.42GB used",
	  { "exceeded threshold", "96 % of the limit", "ray::leak (PID 706) 0.71 GB, ray::DashboardAgent (PID 321) 0.07 GB" },
	  NULL },
	{ "a memory kill that our samples do not bear out: forged, or on SIGTERM",
	  { .event = { RAY_MEMORY_KILL, .pid = 706, .workers = 1, .task = "ray::leak" } }, { LIVES, FULL(20) },
	  FAILURE_RAY_MEMORY_MONITOR, CONFIDENCE_LIKELY, "Ray says that its memory monitor killed ray::leak (PID 706)", { "less than Ray's words let expect" }, NULL },
	{ "a memory kill, and the OOM killer took a process as well: perhaps that one",
	  { .event = { RAY_MEMORY_KILL, .pid = 706, .workers = 1, .task = "ray::leak" } },
	  { LIVES, FULL(96), .after_known = true, .before = { .oom_kill = 0 }, .after = { .oom_kill = 1 } }, FAILURE_RAY_MEMORY_MONITOR,
	  CONFIDENCE_LIKELY, "Ray says that its memory monitor killed ray::leak (PID 706)", { "oom_kill 0 -> 1" }, NULL },
	{ "a memory kill of a process that lives on", { .event = { RAY_MEMORY_KILL, .pid = 706, .workers = 1, .task = "ray::leak" } },
	  { LIVES, FULL(96), .ray_seen = true }, FAILURE_RAY_MEMORY_MONITOR, CONFIDENCE_LIKELY,
	  "Ray says that its memory monitor killed ray::leak (PID 706)", { "96 %", "PID 706 is there still" }, NULL },
	{ "a memory kill of a process that nobody has seen",
	  { .gone = true, .event = { RAY_MEMORY_KILL, .pid = 706, .workers = 1, .task = "ray::leak" } }, { LIVES, FULL(96) },
	  FAILURE_RAY_MEMORY_MONITOR, CONFIDENCE_LIKELY, "Ray says that its memory monitor killed ray::leak (PID 706)",
	  { "PID 706 was not among" }, NULL },
	{ "a memory kill that the wait status bears out",
	  { .gone = true, .event = { RAY_MEMORY_KILL, .pid = 706, .workers = 1, .task = "ray::leak" } },
	  { LIVES, FULL(96), .ray_seen = true, .worker_ended = true, .worker_status = SIGKILL }, FAILURE_RAY_MEMORY_MONITOR, CONFIDENCE_CERTAIN,
	  "Ray's memory monitor killed ray::leak (PID 706)", { "PID 706 is gone" }, NULL },
	{ "a memory kill of a worker that ended otherwise by its wait status: forged, or the worker was faster",
	  { .gone = true, .event = { RAY_MEMORY_KILL, .pid = 706, .workers = 1, .task = "ray::leak", .detail = "exceeded threshold" } },
	  { LIVES, FULL(96), .ray_seen = true, .worker_ended = true, .worker_status = 3 << 8 }, FAILURE_WORKER_CRASH, CONFIDENCE_CERTAIN,
	  "Ray worker ray::leak (PID 706) in container ray-worker ended with exit code 3", { "exceeded threshold", "(PID 706) ended with exit code 3" }, NULL },
	{ "a memory kill whose SIGKILL raylet sent",
	  { .gone = true, .event = { RAY_MEMORY_KILL, .pid = 706, .workers = 1, .task = "ray::leak" } },
	  { LIVES, FULL(96), .ray_seen = true, SENT_BY("raylet", SIGKILL) }, FAILURE_RAY_MEMORY_MONITOR, CONFIDENCE_CERTAIN,
	  "Ray's memory monitor killed ray::leak (PID 706)", { "from raylet (PID 12)" }, NULL },
	{ "a memory kill whose SIGKILL another process sent",
	  { .gone = true, .event = { RAY_MEMORY_KILL, .pid = 706, .workers = 1, .task = "ray::leak" } },
	  { LIVES, FULL(96), .ray_seen = true, SENT_BY("python3", SIGKILL) }, FAILURE_RAY_MEMORY_MONITOR, CONFIDENCE_LIKELY,
	  "Ray says that its memory monitor killed ray::leak (PID 706)", { "from python3 (PID 12)" }, NULL },
	{ "a memory kill whose SIGTERM another process sent",
	  { .gone = true, .event = { RAY_MEMORY_KILL, .pid = 706, .workers = 1, .task = "ray::leak" } },
	  { LIVES, FULL(96), .ray_seen = true, .worker_ended = true, .worker_status = SIGTERM, SENT_BY("python3", SIGTERM) },
	  FAILURE_RAY_MEMORY_MONITOR, CONFIDENCE_LIKELY, "Ray says that its memory monitor killed ray::leak (PID 706)", { "from python3 (PID 12)" }, NULL },
	{ "several at once, none named", { .event = { RAY_MEMORY_KILL, .workers = 3 } }, { LIVES, FULL(96) },
	  FAILURE_RAY_MEMORY_MONITOR, CONFIDENCE_LIKELY, "killed a worker and 2 more in container", { "3 worker(s)" },
	  "which process the monitor killed" },
	{ "no limit to compare with", { .event = { RAY_MEMORY_KILL, .pid = 1, .workers = 1 } },
	  { LIVES, .last = MEMORY_ABSENT }, FAILURE_RAY_MEMORY_MONITOR, CONFIDENCE_LIKELY, "a worker (PID 1)", { "1 worker" },
	  NULL },
	{ "a crash with a signal",
	  { .gone = true, .logged_signal = "SIGSEGV", .file = "events/event_RAYLET.log",
	    .event = { RAY_WORKER_CRASH, .pid = 458, .task = "ray::segv", .detail = "End of file." } },
	  { LIVES, FULL(50), NO_OOM, .ray_seen = true }, FAILURE_WORKER_CRASH, CONFIDENCE_CERTAIN,
	  "Ray worker ray::segv (PID 458) in container ray-worker died of SIGSEGV",
	  { "End of file.", "SIGSEGV received", "not the OOM killer: its counter stayed at 2, 50 %" }, "core file and backtrace" },
	{ "a crash of a process that nobody has seen, perhaps a line that somebody made up",
	  { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 99999 } }, { LIVES, FULL(50), NO_OOM }, FAILURE_WORKER_CRASH, CONFIDENCE_LIKELY,
	  "Ray says that its worker (PID 99999) in container ray-worker died unexpectedly", { "PID 99999 was not among" },
	  "what ended the worker" },
	{ "a worker that ended before it was ready",
	  { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458, .detail = "The process is dead, probably it crashed during start." } }, { LIVES, FULL(50), NO_OOM },
	  FAILURE_WORKER_CRASH, CONFIDENCE_LIKELY, "Ray says that its worker (PID 458) in container ray-worker died as it started; the container lives on.",
	  { "probably it crashed during start" }, "what else the worker wrote" },
	{ "a worker that never began, because its environment could not be made",
	  { .event = { RAY_NO_ENVIRONMENT, .detail = "ERROR: No matching distribution found for x" } }, { LIVES, FULL(50), NO_OOM },
	  FAILURE_WORKER_CRASH, CONFIDENCE_LIKELY,
	  "Ray says that it could not make a runtime environment in container ray-worker, so no worker started for it; the container lives on.",
	  { "No matching distribution" }, "what else was written" },
	{ "a worker whose interpreter is not there, so that the shell of its start ended",
	  { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458, .detail = "The process is dead, probably it crashed during start." } },
	  { LIVES, FULL(50), NO_OOM, .worker_ended = true, .worker_status = 127 << 8 }, FAILURE_WORKER_CRASH, CONFIDENCE_CERTAIN,
	  "Ray worker (PID 458) in container ray-worker ended with exit code 127, as a shell does that does not find a program; the container lives on.",
	  { "probably it crashed during start" }, "what else the worker wrote" },
	{ "a crash of a worker that exited with 0", { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458 } },
	  { LIVES, FULL(50), NO_OOM, .worker_ended = true }, FAILURE_WORKER_CRASH, CONFIDENCE_LIKELY,
	  "Ray worker (PID 458) in container ray-worker ended with exit code 0", { "exit code 0", "PID 458 is gone" }, NULL },
	{ "a crash whose core the node agent brought",
	  { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458 } },
	  { LIVES, FULL(50), NO_OOM, .crash = &(const struct crash_info){ .by_node = true, .known = true, .unwound = true, .signal = SIGSEGV } },
	  FAILURE_WORKER_CRASH, CONFIDENCE_CERTAIN, "died of SIGSEGV", { "PID 458 is gone" }, NULL },
	{ "a core with its PID, and another wait status: the core was copied or forged",
	  { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458 } },
	  { LIVES, FULL(50), NO_OOM, .worker_ended = true, .worker_status = SIGKILL,
	    .crash = &(const struct crash_info){ .known = true, .unwound = true, .signal = SIGSEGV, .function = "f", .module = "/x/m.so" } },
	  FAILURE_WORKER_CRASH, CONFIDENCE_CERTAIN, "(PID 458) in container ray-worker was killed with SIGKILL; the container", { "PID 458 is gone" }, "who sent the SIGKILL" },
	{ "a crash without one, and the OOM killer has been",
	  { .event = { RAY_WORKER_CRASH, .pid = 458 } },
	  { LIVES, FULL(50), .after_known = true, .before = { .oom_kill = 0 }, .after = { .oom_kill = 1 } },
	  FAILURE_WORKER_CRASH, CONFIDENCE_LIKELY, "Ray says that its worker (PID 458) in container ray-worker died unexpectedly",
	  { "PID 458 is there still" }, "what ended the worker" },
	{ "a worker that is gone, as the OOM killer has taken somebody",
	  { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458 } },
	  { LIVES, FULL(50), .ray_seen = true, .after_known = true, .before = { .oom_kill = 0 }, .after = { .oom_kill = 1 } },
	  FAILURE_WORKER_CRASH, CONFIDENCE_LIKELY, "Ray worker (PID 458) in container ray-worker died unexpectedly",
	  { "oom_kill 0 -> 1: it took a process shortly before", "PID 458 is gone" }, "what ended the worker" },
	{ "a worker with a signal of its own, as the OOM killer has taken somebody",
	  { .gone = true, .logged_signal = "SIGSEGV", .event = { RAY_WORKER_CRASH, .pid = 458 } },
	  { LIVES, FULL(50), .ray_seen = true, .after_known = true, .before = { .oom_kill = 0 }, .after = { .oom_kill = 1 } },
	  FAILURE_WORKER_CRASH, CONFIDENCE_CERTAIN, "died of SIGSEGV", { "oom_kill 0 -> 1" }, "core file and backtrace" },
	{ "a task that calls sys.exit(3)",
	  { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458, .task = "ray::quit",
				     .detail = "The leased worker has unrecoverable failure. Worker exits with an exit code 3. The worker may" } },
	  { LIVES, FULL(50), NO_OOM, .ray_seen = true }, FAILURE_WORKER_CRASH, CONFIDENCE_CERTAIN,
	  "Ray worker ray::quit (PID 458) in container ray-worker ended with exit code 3; the container lives on.",
	  { "exit code 3", "PID 458 is gone" }, NULL },
	{ "a task that calls sys.exit(4), whose worker raylet kills as it leaves",
	  { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458, .task = "ray::quit",
				     .detail = "Worker is requested to be destroyed when it is returned. Worker exits with an exit code 4." } },
	  { LIVES, FULL(50), NO_OOM, .worker_ended = true, .worker_status = SIGKILL }, FAILURE_WORKER_CRASH, CONFIDENCE_CERTAIN,
	  "called exit with code 4, as Ray's log says, and then was killed with SIGKILL; the container lives on.",
	  { "exit code 4", "(PID 458) was killed with SIGKILL" }, "who sent the SIGKILL" },
	{ "another exit code in Ray's log than in the wait status",
	  { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458, .detail = "Worker exits with an exit code 4." } },
	  { LIVES, FULL(50), NO_OOM, .worker_ended = true, .worker_status = 5 << 8 }, FAILURE_WORKER_CRASH, CONFIDENCE_CERTAIN,
	  "Ray worker (PID 458) in container ray-worker called exit with code 4, as Ray's log says, and then ended with exit code 5; the container",
	  { "exit code 4", "exit code 5" }, NULL },
	{ "a worker that got SIGTERM and did not end in time",
	  { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458, .detail = "Worker exits with an exit code 1. The process receives a SIGTERM." } },
	  { LIVES, FULL(50), NO_OOM, .worker_ended = true, .worker_status = SIGKILL }, FAILURE_WORKER_CRASH, CONFIDENCE_CERTAIN,
	  "Ray worker (PID 458) in container ray-worker was killed with SIGKILL; the container", { "receives a SIGTERM" }, "who sent the SIGKILL" },
	{ "a worker of which Ray knows no exit code",
	  { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458, .detail = "Worker exits with an exit code None." } },
	  { LIVES, FULL(50), NO_OOM, .ray_seen = true }, FAILURE_WORKER_CRASH, CONFIDENCE_CERTAIN, "died unexpectedly", { "None" }, "what ended the worker" },
	{ "a worker that somebody killed, or the kernel at its limit of CPU time, which no sample shows",
	  { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458, .task = "ray::f" } },
	  { LIVES, FULL(50), NO_OOM, .worker_ended = true, .worker_status = SIGKILL }, FAILURE_WORKER_CRASH, CONFIDENCE_CERTAIN,
	  "Ray worker ray::f (PID 458) in container ray-worker was killed with SIGKILL; the container lives on.",
	  { "the worker (PID 458) was killed with SIGKILL", "not the OOM killer" }, "who sent the SIGKILL" },
	{ "a worker that SIGKILL ended while the OOM killer took a process",
	  { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458 } },
	  { LIVES, FULL(99), .after_known = true, .before = { .oom_kill = 0 }, .after = { .oom_kill = 1 }, .worker_ended = true, .worker_status = SIGKILL },
	  FAILURE_WORKER_CRASH, CONFIDENCE_LIKELY, "was killed with SIGKILL, perhaps by the kernel's OOM killer; the", { "oom_kill 0 -> 1" }, "who sent the SIGKILL" },
	{ "the same in a cgroup that others share",
	  { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458 } },
	  { LIVES, FULL(20), .cgroup_shared = true, .after_known = true, .before = { .oom_kill = 0 }, .after = { .oom_kill = 1 }, .worker_ended = true,
	    .worker_status = SIGKILL },
	  FAILURE_WORKER_CRASH, CONFIDENCE_LIKELY, "was killed with SIGKILL, perhaps by the kernel's OOM killer; the", { "oom_kill 0 -> 1" }, "who sent the SIGKILL" },
	{ "the same, reported already, so that the counters begin after it",
	  { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458 } },
	  { LIVES, FULL(50), NO_OOM, .ended_ns = 60000000000, .process_oom_ns = 53000000000, .worker_ended = true, .worker_status = SIGKILL },
	  FAILURE_WORKER_CRASH, CONFIDENCE_CERTAIN, "was killed with SIGKILL, perhaps by the kernel's OOM killer; the",
	  { "it took a process 7.0 s before, perhaps this one" }, "who sent the SIGKILL" },
	{ "a worker that the OOM killer took as it started, a minute before raylet says so",
	  { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458, .detail = "The process is dead, probably it crashed during start." } },
	  { LIVES, FULL(50), NO_OOM, .ended_ns = 120000000000, .process_oom_ns = 62000000000, .worker_ended = true, .worker_status = SIGKILL },
	  FAILURE_WORKER_CRASH, CONFIDENCE_CERTAIN, "was killed with SIGKILL, perhaps by the kernel's OOM killer; the",
	  { "it took a process 58.0 s before, perhaps this one" }, "what else the worker wrote" },
	{ "os._exit(42) while the OOM killer took another process",
	  { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458 } },
	  { LIVES, FULL(99), .after_known = true, .before = { .oom_kill = 0 }, .after = { .oom_kill = 1 }, .worker_ended = true, .worker_status = 42 << 8 },
	  FAILURE_WORKER_CRASH, CONFIDENCE_CERTAIN, "Ray worker (PID 458) in container ray-worker ended with exit code 42; the", { "exit code 42", "another one" }, NULL },
	{ "a crash without a core", { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458 } },
	  { LIVES, FULL(50), NO_OOM, .worker_ended = true, .worker_status = SIGBUS }, FAILURE_WORKER_CRASH, CONFIDENCE_CERTAIN,
	  "crashed with SIGBUS; the container lives on", { "crashed with SIGBUS" }, "core file and backtrace" },
	{ "Ray's handler logged the first signal, and the worker ended by another",
	  { .gone = true, .logged_signal = "SIGSEGV", .event = { RAY_WORKER_CRASH, .pid = 458 } },
	  { LIVES, FULL(50), NO_OOM, .worker_ended = true, .worker_status = SIGABRT }, FAILURE_WORKER_CRASH, CONFIDENCE_CERTAIN,
	  "died of SIGSEGV", { "SIGSEGV received", "crashed with SIGABRT" }, "core file and backtrace" },
	{ "a kernel before 6.15", { .gone = true, .event = { RAY_WORKER_CRASH, .pid = 458 } },
	  { LIVES, FULL(50), NO_OOM, .worker_ended = true, .worker_status = -1 }, FAILURE_WORKER_CRASH, CONFIDENCE_CERTAIN, "died unexpectedly", { NULL },
	  "what ended the worker" },
	{ "of nobody knows whom", { .event = { RAY_WORKER_CRASH } }, { LIVES, FULL(50) }, FAILURE_WORKER_CRASH,
	  CONFIDENCE_LIKELY, "Ray says that its worker in container ray-worker died unexpectedly", { NULL }, "what ended the worker" },
	{ "descriptors ran out in a worker, which died",
	  { .gone = true, .event = { RAY_FDS_EXHAUSTED, .pid = 5, .task = "ray::open", .detail = "OSError: [Errno 24]" } },
	  { LIVES, FULL(50), NO_OOM }, FAILURE_FILE_DESCRIPTORS_EXHAUSTED, CONFIDENCE_LIKELY, "died after open files ran out",
	  { "OSError" }, NULL },
	{ "descriptors ran out in raylet", { .file = "raylet.out", .event = { RAY_FDS_EXHAUSTED, .detail = "accept" } },
	  { LIVES, FULL(50) }, FAILURE_FILE_DESCRIPTORS_EXHAUSTED, CONFIDENCE_LIKELY, "Ray's logs say \"Too many open files\" in container ray-worker; the container",
	  { "accept" }, NULL },
	{ "others like it", { .left_out = 49, .event = { RAY_WORKER_CRASH, .pid = 1 } }, { LIVES }, FAILURE_WORKER_CRASH,
	  CONFIDENCE_LIKELY, "PID 1", { "49 more like this one" }, "what ended" },
	/* The container died, and Ray had logged something shortly before. */
	{ "exit 1 after descriptors ran out", { .file = "raylet.out", .event = { RAY_FDS_EXHAUSTED, .detail = "Too many open files" } },
	  { .container = "ray-worker", .status_known = true, .wait_status = 1 << 8 }, FAILURE_FILE_DESCRIPTORS_EXHAUSTED,
	  CONFIDENCE_LIKELY, "exit code 1, shortly after Ray's logs reported \"Too many open files\".", { "shortly before: Too many" }, "memory of" },
	{ "SIGTERM after descriptors ran out", { .event = { RAY_FDS_EXHAUSTED, .detail = "Too many open files" } },
	  { .container = "ray-worker", .status_known = true, .wait_status = 15 }, FAILURE_TERMINATED, CONFIDENCE_CERTAIN,
	  "SIGTERM", { "shortly before: Too many" }, "memory of" },
	{ "exit 1 after raylet crashed",
	  { .file = "raylet.err", .event = { RAY_DAEMON_CRASH, .detail = "logging.cc:474: *** SIGSEGV received at time=1 on cpu 1 ***" } },
	  { .container = "ray-worker", .status_known = true, .wait_status = 1 << 8 }, FAILURE_APPLICATION_ERROR,
	  CONFIDENCE_LIKELY, "exit code 1, shortly after raylet crashed with SIGSEGV.", { "shortly before: logging.cc" }, "memory of" },
	{ "exit 1 after a worker crashed", { .event = { RAY_WORKER_CRASH, .pid = 4, .detail = "gone" } },
	  { .container = "ray-worker", .status_known = true, .wait_status = 1 << 8 }, FAILURE_APPLICATION_ERROR,
	  CONFIDENCE_LIKELY, "exit code 1", { "shortly before: gone" }, "memory of" },
	{ "the same, where the counters rule the OOM killer out", { .event = { RAY_WORKER_CRASH, .pid = 4, .detail = "gone" } },
	  { .container = "ray-worker", .status_known = true, .wait_status = 1 << 8, FULL(50), NO_OOM }, FAILURE_APPLICATION_ERROR,
	  CONFIDENCE_CERTAIN, "exit code 1", { "shortly before: gone", "oom_kill stayed at 2" }, NULL },
};

static bool has_evidence(const struct verdict *v, const char *part)
{
	for (unsigned int i = 0; i < v->n_evidence; i++)
		if (strstr(v->evidence[i].text, part))
			return true;
	return false;
}

static bool check_row(size_t i)
{
	struct observation seen = rows[i].seen;
	struct verdict v;
	bool right;

	seen.ray = &rows[i].finding;
	classify(&seen, &v);
	right = v.class == rows[i].class && v.confidence == rows[i].confidence &&
		strstr(v.sentence, rows[i].sentence) &&
		(!seen.container_lives || (v.exit_code == -1 && strstr(v.sentence, "lives on")));
	for (size_t e = 0; e < ARRAY_SIZE(rows[i].evidence) && rows[i].evidence[e]; e++)
		right = right && has_evidence(&v, rows[i].evidence[e]);
	if (rows[i].missing)
		right = right && v.n_missing > 0 && strstr(v.missing[0].what, rows[i].missing);
	else
		right = right && v.n_missing == 0;
	if (right)
		return true;
	print_error("%s: %s, %s: %s\n", rows[i].what, failure_class_name(v.class),
		    confidence_name(v.confidence), v.sentence);
	for (unsigned int e = 0; e < v.n_evidence; e++)
		print_error("    %s: %s\n", v.evidence[e].source, v.evidence[e].text);
	for (unsigned int m = 0; m < v.n_missing; m++)
		print_error("    missing %s\n", v.missing[m].what);
	return false;
}

static void whatever_ray_says_has_its_verdict(void **state)
{
	unsigned int wrong = 0;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		wrong += !check_row(i);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_ray_says_has_its_verdict),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
