/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the classifier, as one table: what was observed, and which verdict follows. */
#include "sidecar/verdict/classify.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/units.h"

#define GIB ((int64_t)1 << 30)
#define S NS_PER_SEC

#define EXITED(code) .status_known = true, .wait_status = (code) << 8
#define SIGNALED(signo) .status_known = true, .wait_status = (signo)
#define UNSTARTED(errnum, exists, name) .unstarted = &(const struct unstarted){ (errnum), (exists), (name) }
/* A container with a v2 cgroup whose counters were read before and after. */
#define COUNTED(b_kill, a_kill, b_group, a_group) \
	.cgroup_version = 2, .after_known = true, \
	.before = { .limit = GIB, .oom_kill = (b_kill), .oom_group_kill = (b_group), .oom = (b_kill), .limit_hits = -1 }, \
	.latest = { .oom_kill = (b_kill), .oom_group_kill = (b_group) }, \
	.after = { .limit = GIB, .oom_kill = (a_kill), .oom_group_kill = (a_group), .oom = (a_kill), .limit_hits = -1 }
#define QUIET COUNTED(0, 0, 0, 0)
#define V1_COUNTED(b_kill, a_kill) \
	.cgroup_version = 1, .after_known = true, .before = { .oom_kill = (b_kill), .oom_group_kill = -1, .oom = -1 }, \
	.latest = { .oom_kill = (b_kill), .oom_group_kill = -1 }, \
	.after = { .oom_kill = (a_kill), .oom_group_kill = -1, .oom = -1, .peak = GIB }
/* The cgroup was gone when it was to be read. */
#define GONE .cgroup_version = 2, .before = { .limit = GIB, .oom_kill = 0, .oom_group_kill = 0 }
#define LAST(used) .last = { .limit = GIB, .usage = (used) }
/* The command held nearly all of the memory. */
#define COMMAND_HELD .command_pid = 7, .command_rss = GIB / 10 * 9
#define VICTIM .victim = "ray::leak", .victim_pid = 8, .victim_rss = GIB / 10 * 9
#define FULL_DISK { "/data", GIB, 0, 0, 0, .device = 7 }
#define ASKED(pid, seconds_before) \
	.ended_ns = 7200 * S, .asked = { .signal = SIGTERM, .sender = (pid), .at_ns = (7200 - (seconds_before)) * S }
/* A core of a child, of PID 9. */
#define CHILD_CORE(signo) \
	.crash = &(const struct crash_info){ .known = true, .unwound = true, .pid = 9, .signal = (signo), .comm = "python3", \
					     .function = "deref_null", .module = "/x/boom.so", \
					     .sentence = "SIGSEGV at address 0x0 in deref_null (boom.so)" }
#define NO_OOM_SEEN .oom_age_ns = -1
#define DISK_LINE "file_system_monitor.cc:116: /tmp/spill is over 95% full, available space: 0.009 GB; capacity: 0.195 GB."
/* When raylet logged that it refused an object, and that the disk was full; 0: it did not. */
#define REFUSED(object_s, disk_s) \
	.ended_ns = 7200 * S, .process_words = &(const struct ray_process_words){ \
		.object_refused = { .at_ns = (object_s) * S, .line = "create_request_queue.cc:96: Out-of-disk: Failed to create" }, \
		.disk_full = { .at_ns = (disk_s) * S, .line = DISK_LINE } }
/*
 * The kernel log was read and has a line about this container, known by its cgroup or (BY_NAME)
 * only by name.
 */
#define OOM_LINE "Memory cgroup out of memory: Killed process 4711 (ray::leak) ..."
#define LOG_TELLS(seconds, whose, of) \
	.kernel = { .oom = true, .by_cgroup = true, .where = (whose), .age_ns = (seconds) * S, .limit = (of), .pid = 4711, \
		    .name = "ray::leak", .memcg = "/kubepods/pod1", .line = OOM_LINE }
#define LOG_TELLS_PID(seconds, whom) \
	.kernel = { .oom = true, .by_cgroup = true, .victim = (whom), .killed = 1, .where = OOM_WHERE_CONTAINER, \
		    .age_ns = (seconds) * S, .limit = GIB, .pid = 4711, .name = "ray::leak", .line = OOM_LINE }
/*
 * The log's PIDs are not those of the container, but the victim's memory fits only the command. The
 * log does not say whose limit it was.
 */
#define LOG_FITS \
	.kernel = { .oom = true, .by_cgroup = true, .kills = 1, .killed = 1, .table = 3, .age_ns = 0, .limit = -1, .rss = GIB / 10 * 9, .pid = 4711, \
		    .name = "ray::leak", .line = OOM_LINE }, .processes = 3
#define LOG_TELLS_BY_NAME \
	.kernel = { .oom = true, .age_ns = 0, .limit = -1, .pid = 4711, .name = "ray::leak", .line = OOM_LINE }
/* No sidecar ran for 2 s. */
#define FIVE ((int64_t)1795237200 * S)
#define GAP(to_limit) .gap = &(const struct gap){ FIVE, FIVE + 2 * S, (to_limit), false }
#define LOG_SILENT .kernel = { .age_ns = -1, .limit = -1 }
#define LOG_CRASH .kernel = { .age_ns = -1, .limit = -1, .crash = "probe[7]: segfault at 10" }

/* A row begins with what most of its kind have in common; later members override that. */
#pragma GCC diagnostic ignored "-Woverride-init"

static const struct {
	const char *what;
	struct observation seen;
	enum failure_class class;
	enum confidence confidence;
	int exit_code, signal;
	const char *sentence; /* a part of the sentence */
	const char *evidence[3]; /* parts of texts; each must be in some entry */
	/*
	 * A part of a `what`, or of a `needs`; NULL: the only entry is the kernel log, if it was
	 * not read.
	 */
	const char *missing;
} rows[] = {
	/* --- No sidecar ran --- */
	{ "full when nobody looked", { GAP(0), GONE, LAST(GIB / 100 * 97), NO_OOM_SEEN }, FAILURE_KERNEL_OOM_CONTAINER,
	  CONFIDENCE_LIKELY, -1, 0, "while no sidecar ran, most likely killed by the kernel: it reached its memory limit",
	  { "it was down from 2026-11-21T05:00:00.000Z to 2026-11-21T05:00:02.000Z", "97 % of the limit" }, "wait status" },
	{ "half full, and fast", { GAP(400 * NS_PER_MS), GONE, LAST(GIB / 100 * 60), NO_OOM_SEEN },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, -1, 0, "most likely killed by the kernel",
	  { "60 % of the limit in use in the last one, and 400 ms more to it" }, "wait status" },
	{ "half full, and slow", { GAP(S), GONE, LAST(GIB / 100 * 60), NO_OOM_SEEN }, FAILURE_UNKNOWN, CONFIDENCE_UNKNOWN, -1,
	  0, "ended while no sidecar ran: why is not known", { "60 % of the limit" }, "wait status" },
	{ "full, but the kernel log has no kill", { GAP(0), GONE, LAST(GIB), NO_OOM_SEEN, LOG_SILENT }, FAILURE_UNKNOWN,
	  CONFIDENCE_UNKNOWN, -1, 0, "why is not known", { "no OOM kill in this container's cgroup" }, "wait status" },
	{ "the kernel log tells what nobody saw",
	  { GAP(-1), GONE, LAST(GIB / 10), NO_OOM_SEEN, LOG_TELLS(20, OOM_WHERE_CONTAINER, GIB) }, FAILURE_KERNEL_OOM_CONTAINER,
	  CONFIDENCE_LIKELY, -1, 0, "most likely killed by the kernel", { "Killed process 4711" }, "wait status" },
	{ "a kernel line without a cgroup is no proof", { GAP(-1), GONE, LAST(GIB / 10), NO_OOM_SEEN, LOG_TELLS_BY_NAME },
	  FAILURE_UNKNOWN, CONFIDENCE_UNKNOWN, -1, 0, "why is not known", { "10 % of the limit" }, "wait status" },
	{ "the kill was seen, the end not", { GAP(-1), GONE, LAST(GIB / 10), .oom_age_ns = S }, FAILURE_KERNEL_OOM_CONTAINER,
	  CONFIDENCE_LIKELY, -1, 0, "most likely killed by the kernel", { "oom_kill rose 1.0 s before" }, "wait status" },
	{ "the machine was restarted",
	  { .gap = &(const struct gap){ FIVE, FIVE + 2 * S, 0, true }, GONE, LAST(GIB / 100 * 97), NO_OOM_SEEN },
	  FAILURE_NODE_LOST, CONFIDENCE_LIKELY, -1, 0, "most likely ended with its node", { "the machine was restarted" }, "wait status" },
	/* --- Exit codes --- */
	{ "exit 0", { EXITED(0), QUIET, LAST(GIB / 2), NO_OOM_SEEN }, FAILURE_COMPLETED, CONFIDENCE_CERTAIN, 0, 0,
	  "ended with exit code 0", { "exit code 0", "oom_kill stayed at 0" }, NULL },
	{ "exit 0 though the kernel took a process", { EXITED(0), COUNTED(0, 1, 0, 0), LAST(GIB), .oom_age_ns = S },
	  FAILURE_COMPLETED, CONFIDENCE_CERTAIN, 0, 0, "exit code 0", { "oom_kill 0 -> 1" }, NULL },
	{ "exit 1", { EXITED(1), QUIET, LAST(GIB / 2), NO_OOM_SEEN }, FAILURE_APPLICATION_ERROR, CONFIDENCE_CERTAIN, 1, 0,
	  "exit code 1", { "exit code 1" }, NULL },
	{ "exit 125", { EXITED(125), QUIET, NO_OOM_SEEN }, FAILURE_APPLICATION_ERROR, CONFIDENCE_CERTAIN, 125, 0, "125",
	  { NULL }, NULL },
	{ "exit 126, which a program may mean otherwise", { EXITED(126), QUIET, NO_OOM_SEEN }, FAILURE_COMMAND_NOT_EXECUTABLE,
	  CONFIDENCE_LIKELY, 126, 0, "ended with exit code 126 after 0 ms, most likely because a command could not be executed (as a shell reports).",
	  { "exit code 126" }, "which program ended" },
	{ "exit 127 of sh -c, or of a program whose library is missing", { EXITED(127), QUIET, NO_OOM_SEEN }, FAILURE_COMMAND_NOT_FOUND,
	  CONFIDENCE_LIKELY, 127, 0, "most likely because a command was not found (as a shell reports), or a library is missing (as the loader reports).",
	  { "exit code 127" }, "which command or library" },
	{ "the launcher's own exec found nothing", { EXITED(127), UNSTARTED(ENOENT, false, "/no/such"), QUIET, NO_OOM_SEEN },
	  FAILURE_COMMAND_NOT_FOUND, CONFIDENCE_CERTAIN, 127, 0, "could not start its command /no/such: No such file or directory.",
	  { "execve of /no/such gave ENOENT", "exit code 127" }, NULL },
	{ "its exec found a script without its interpreter", { EXITED(127), UNSTARTED(ENOENT, true, "run.py"), QUIET, NO_OOM_SEEN },
	  FAILURE_COMMAND_NOT_EXECUTABLE, CONFIDENCE_CERTAIN, 127, 0, "could not start its command run.py: the file is there, but not the interpreter",
	  { "ENOENT" }, NULL },
	{ "its exec was refused", { EXITED(126), UNSTARTED(EACCES, true, "/"), QUIET, NO_OOM_SEEN }, FAILURE_COMMAND_NOT_EXECUTABLE,
	  CONFIDENCE_CERTAIN, 126, 0, "could not start its command /: Permission denied.", { "execve of / gave EACCES" }, NULL },
	{ "an errno that nobody knows", { EXITED(126), UNSTARTED(4095, false, ""), QUIET, NO_OOM_SEEN }, FAILURE_COMMAND_NOT_EXECUTABLE,
	  CONFIDENCE_CERTAIN, 126, 0, "its command \"\": Unknown error 4095.", { "an error" }, NULL },
	{ "a launcher that says so of a command that ran", { EXITED(3), UNSTARTED(ENOENT, false, "x"), QUIET, NO_OOM_SEEN },
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_CERTAIN, 3, 0, "ended with exit code 3", { NULL }, NULL },
	{ "the exit code of timeout", { EXITED(124), QUIET, NO_OOM_SEEN }, FAILURE_APPLICATION_ERROR, CONFIDENCE_CERTAIN, 124, 0,
	  "ended with exit code 124", { "exit code 124, with which timeout reports that its limit of time had passed" }, NULL },
	{ "an end at once below a launcher that is process 1", { EXITED(1), QUIET, NO_OOM_SEEN, .pod = "w1", .launcher_pid = 1, .ran_ns = S / 2 },
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_CERTAIN, 1, 0, "ended with exit code 1", { NULL }, "insists on being process 1" },
	{ "a later end below a launcher that is process 1", { EXITED(1), QUIET, NO_OOM_SEEN, .launcher_pid = 1, .ran_ns = 2 * S },
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_CERTAIN, 1, 0, "ended with exit code 1", { NULL }, NULL },
	{ "success at once below a launcher that is process 1", { EXITED(0), QUIET, NO_OOM_SEEN, .launcher_pid = 1, .ran_ns = S / 2 },
	  FAILURE_COMPLETED, CONFIDENCE_CERTAIN, 0, 0, "ended with exit code 0", { NULL }, NULL },
	{ "exit 128", { EXITED(128), QUIET, NO_OOM_SEEN }, FAILURE_APPLICATION_ERROR, CONFIDENCE_CERTAIN, 128, 0, "128",
	  { NULL }, NULL },
	{ "exit 255", { EXITED(255), QUIET, NO_OOM_SEEN }, FAILURE_APPLICATION_ERROR, CONFIDENCE_CERTAIN, 255, 0, "255",
	  { NULL }, NULL },
	{ "exit 1, 8 s after a process was OOM-killed, as was reported then",
	  { EXITED(1), COUNTED(2, 2, 0, 0), LAST(GIB / 10), NO_OOM_SEEN, .ended_ns = 7200 * S, .process_oom_ns = 7192 * S, .process_oom_reported = true },
	  FAILURE_APPLICATION_ERROR,
	  CONFIDENCE_LIKELY, 1, 0, "ended with exit code 1 after 0 ms; 8.0 s before, the kernel had killed a process in it for lack of memory.",
	  { "oom_kill stayed at 2", "the OOM killer took a process of the container: see its own report" }, "whether it ended for that OOM kill" },
	{ "exit 1, 8 s after an OOM kill in a cgroup of several owners, which may have been a neighbour's",
	  { EXITED(1), COUNTED(2, 2, 0, 0), LAST(GIB / 10), NO_OOM_SEEN, .cgroup_shared = true, .ended_ns = 7200 * S, .process_oom_ns = 7192 * S },
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_CERTAIN, 1, 0, "ended with exit code 1 after 0 ms.", { "oom_kill stayed at 2" }, NULL },
	{ "exit 1, 8 s after an OOM kill in a cgroup of several owners, which was reported as its own",
	  { EXITED(1), COUNTED(2, 2, 0, 0), LAST(GIB / 10), NO_OOM_SEEN, .cgroup_shared = true, .ended_ns = 7200 * S, .process_oom_ns = 7192 * S,
	    .process_oom_reported = true },
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_LIKELY, 1, 0, "8.0 s before, the kernel had killed a process in it", { "see its own report" },
	  "whether it ended for that OOM kill" },
	{ "exit 1 on a full disk, 8 s after a process was OOM-killed",
	  { EXITED(1), COUNTED(2, 2, 0, 0), LAST(GIB / 10), NO_OOM_SEEN, .ended_ns = 7200 * S, .process_oom_ns = 7192 * S, .limits.fullest = FULL_DISK },
	  FAILURE_DISK_FULL, CONFIDENCE_LIKELY, 1, 0, "was full", { "has 0 B left" }, NULL },
	{ "exit 1, 8 s after a process was OOM-killed, of which there was no report so soon after another",
	  { EXITED(1), COUNTED(2, 2, 0, 0), LAST(GIB / 10), NO_OOM_SEEN, .ended_ns = 7200 * S, .process_oom_ns = 7192 * S }, FAILURE_APPLICATION_ERROR,
	  CONFIDENCE_LIKELY, 1, 0, "8.0 s before, the kernel had killed a process in it for lack of memory.",
	  { "the OOM killer took a process of the container" }, "whether it ended for that OOM kill" },
	{ "exit 1, two minutes after a process was OOM-killed",
	  { EXITED(1), COUNTED(2, 2, 0, 0), LAST(GIB / 10), NO_OOM_SEEN, .ended_ns = 7200 * S, .process_oom_ns = 7080 * S }, FAILURE_APPLICATION_ERROR,
	  CONFIDENCE_CERTAIN, 1, 0, "ended with exit code 1 after", { "oom_kill stayed at 2" }, NULL },
	/* A sample saw the second kill as well, before its victim was dead. */
	{ "a child was OOM-killed, and then most likely the command", { SIGNALED(SIGKILL), V1_COUNTED(0, 2), .latest = { .oom_kill = 2, .oom_group_kill = -1, .oom = -1 },
	  LAST(GIB), VICTIM, .command_pid = 7, .oom_age_ns = 14 * S / 10, .oom_span_ns = 13 * S / 10, .kernel.needs = "CAP_SYSLOG" },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "was most likely killed by the kernel", { "oom_kill 0 -> 2" }, NULL },
	{ "two children were OOM-killed long before kill -9", { SIGNALED(SIGKILL), V1_COUNTED(0, 2), .latest = { .oom_kill = 2, .oom_group_kill = -1, .oom = -1 },
	  LAST(GIB), VICTIM, .command_pid = 7, .oom_age_ns = 8 * S, .oom_span_ns = S, .kernel.needs = "CAP_SYSLOG" },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL, "7.0 s later the container ended with SIGKILL", { "oom_kill 0 -> 2" }, NULL },
	/* --- The limit was lowered to less than the usage --- */
	{ "the limit was lowered, without a kernel log",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), .after = { .limit = GIB / 2, .oom_kill = 1, .oom_group_kill = 0, .oom = 1, .limit_hits = -1,
	    .peak = GIB / 10 * 8 }, LAST(GIB / 10 * 8), COMMAND_HELD, .oom_age_ns = 0, .kernel.needs = "CAP_SYSLOG" },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "killed by the kernel: its memory limit was lowered to 512.0 MiB",
	  { "no room was left under its own limit" }, NULL },
	{ "the limit had been met, and was lowered about then",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), .after = { .limit = GIB / 2, .oom_kill = 1, .oom_group_kill = 0, .oom = 1, .limit_hits = -1,
	    .peak = GIB }, LAST(GIB / 10 * 8), COMMAND_HELD, .oom_age_ns = 0, .kernel.needs = "CAP_SYSLOG" },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL,
	  "killed by the kernel: it reached its memory limit of 1.0 GiB, or of 512.0 MiB after somebody had lowered it",
	  { "no room was left under its own limit" }, NULL },
	{ "the limit had been met, and was lowered about then, on v1",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), .after.own_limit = GIB / 2, .after.limit = GIB / 2, LAST(GIB / 10 * 8), .last.own_limit = GIB, COMMAND_HELD,
	    .oom_age_ns = 0, .peak_met_age_ns = -1, .kernel.needs = "CAP_SYSLOG" },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "or of 512.0 MiB after somebody had lowered it",
	  { "1.0 GiB of the cgroup's own limit of 1.0 GiB: that limit was met" }, NULL },
	/* It was asked to stop */
	{ "exit 3 after it was asked to stop", { EXITED(3), QUIET, NO_OOM_SEEN, ASKED(0, 4) }, FAILURE_TERMINATED, CONFIDENCE_LIKELY, 3, 0,
	  "ended with exit code 3, most likely because it was asked to stop (SIGTERM from outside the container, 4.0 s before).",
	  { "exit code 3", "it was asked to stop: SIGTERM from outside the container" }, "who asked it to stop" },
	{ "exit 3 after a process of it asked it to stop", { EXITED(3), QUIET, NO_OOM_SEEN, ASKED(7, 4) }, FAILURE_TERMINATED,
	  CONFIDENCE_LIKELY, 3, 0, "most likely because it was asked to stop (SIGTERM from PID 7, 4.0 s before).", { "PID 7" },
	  "who asked it to stop" },
	{ "exit 3 after a process that has a name asked it to stop",
	  { EXITED(3), QUIET, NO_OOM_SEEN, .ended_ns = 7200 * S,
	    .asked = { .signal = SIGTERM, .sender = 97, .sender_name = "slurmstepd", .at_ns = 7196 * S } }, FAILURE_TERMINATED,
	  CONFIDENCE_LIKELY, 3, 0, "most likely because it was asked to stop (SIGTERM from slurmstepd (PID 97), 4.0 s before).",
	  { "SIGTERM from slurmstepd (PID 97)" }, "who asked it to stop" },
	{ "exit 3 an hour after it was asked to stop", { EXITED(3), QUIET, NO_OOM_SEEN, ASKED(0, 3600) }, FAILURE_APPLICATION_ERROR,
	  CONFIDENCE_CERTAIN, 3, 0, "ended with exit code 3 after", { "SIGTERM from outside the container, 1 h" }, NULL },
	{ "exit 0 after it was asked to stop", { EXITED(0), QUIET, NO_OOM_SEEN, ASKED(0, 4) }, FAILURE_COMPLETED, CONFIDENCE_CERTAIN, 0, 0,
	  "ended with exit code 0", { "it was asked to stop" }, NULL },
	{ "it was asked to stop and did", { SIGNALED(SIGTERM), QUIET, NO_OOM_SEEN, ASKED(0, 1) }, FAILURE_TERMINATED, CONFIDENCE_CERTAIN, 143,
	  SIGTERM, "was ended by SIGTERM; it had been asked to stop (SIGTERM from outside the container, 1.0 s before).",
	  { "the command was ended by SIGTERM" }, NULL },
	{ "it took longer than its grace period", { QUIET, LAST(GIB / 2), NO_OOM_SEEN, ASKED(0, 30) }, FAILURE_KILLED, CONFIDENCE_LIKELY,
	  137, SIGKILL, "it had been asked to stop (SIGTERM from outside the container, 30.0 s before).", { "SIGKILL is the usual cause" }, NULL },
	{ "it was asked to stop, and the OOM killer took it", { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), COMMAND_HELD, LAST(GIB), .oom_age_ns = 0,
	  ASKED(0, 4), LOG_TELLS_PID(0, KERNEL_VICTIM_COMMAND) }, FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL,
	  "was killed by the kernel", { "it was asked to stop" }, NULL },
	/* --- It was asked to stop, but a certain cause has precedence --- */
	{ "a child was OOM-killed after it was asked to stop, and exit 1",
	  { EXITED(1), COUNTED(0, 1, 0, 0), VICTIM, LAST(GIB), .oom_age_ns = S, ASKED(0, 4), LOG_TELLS_PID(1, KERNEL_VICTIM_OTHER) },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 1, 0, "The kernel killed ray::leak (PID 4711) in container",
	  { "oom_kill 0 -> 1", "it was asked to stop" }, NULL },
	{ "a child was OOM-killed before it was asked to stop, and exit 1",
	  { EXITED(1), COUNTED(0, 1, 0, 0), VICTIM, LAST(GIB), .oom_age_ns = 6 * S, ASKED(0, 4) }, FAILURE_KERNEL_OOM_CONTAINER,
	  CONFIDENCE_LIKELY, 1, 0, "then the command ended with exit code 1", { "oom_kill 0 -> 1", "it was asked to stop" }, NULL },
	{ "an OOM kill a minute before it was asked to stop",
	  { EXITED(1), COUNTED(0, 1, 0, 0), .latest = { .oom_kill = 1, .oom_group_kill = 0 }, LAST(GIB), .oom_age_ns = 64 * S, ASKED(0, 4) },
	  FAILURE_TERMINATED, CONFIDENCE_LIKELY, 1, 0, "most likely because it was asked to stop", { "few processes take so long" },
	  "who asked it to stop" },
	{ "a child crashed after it was asked to stop, and exit 1",
	  { EXITED(1), QUIET, NO_OOM_SEEN, ASKED(0, 4), .command_pid = 7, CHILD_CORE(SIGSEGV) }, FAILURE_APPLICATION_ERROR,
	  CONFIDENCE_LIKELY, 1, 0, "when python3 (PID 9) in it had crashed with SIGSEGV in deref_null (boom.so); it had been asked to stop "
	  "(SIGTERM from outside the container, 4.0 s before).", { "it was asked to stop", "SIGSEGV at address 0x0" },
	  "whether the crash ended it" },
	{ "a child aborted long after it was asked to stop, and exit 1",
	  { EXITED(1), QUIET, NO_OOM_SEEN, ASKED(0, 500), CHILD_CORE(SIGABRT) }, FAILURE_APPLICATION_ERROR, CONFIDENCE_LIKELY, 1, 0,
	  "had crashed with SIGABRT", { "it was asked to stop" }, "whether the crash ended it" },
	{ "the kernel log tells of a child's crash after it was asked to stop", { EXITED(1), QUIET, NO_OOM_SEEN, ASKED(0, 4), LOG_CRASH },
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_LIKELY, 1, 0, "when a process in it had most likely crashed; it had been asked to stop",
	  { "probe[7]: segfault at 10", "it was asked to stop" }, "whether the crash ended it" },
	{ "the kernel log tells of a worker's crash in a Ray node", { EXITED(1), QUIET, NO_OOM_SEEN, ASKED(0, 4), LOG_CRASH, .has_raylet = true },
	  FAILURE_TERMINATED, CONFIDENCE_LIKELY, 1, 0, "most likely because it was asked to stop", { "it was asked to stop" },
	  "who asked it to stop" },
	{ "asked by SIGQUIT to dump core, its child did", { EXITED(1), QUIET, NO_OOM_SEEN, ASKED(0, 4), CHILD_CORE(SIGQUIT) },
	  FAILURE_TERMINATED, CONFIDENCE_LIKELY, 1, 0, "most likely because it was asked to stop", { "it was asked to stop" },
	  "who asked it to stop" },
	{ "a worker of a Ray node crashed, which does not end it",
	  { EXITED(1), QUIET, NO_OOM_SEEN, ASKED(0, 4), .has_raylet = true, CHILD_CORE(SIGSEGV) }, FAILURE_TERMINATED, CONFIDENCE_LIKELY, 1,
	  0, "most likely because it was asked to stop", { "SIGSEGV at address 0x0" }, "who asked it to stop" },
	{ "a child crashed, and the pod is deleted",
	  { EXITED(1), QUIET, NO_OOM_SEEN, ASKED(0, 4), .pod_terminating = true, CHILD_CORE(SIGSEGV) }, FAILURE_POD_DELETED,
	  CONFIDENCE_LIKELY, 1, 0, "ended with its pod", { "SIGSEGV at address 0x0" }, NULL },
	{ "the command crashed after it was asked to stop", { SIGNALED(SIGSEGV), QUIET, NO_OOM_SEEN, ASKED(0, 4), LOG_CRASH },
	  FAILURE_SEGFAULT, CONFIDENCE_CERTAIN, 139, SIGSEGV, "crashed with SIGSEGV", { "probe[7]: segfault at 10", "it was asked to stop" },
	  "core file" },
	{ "a shell's word for a crash after it was asked to stop", { EXITED(139), QUIET, NO_OOM_SEEN, ASKED(0, 4) }, FAILURE_SEGFAULT,
	  CONFIDENCE_LIKELY, 139, SIGSEGV, "most likely that of a shell whose command crashed with SIGSEGV", { "it was asked to stop" },
	  "core file" },
	{ "its command was not there, whatever it was asked",
	  { EXITED(127), UNSTARTED(ENOENT, false, "/no/such"), QUIET, NO_OOM_SEEN, ASKED(0, 4) }, FAILURE_COMMAND_NOT_FOUND,
	  CONFIDENCE_CERTAIN, 127, 0, "could not start its command", { "it was asked to stop" }, NULL },
	/* --- A shell's exit code about its command --- */
	{ "exit 130", { EXITED(130), QUIET, NO_OOM_SEEN }, FAILURE_INTERRUPTED, CONFIDENCE_LIKELY, 130, SIGINT,
	  "ended with exit code 130, most likely that of a shell whose command was ended by SIGINT.", { "a shell reports" }, "whether a signal" },
	{ "exit 137", { EXITED(137), QUIET, NO_OOM_SEEN }, FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL,
	  "ended with exit code 137, most likely that of a shell whose command was killed with SIGKILL; no OOM kill was counted for the container.",
	  { "a shell reports", "stayed at 0" }, "whether a signal" },
	{ "exit 137 of a command beside which nobody was seen", { EXITED(137), QUIET, NO_OOM_SEEN, .processes = 2 }, FAILURE_KILLED,
	  CONFIDENCE_LIKELY, 137, SIGKILL, "ended with exit code 137, its own, as no other process was seen, or that of a shell whose command was "
	  "killed with SIGKILL; no OOM kill was counted for the container.", { "a shell reports" }, "whether a signal" },
	{ "exit 137 of a command that had a child", { EXITED(137), QUIET, NO_OOM_SEEN, .processes = 3 }, FAILURE_KILLED, CONFIDENCE_LIKELY, 137,
	  SIGKILL, "most likely that of a shell whose command was killed with SIGKILL;", { "a shell reports" }, "whether a signal" },
	{ "exit 137 of a command whose child was seen only as it ended",
	  { EXITED(137), QUIET, NO_OOM_SEEN, .processes = 2, .unread_end = { .pid = 9, .name = "python3" } }, FAILURE_KILLED, CONFIDENCE_LIKELY,
	  137, SIGKILL, "most likely that of a shell whose command was killed with SIGKILL;", { "a shell reports" }, "whether a signal" },
	{ "exit 139", { EXITED(139), QUIET, NO_OOM_SEEN }, FAILURE_SEGFAULT, CONFIDENCE_LIKELY, 139, SIGSEGV,
	  "ended with exit code 139, most likely that of a shell whose command crashed with SIGSEGV.", { "a shell reports" }, "core file" },
	{ "exit 143", { EXITED(143), QUIET, NO_OOM_SEEN }, FAILURE_TERMINATED, CONFIDENCE_LIKELY, 143, SIGTERM,
	  "ended with exit code 143, most likely that of a shell whose command was ended by SIGTERM.", { "a shell reports" }, "whether a signal" },
	{ "exit 129", { EXITED(129), QUIET, NO_OOM_SEEN }, FAILURE_SIGNALED, CONFIDENCE_LIKELY, 129, SIGHUP,
	  "most likely that of a shell whose command was ended by SIGHUP, which a process usually gets when its terminal", { "exit code 129" },
	  "whether a signal" },
	{ "exit 145: no process dies of SIGCHLD", { EXITED(145), QUIET, NO_OOM_SEEN }, FAILURE_APPLICATION_ERROR, CONFIDENCE_CERTAIN, 145, 0,
	  "ended with exit code 145", { "exit code 145" }, NULL },
	{ "exit 168: hardly a real-time signal", { EXITED(168), QUIET, NO_OOM_SEEN }, FAILURE_APPLICATION_ERROR, CONFIDENCE_LIKELY, 168, 0,
	  "ended with exit code 168", { "exit code 168" }, "a real-time signal" },
	{ "exit 193", { EXITED(193), QUIET, NO_OOM_SEEN }, FAILURE_APPLICATION_ERROR, CONFIDENCE_CERTAIN, 193, 0, "193", { NULL }, NULL },
	/* --- Signals --- */
	{ "SIGINT", { SIGNALED(SIGINT), QUIET, NO_OOM_SEEN }, FAILURE_INTERRUPTED, CONFIDENCE_CERTAIN, 130, SIGINT,
	  "was ended by SIGINT.", { "SIGINT" }, NULL },
	{ "SIGTERM", { SIGNALED(SIGTERM), QUIET, NO_OOM_SEEN }, FAILURE_TERMINATED, CONFIDENCE_CERTAIN, 143, SIGTERM,
	  "was ended by SIGTERM.", { "SIGTERM" }, NULL },
	{ "SIGSEGV", { SIGNALED(SIGSEGV), QUIET, NO_OOM_SEEN }, FAILURE_SEGFAULT, CONFIDENCE_CERTAIN, 139, SIGSEGV,
	  "crashed with SIGSEGV", { "SIGSEGV" }, "core file" },
	{ "SIGSEGV that dumped core", { SIGNALED(SIGSEGV | 0x80), QUIET, NO_OOM_SEEN }, FAILURE_SEGFAULT, CONFIDENCE_CERTAIN,
	  139, SIGSEGV, "crashed", { NULL }, "core file" },
	{ "SIGABRT", { SIGNALED(SIGABRT), QUIET, NO_OOM_SEEN }, FAILURE_ABORT, CONFIDENCE_CERTAIN, 134, SIGABRT, "crashed",
	  { NULL }, "core file" },
	{ "SIGBUS", { SIGNALED(SIGBUS), QUIET, NO_OOM_SEEN }, FAILURE_BUS_ERROR, CONFIDENCE_CERTAIN, 135, SIGBUS, "crashed",
	  { NULL }, "core file" },
	{ "SIGILL", { SIGNALED(SIGILL), QUIET, NO_OOM_SEEN }, FAILURE_ILLEGAL_INSTRUCTION, CONFIDENCE_CERTAIN, 132, SIGILL,
	  "crashed", { NULL }, "core file" },
	{ "SIGFPE", { SIGNALED(SIGFPE), QUIET, NO_OOM_SEEN }, FAILURE_ARITHMETIC_ERROR, CONFIDENCE_CERTAIN, 136, SIGFPE,
	  "crashed", { NULL }, "core file" },
	{ "SIGTRAP", { SIGNALED(SIGTRAP), QUIET, NO_OOM_SEEN }, FAILURE_TRAP, CONFIDENCE_CERTAIN, 133, SIGTRAP, "crashed",
	  { NULL }, "core file" },
	{ "SIGABRT of a program that was asked to stop, and could not end well", { SIGNALED(SIGABRT), QUIET, NO_OOM_SEEN, ASKED(12, 3) },
	  FAILURE_ABORT, CONFIDENCE_CERTAIN, 134, SIGABRT, "crashed with SIGABRT; it had been asked to stop (SIGTERM from PID 12, 3.0 s before).",
	  { "it was asked to stop" }, "core file" },
	{ "SIGABRT 3 s after a driver of Ray was asked to stop, by the alarm of Ray's handler", { SIGNALED(SIGABRT), QUIET, NO_OOM_SEEN, ASKED(12, 4),
	    .has_raylet = true }, FAILURE_TERMINATED, CONFIDENCE_LIKELY, 134, SIGABRT,
	  "aborted after it had been asked to stop (SIGTERM from PID 12, 4.0 s before), most likely because Ray aborts what still runs 3 s after a SIGTERM.", { "it was asked to stop" }, "core file" },
	{ "SIGABRT as soon as a driver of Ray was asked to stop", { SIGNALED(SIGABRT), QUIET, NO_OOM_SEEN, ASKED(12, 1), .has_raylet = true },
	  FAILURE_ABORT, CONFIDENCE_CERTAIN, 134, SIGABRT, "it had been asked to stop (SIGTERM from PID 12, 1.0 s before).", { NULL }, "core file" },
	{ "SIGABRT long after a driver of Ray was asked to stop", { SIGNALED(SIGABRT), QUIET, NO_OOM_SEEN, ASKED(12, 60), .has_raylet = true },
	  FAILURE_ABORT, CONFIDENCE_CERTAIN, 134, SIGABRT, "it had been asked to stop (SIGTERM from PID 12, 1 min 0 s before).", { NULL }, "core file" },
	{ "SIGHUP after a request to stop", { SIGNALED(SIGHUP), QUIET, NO_OOM_SEEN, ASKED(12, 3) }, FAILURE_SIGNALED, CONFIDENCE_CERTAIN, 129, SIGHUP,
	  "session closes; it had been asked to stop (SIGTERM from PID 12, 3.0 s before).", { "it was asked to stop" }, NULL },
	{ "SIGHUP", { SIGNALED(SIGHUP), QUIET, NO_OOM_SEEN }, FAILURE_SIGNALED, CONFIDENCE_CERTAIN, 129, SIGHUP,
	  "was ended by SIGHUP, which a process usually gets when its terminal or session closes.", { "SIGHUP" }, NULL },
	{ "SIGPIPE", { SIGNALED(SIGPIPE), QUIET, NO_OOM_SEEN }, FAILURE_SIGNALED, CONFIDENCE_CERTAIN, 141, SIGPIPE,
	  "was ended by SIGPIPE, which a process usually gets when it writes to a pipe or socket that has no reader.", { "SIGPIPE" }, NULL },
	{ "SIGXCPU that dumped core", { SIGNALED(SIGXCPU | 0x80), QUIET, NO_OOM_SEEN }, FAILURE_SIGNALED, CONFIDENCE_CERTAIN, 152, SIGXCPU,
	  "when it has used up its limit of CPU time", { "SIGXCPU" }, NULL },
	{ "SIGXFSZ", { SIGNALED(SIGXFSZ), QUIET, NO_OOM_SEEN }, FAILURE_SIGNALED, CONFIDENCE_CERTAIN, 153, SIGXFSZ,
	  "beyond its limit of file size", { "SIGXFSZ" }, NULL },
	{ "SIGSYS", { SIGNALED(SIGSYS), QUIET, NO_OOM_SEEN }, FAILURE_SIGNALED, CONFIDENCE_CERTAIN, 159, SIGSYS,
	  "when a seccomp filter refuses a system call", { "SIGSYS" }, NULL },
	{ "SIGUSR1 while the pod goes", { SIGNALED(SIGUSR1), QUIET, .pod_terminating = true, NO_OOM_SEEN }, FAILURE_SIGNALED,
	  CONFIDENCE_CERTAIN, 138, SIGUSR1, "when another process sends it", { "SIGUSR1" }, NULL },
	{ "a real-time signal", { SIGNALED(40), QUIET, NO_OOM_SEEN }, FAILURE_SIGNALED, CONFIDENCE_CERTAIN, 168, 40,
	  "was ended by SIGRTMIN+6, which a process usually gets when another process sends it, for a meaning of their own.", { "SIGRTMIN+6" }, NULL },
	{ "a launcher that claims what cannot be", { SIGNALED(SIGCHLD), QUIET, NO_OOM_SEEN }, FAILURE_UNKNOWN, CONFIDENCE_UNKNOWN, 145,
	  SIGCHLD, "was ended by SIGCHLD.", { "SIGCHLD" }, NULL },
	/* --- The kill and the end are in the same reading; the victim is known nevertheless --- */
	{ "one of v1", { EXITED(137), V1_COUNTED(0, 1), LAST(GIB), NO_OOM_SEEN, VICTIM },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL,
	  "The kernel killed ray::leak (PID 8) in container ray-worker: it reached its memory limit of 1.0 GiB; then the command ended with exit code 137.", { "oom_kill 0 -> 1" }, NULL },
	{ "a group", { SIGNALED(SIGKILL), COUNTED(0, 3, 0, 1), .processes = 3, LAST(GIB), NO_OOM_SEEN, VICTIM },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "it reached its memory limit of 1.0 GiB.",
	  { "oom_group_kill 0 -> 1" }, NULL },
	/* --- SIGKILL without an OOM kill --- */
	/*
	 * The kernel itself sends SIGKILL for the hard limit on CPU time, and when a tracer ends.
	 */
	{ "kill -9", { SIGNALED(SIGKILL), QUIET, LAST(GIB / 2), NO_OOM_SEEN }, FAILURE_KILLED, CONFIDENCE_CERTAIN, 137,
	  SIGKILL, "was killed with SIGKILL and not by the OOM killer: sender unknown.", { "SIGKILL", "oom_kill stayed at 0" }, NULL },
	{ "kill -9 at 99 % of the limit", { SIGNALED(SIGKILL), QUIET, LAST(GIB / 100 * 99), NO_OOM_SEEN }, FAILURE_KILLED,
	  CONFIDENCE_CERTAIN, 137, SIGKILL, "not by the OOM killer", { "stayed at 0" }, NULL },
	{ "kill -9 long after an OOM kill that was dealt with", { SIGNALED(SIGKILL), COUNTED(3, 3, 1, 1), LAST(GIB / 2), NO_OOM_SEEN },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, 137, SIGKILL, "not by the OOM killer", { "oom_kill stayed at 3" }, NULL },
	{ "the command took long to die of its OOM kill",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), .latest.oom_kill = 1, LAST(GIB), .oom_age_ns = 12 * S, LOG_TELLS_PID(13, KERNEL_VICTIM_COMMAND) },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "was killed by the kernel", { "Killed process 4711" }, NULL },
	{ "the command took long to die of its OOM kill, or somebody killed it, without a kernel log",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), .latest.oom_kill = 1, LAST(GIB), .oom_age_ns = 12 * S, .kernel.needs = "CAP_SYSLOG" },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL, "that it was not the OOM killer is likely, not proved",
	  { "12.0 s before the end: few processes take so long" }, "kernel log" },
	{ "exit 137 12 s after an OOM kill, of which there has been no report",
	  { EXITED(137), COUNTED(0, 1, 0, 0), .latest.oom_kill = 1, LAST(GIB), .oom_age_ns = 12 * S, .kernel.needs = "CAP_SYSLOG" },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL, "perhaps by the OOM killer, which took a process earlier",
	  { "12.0 s before the end: few processes take so long" }, "kernel log" },
	{ "kill -9 12 s after an OOM kill of which the log tells that it was not the command's",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), .latest.oom_kill = 1, LAST(GIB), .oom_age_ns = 12 * S, LOG_TELLS_PID(13, KERNEL_VICTIM_OTHER),
	    .kernel.rules_out = true },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, 137, SIGKILL, "not by the OOM killer", { "few processes take so long" }, NULL },
	{ "a child took long to die of its OOM kill, and then its parent ended for that",
	  { EXITED(1), COUNTED(0, 1, 0, 0), .latest.oom_kill = 1, LAST(GIB), .oom_age_ns = 15 * S, .ended_ns = 7200 * S, .process_oom_ns = 7185 * S,
	    LOG_TELLS_PID(15, KERNEL_VICTIM_OTHER) },
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_LIKELY, 1, 0, "; 15.0 s before, the kernel had killed a process in it",
	  { "15.0 s before the end: few processes take so long" }, "whether it ended for that OOM kill" },
	{ "kill -9 an hour after an OOM kill", { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), .latest.oom_kill = 1, LAST(GIB / 2), .oom_age_ns = 3600 * S },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, 137, SIGKILL, "not by the OOM killer",
	  { "oom_kill 0 -> 1", "1 h 0 min before the end: too long" }, NULL },
	{ "launcher killed too, no OOM", { QUIET, LAST(GIB / 2), NO_OOM_SEEN }, FAILURE_KILLED, CONFIDENCE_LIKELY, 137,
	  SIGKILL, "most likely was killed with SIGKILL (its launcher ended with it, without a word), and not by the OOM killer.", { "without a word", "stayed at 0" }, NULL },
	/*
	 * --- The victim: a child first, and then the command ended by a SIGKILL of somebody else
	 * ---
	 */
	{ "kill -9 four seconds after a child was taken",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), .latest.oom_kill = 1, LAST(GIB), .oom_age_ns = 4 * S, VICTIM, .command_pid = 7 },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL,
	  "The kernel killed ray::leak (PID 8) in container ray-worker for lack of memory; 4.0 s later the container ended with SIGKILL, most likely not "
	  "by the OOM killer: sender unknown.",
	  { "oom_kill 0 -> 1" }, NULL },
	{ "exit 137 four seconds after a child was taken: a shell may have cleaned up, or another child was killed",
	  { EXITED(137), V1_COUNTED(0, 1), .latest.oom_kill = 1, LAST(GIB), .oom_age_ns = 4 * S, VICTIM, .command_pid = 7 },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "then the command ended with exit code 137", { "oom_kill 0 -> 1" }, NULL },
	{ "and its pod was stopped",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), .latest.oom_kill = 1, LAST(GIB), .oom_age_ns = 4 * S, VICTIM, .pod_terminating = true },
	  FAILURE_POD_DELETED, CONFIDENCE_LIKELY, 137, SIGKILL, "stopped (SIGKILL); 4.0 s before, the kernel had killed ray::leak (PID 8)",
	  { "oom_kill 0 -> 1" }, NULL },
	{ "kill -9 at once after a child was taken, as nobody saw",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), LAST(GIB), .oom_age_ns = S / 10, VICTIM, .command_pid = 7 },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely killed by the kernel: it reached", { "oom_kill 0 -> 1" }, NULL },
	{ "kill -9 at once after a child was taken, as the log says",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), LAST(GIB), NO_OOM_SEEN, COMMAND_HELD, LOG_TELLS_PID(0, KERNEL_VICTIM_OTHER) },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL,
	  "killed ray::leak (PID 4711) in container ray-worker for lack of memory; shortly afterwards the container ended with SIGKILL, most "
	  "likely not by the OOM killer: sender unknown, perhaps the command itself, as `timeout` ends by its child's signal.",
	  { "Killed process 4711" }, NULL },
	{ "exit 137 at once after a child was taken, as the log says",
	  { EXITED(137), COUNTED(0, 1, 0, 0), LAST(GIB), NO_OOM_SEEN, LOG_TELLS_PID(0, KERNEL_VICTIM_OTHER) },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "then the command ended with exit code 137", { "4711" }, NULL },
	{ "exit 137 three seconds after a child was taken, as the log says",
	  { EXITED(137), COUNTED(0, 1, 0, 0), LAST(GIB), NO_OOM_SEEN, LOG_TELLS_PID(3, KERNEL_VICTIM_OTHER) },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "then the command ended with exit code 137", { "4711" }, NULL },
	{ "a child was taken shortly before a clean end",
	  { .container_lives = true, .container_over = true, COUNTED(0, 1, 0, 0), LAST(GIB), .oom_age_ns = 0, VICTIM },
	  FAILURE_KERNEL_OOM_PROCESS, CONFIDENCE_CERTAIN, -1, 0,
	  "The kernel killed ray::leak (PID 8) in container ray-worker shortly before its end: it reached its memory limit of 1.0 GiB.",
	  { "oom_kill 0 -> 1" }, NULL },
	{ "the log tells of a child, but not of the second kill",
	  { SIGNALED(SIGKILL), COUNTED(0, 2, 0, 0), LAST(GIB), NO_OOM_SEEN, LOG_TELLS_PID(0, KERNEL_VICTIM_OTHER) },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely killed by the kernel", { "4711" },
	  "whether the OOM killer took" },
	{ "the log has the command's PID",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), LAST(GIB), NO_OOM_SEEN, VICTIM, .others_ended = true, LOG_TELLS_PID(0, KERNEL_VICTIM_COMMAND) },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL,
	  "was killed by the kernel: it reached its memory limit of 1.0 GiB and the kernel killed ray::leak (PID 4711).", { "4711" }, NULL },
	{ "the largest command, but another process is gone as well",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), LAST(GIB), NO_OOM_SEEN, COMMAND_HELD, .others_ended = true },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely killed by the kernel", { "oom_kill 0 -> 1" }, NULL },
	{ "the largest command, but two were taken",
	  { SIGNALED(SIGKILL), COUNTED(0, 2, 0, 0), LAST(GIB), NO_OOM_SEEN, COMMAND_HELD },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely killed by the kernel", { "oom_kill 0 -> 2" }, NULL },
	{ "the largest command took long to die",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), .latest.oom_kill = 1, LAST(GIB), .oom_age_ns = 4 * S, COMMAND_HELD },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely killed by the kernel", { "oom_kill 0 -> 1" }, NULL },
	{ "a command that was small, and nobody knows who was taken",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), LAST(GIB), NO_OOM_SEEN }, FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137,
	  SIGKILL, "most likely killed by the kernel", { "oom_kill 0 -> 1" }, NULL },
	{ "a group that took long to die",
	  { COUNTED(0, 3, 0, 1), .latest.oom_kill = 3, LAST(GIB), .oom_age_ns = 12 * S },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "it reached its memory limit of 1.0 GiB.", { "oom_group_kill 0 -> 1" }, NULL },
	{ "a group that took long to die, and its cgroup went with it",
	  { GONE, LAST(GIB), .latest.oom_kill = 3, .group_unsurvived = true, .oom_age_ns = 6 * S },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "it reached its memory limit of 1.0 GiB.", { "oom_kill rose 6.0 s before the end" }, "memory counters after the death" },
	/*
	 * The launcher lived. A group of a cgroup below may have been killed, and the command by
	 * somebody else a moment later.
	 */
	{ "a group of fewer than there were, and the launcher lived", { SIGNALED(SIGKILL), COUNTED(0, 2, 0, 1), .processes = 4, LAST(GIB), NO_OOM_SEEN, VICTIM },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "was most likely killed by the kernel", { "oom_group_kill 0 -> 1" }, NULL },
	{ "a group of nobody knows how many, and the launcher lived", { SIGNALED(SIGKILL), COUNTED(0, 2, 0, 1), LAST(GIB), NO_OOM_SEEN, VICTIM },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "was most likely killed by the kernel", { "oom_group_kill 0 -> 1" }, NULL },
	{ "a group while a cgroup below was unseen, and the launcher lived",
	  { SIGNALED(SIGKILL), COUNTED(0, 3, 0, 1), .processes = 3, .cgroup_unseen = "a cgroup below", LAST(GIB), NO_OOM_SEEN, VICTIM },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "was most likely killed by the kernel", { "oom_group_kill 0 -> 1" }, "a cgroup below" },
	{ "a group of a cgroup below by its limit, and kill -9 of the launcher at once",
	  { COUNTED(0, 2, 0, 1), .cgroup_limit = &(const struct cgroup_limit){ .place = CGROUP_LIMIT_BELOW, .name = "sub", .limit = GIB / 2, .usage = GIB / 2, .peak = GIB / 2 },
	    LAST(GIB / 2), NO_OOM_SEEN, VICTIM }, FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL,
	  "was most likely killed by the kernel", { "oom_group_kill 0 -> 1" }, NULL },
	{ "the log has the group of a cgroup below without the command, and kill -9 of it at once",
	  { SIGNALED(SIGKILL), COUNTED(0, 2, 0, 1), LAST(GIB), NO_OOM_SEEN,
	    .kernel = { .oom = true, .by_cgroup = true, .victim = KERNEL_VICTIM_OTHER, .kills = 1, .killed = 2, .where = OOM_WHERE_CONTAINER, .age_ns = 0,
			.limit = GIB / 2, .pid = 4711, .name = "ray::leak", .below = "sub", .line = OOM_LINE } },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL, "shortly afterwards the container ended with SIGKILL", { "Killed process 4711" }, NULL },
	{ "the group of a cgroup below, five seconds before kill -9",
	  { SIGNALED(SIGKILL), COUNTED(0, 2, 0, 1), .latest.oom_kill = 2, .latest.oom_group_kill = 1, LAST(GIB), .oom_age_ns = 5 * S },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL, "5.0 s later the container ended with SIGKILL", { "oom_group_kill 0 -> 1" }, NULL },
	{ "a segfault after a child was taken",
	  { SIGNALED(SIGSEGV), COUNTED(0, 1, 0, 0), .latest.oom_kill = 1, LAST(GIB), .oom_age_ns = 2 * S, VICTIM }, FAILURE_SEGFAULT,
	  CONFIDENCE_LIKELY, 139, SIGSEGV, "crashed with SIGSEGV; 2.0 s before, the kernel had killed ray::leak (PID 8) in it for lack of memory.",
	  { "oom_kill 0 -> 1" }, "core file" },
	{ "a new kill long after an old one that is known",
	  { SIGNALED(SIGKILL), COUNTED(0, 2, 0, 0), .latest.oom_kill = 1, LAST(GIB), .oom_age_ns = 60 * S },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely killed by the kernel", { "oom_kill 0 -> 2" }, NULL },
	{ "who is gone is not who was taken, as a rule but no more",
	  { .container_lives = true, COUNTED(0, 1, 0, 0), LAST(GIB), .oom_age_ns = 0, .victim = "sh", .victim_pid = 8, .victim_rss = GIB / 100 },
	  FAILURE_KERNEL_OOM_PROCESS, CONFIDENCE_CERTAIN, -1, 0, "The kernel killed a process (most likely sh, PID 8) in container",
	  { "oom_kill 0 -> 1" }, NULL },
	/* --- A memory cgroup that others share --- */
	{ "a rise in a shared cgroup while the container lives",
	  { .container_lives = true, COUNTED(0, 1, 0, 0), .cgroup_shared = true, LAST(GIB), .oom_age_ns = 0 },
	  FAILURE_UNKNOWN, CONFIDENCE_UNKNOWN, -1, 0, "what happened is not known", { "processes of others" }, "which container's process" },
	{ "in a shared cgroup the log has our PID",
	  { .container_lives = true, COUNTED(0, 1, 0, 0), .cgroup_shared = true, LAST(GIB), .oom_age_ns = 0, LOG_TELLS_PID(0, KERNEL_VICTIM_OTHER) },
	  FAILURE_KERNEL_OOM_PROCESS, CONFIDENCE_CERTAIN, -1, 0, "killed ray::leak (PID 4711) in container", { "4711" }, NULL },
	{ "kill -9 in a shared cgroup while the log has a neighbour's kill",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), .cgroup_shared = true, LAST(GIB), NO_OOM_SEEN,
	    .kernel = { .age_ns = -1, .limit = -1, .others = 1 } },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL, "likely, not proved", { "1 process of that cgroup", "processes of others" }, "which container's process" },
	{ "SIGKILL in a shared cgroup of which the log has lost one of three kills",
	  { SIGNALED(SIGKILL), COUNTED(0, 3, 0, 0), .cgroup_shared = true, LAST(GIB), NO_OOM_SEEN,
	    .kernel = { .age_ns = -1, .limit = -1, .others = 2 } },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely killed by the kernel", { "2 processes of that cgroup", "oom_kill 0 -> 3" }, "which container's process" },
	{ "kill -9 in a shared cgroup while the log has no line with the command's PID",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), .cgroup_shared = true, LAST(GIB), NO_OOM_SEEN,
	    .kernel = { .age_ns = -1, .limit = -1, .rules_out = true } },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL, "likely, not proved", { "its PID is not in it" }, "which container's process" },
	{ "the largest command, but the log has no line with its PID",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), LAST(GIB), NO_OOM_SEEN, COMMAND_HELD,
	    .kernel = { .age_ns = -1, .limit = -1, .rules_out = true } },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL, "shortly afterwards the container ended with SIGKILL", { "oom_kill 0 -> 1" },
	  "lines about this kill" },
	{ "a group kill in a shared cgroup may be that of a cgroup below",
	  { SIGNALED(SIGKILL), COUNTED(0, 2, 0, 1), .cgroup_shared = true, LAST(GIB), NO_OOM_SEEN, COMMAND_HELD },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely killed by the kernel", { "processes of others" }, "which container's process" },
	/* --- Whose memory ran out, without the log --- */
	{ "v1, a peak below its own limit",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), .after.peak = GIB / 2, LAST(GIB / 2), NO_OOM_SEEN, .command_pid = 7, .command_rss = GIB / 5 * 3, LOG_FITS },
	  FAILURE_KERNEL_OOM_NODE, CONFIDENCE_LIKELY, 137, SIGKILL,
	  "most likely the node or a cgroup above it had no memory left (of its own limit of 1.0 GiB it used 512.0 MiB", { "that limit was not met" }, NULL },
	{ "v1, a peak below its own limit, and files of an earlier instance in a memory volume",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), .pod = "w1", .after.peak = GIB / 2, .last = { .usage = GIB / 2, .limit = GIB, .shmem = 0 },
	    .limits_before.tmpfs_used = GIB / 2, .limits.tmpfs_used = GIB / 2, NO_OOM_SEEN, .command_pid = 7, .command_rss = GIB / 5 * 3 },
	  FAILURE_KERNEL_OOM_POD, CONFIDENCE_LIKELY, 137, SIGKILL,
	  "with 512.0 MiB of files in memory volumes that an earlier instance or another container wrote", { "there at its start already" }, "the pod's memory limit" },
	{ "v1, a peak below its own limit, and files of an earlier instance that it has removed",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), .pod = "w1", .after.peak = GIB / 2, .last = { .usage = GIB / 2, .limit = GIB, .shmem = 0 },
	    .limits_before.tmpfs_used = GIB / 2, .limits = { .fullest.point = "/" }, NO_OOM_SEEN, .command_pid = 7, .command_rss = GIB / 5 * 3 },
	  FAILURE_KERNEL_OOM_NODE, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely killed by the kernel: the node or a cgroup above it had no memory left", { "that limit was not met" }, "kernel log" },
	{ "v1, a peak below its own limit, and files in a memory volume that are charged to the container",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), .pod = "w1", .after.peak = GIB / 2, .last = { .usage = GIB / 2, .limit = GIB, .shmem = GIB / 2 },
	    .limits = { .fullest.point = "/", .tmpfs_used = GIB / 2 }, NO_OOM_SEEN, .command_pid = 7, .command_rss = GIB / 5 * 3, LOG_FITS },
	  FAILURE_KERNEL_OOM_NODE, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely the node or a cgroup above it", { "that limit was not met" }, NULL },
	{ "v1, a peak within the last batch of its limit",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), .after.peak = GIB - 200 * 1024, LAST(GIB), NO_OOM_SEEN, COMMAND_HELD, LOG_FITS, LOG_FITS },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "killed by the kernel: it reached its memory limit", { "that limit was met" }, NULL },
	{ "v1, a peak below the last batch of its limit",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), .after.peak = GIB - 260 * 1024, LAST(GIB / 10 * 9), NO_OOM_SEEN, COMMAND_HELD, LOG_FITS },
	  FAILURE_KERNEL_OOM_NODE, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely the node", { "was not met" }, NULL },
	{ "v1, a peak that page cache had brought to the limit long before",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), LAST(GIB), .peak_met_age_ns = 6 * S, NO_OOM_SEEN, COMMAND_HELD, LOG_FITS },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "killed by the kernel: most likely it reached its memory limit",
	  { "some time before already" }, NULL },
	{ "v1, a peak that came to the limit only then",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), LAST(GIB / 2), .peak_met_age_ns = -1, .last_age_ns = S, NO_OOM_SEEN, COMMAND_HELD, LOG_FITS },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "killed by the kernel: it reached its memory limit", { "that limit was met" }, NULL },
	{ "v1, a peak at the limit, memory that was freed then, and a usage near the limit again",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), LAST(GIB), .peak_met_age_ns = S, .least_usage = GIB / 2, .last_age_ns = S / 2, NO_OOM_SEEN,
	    COMMAND_HELD, LOG_FITS },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely it reached its memory limit", { "some time before already" }, NULL },
	{ "v1, a peak at the limit, and a usage that stayed there",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), LAST(GIB), .peak_met_age_ns = S, .least_usage = GIB / 100 * 97, .last_age_ns = S / 2, NO_OOM_SEEN,
	    COMMAND_HELD, LOG_FITS },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "it reached its memory limit", { "that limit was met" }, NULL },
	{ "v1, a peak that page cache may have made only then, while another limit was met",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), LAST(GIB), .last.file = GIB / 10 * 3, .peak_met_age_ns = S, .last_age_ns = S, NO_OOM_SEEN,
	    .command_pid = 7, .command_rss = GIB / 10 * 6, LOG_FITS },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "killed by the kernel: most likely it reached its memory limit",
	  { "perhaps by memory that could be freed" }, NULL },
	{ "v1, a peak that met the limit just then, and what met it was freed before the kill",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), LAST(GIB / 10 * 9), .least_usage = GIB / 10 * 9, .peak_met_age_ns = S, .last_age_ns = S / 2, NO_OOM_SEEN,
	    COMMAND_HELD, LOG_FITS },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "killed by the kernel: most likely it reached its memory limit",
	  { "some time before already" }, NULL },
	{ "v1, a peak that met the limit just then, after a last sample that was below it",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), LAST(GIB / 10 * 9), .last.peak = GIB, .peak_met_age_ns = S, .last_age_ns = S / 2, NO_OOM_SEEN,
	    COMMAND_HELD, LOG_FITS },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "killed by the kernel: it reached its memory limit",
	  { "that limit was met" }, NULL },
	{ "v1, a peak that met the limit shortly before the kill, and the end later",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), .latest.oom_kill = 1, LAST(GIB), .peak_met_age_ns = 6 * S, .oom_age_ns = 2 * S, .last_age_ns = 2 * S,
	    COMMAND_HELD, LOG_FITS, LOG_FITS },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "killed by the kernel: it reached its memory limit", { "that limit was met" }, NULL },
	{ "v1, a peak after the last sample, which was long before",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), LAST(GIB), .peak_met_age_ns = -1, .last_age_ns = 7 * S, NO_OOM_SEEN, COMMAND_HELD },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely killed by the kernel: it reached", { "some time before" }, NULL },
	{ "v1, a peak of before this start",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), .before.peak = GIB, LAST(GIB), NO_OOM_SEEN, COMMAND_HELD, LOG_FITS },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely it reached", { "some time before already" }, NULL },
	{ "v1, a smaller limit around it",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), .last = { .limit = GIB, .own_limit = 2 * GIB, .usage = GIB }, NO_OOM_SEEN, COMMAND_HELD, LOG_FITS },
	  FAILURE_KERNEL_OOM_POD, CONFIDENCE_LIKELY, 137, SIGKILL,
	  "most likely a cgroup around it reached its memory limit of 1.0 GiB (of its own limit of 2.0 GiB it used 1.0 GiB)", { "oom_kill 0 -> 1" }, NULL },
	{ "v2, no allocation failed under its own limit",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), .after.oom = 0, LAST(GIB / 10 * 9), NO_OOM_SEEN, COMMAND_HELD, LOG_FITS },
	  FAILURE_KERNEL_OOM_NODE, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely the node or a cgroup above", { "oom stayed at 0" }, NULL },
	{ "neither log nor counter nor peak tells whose memory it was",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), .after.peak = -1, LAST(GIB), NO_OOM_SEEN, COMMAND_HELD, LOG_FITS },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely it reached its memory limit", { "oom_kill 0 -> 1" }, NULL },
	{ "kill -9 after a rise in a shared cgroup", { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), .cgroup_shared = true, LAST(GIB), NO_OOM_SEEN },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "killed by the kernel", { "oom_kill 0 -> 1", "processes of others" },
	  "which container's process" },
	{ "kill -9 of the largest of a shared cgroup, seconds after the rise",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), .latest.oom_kill = 1, .cgroup_shared = true, LAST(GIB), .oom_age_ns = 3 * S / 2, COMMAND_HELD },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely killed by the kernel", { "oom_kill 0 -> 1", "processes of others" },
	  "which container's process" },
	{ "kill -9 in a shared cgroup, seconds after the rise, of one that was not the largest",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), .latest.oom_kill = 1, .cgroup_shared = true, LAST(GIB), .oom_age_ns = 8 * S },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL,
	  "Container ray-worker ended with SIGKILL, most likely not by the OOM killer: sender unknown; 8.0 s before, the kernel had killed a process in the "
	  "cgroup that it shares with others, for lack of memory.", { "oom_kill 0 -> 1", "processes of others" }, "which container's process" },
	{ "and its pod was stopped, in a shared cgroup",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), .latest.oom_kill = 1, .cgroup_shared = true, LAST(GIB), .oom_age_ns = 8 * S, .pod_terminating = true },
	  FAILURE_POD_DELETED, CONFIDENCE_LIKELY, 137, SIGKILL, "; 8.0 s before, the kernel had killed a process in the cgroup that it shares with others, for "
	  "lack of memory.", { "oom_kill 0 -> 1", "processes of others" }, "which container's process" },
	{ "exit 1 after a rise in a shared cgroup", { EXITED(1), COUNTED(0, 1, 0, 0), .cgroup_shared = true, LAST(GIB), NO_OOM_SEEN },
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_LIKELY, 1, 0, "exit code 1", { "oom_kill 0 -> 1", "processes of others" }, "which container's process" },
	{ "kill -9 in a shared cgroup whose counter stayed", { SIGNALED(SIGKILL), QUIET, .cgroup_shared = true, LAST(GIB), NO_OOM_SEEN },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, 137, SIGKILL, "not by the OOM killer", { "stayed at 0" }, NULL },
	/* --- What the counters do not show --- */
	{ "kill -9 while a cgroup below was unseen",
	  { SIGNALED(SIGKILL), QUIET, .cgroup_unseen = "the OOM kills of a cgroup below that was removed", LAST(GIB / 2), NO_OOM_SEEN },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL, "likely, not proved", { "stayed at 0" }, "a cgroup below that was removed" },
	{ "kill -9 while a cgroup below was unseen, and the kernel log has no kill of the command",
	  { SIGNALED(SIGKILL), QUIET, .cgroup_unseen = "the OOM kills of a cgroup below that was removed", LAST(GIB / 2), NO_OOM_SEEN,
	    .kernel = { .age_ns = -1, .limit = -1, .rules_out = true } },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, 137, SIGKILL, "not by the OOM killer", { "stayed at 0", "no OOM kill of the command's PID" }, NULL },
	{ "exit 137 of a shell then: it may have been its child",
	  { EXITED(137), QUIET, .cgroup_unseen = "the OOM kills of a cgroup below that was removed", LAST(GIB / 2), NO_OOM_SEEN,
	    .kernel = { .age_ns = -1, .limit = -1, .rules_out = true } },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, 137, 9, "likely", { "stayed at 0" }, "a cgroup below that was removed" },
	{ "v2's oom counts for the cgroups below as well: one of them was removed before it was read",
	  { .container_lives = true, COUNTED(0, 1, 0, 0), .cgroup_unseen = "the OOM kills of a cgroup below that was removed", LAST(GIB / 2),
	    .oom_age_ns = 0, LOG_SILENT }, FAILURE_KERNEL_OOM_PROCESS, CONFIDENCE_CERTAIN, -1, 0,
	  "killed a process in container ray-worker: most likely it reached its memory limit of 1.0 GiB", { "oom 0 -> 1" }, "the kernel log's lines" },
	{ "v2's oom rose, and the container's peak is far from its limit: a cgroup below that is gone",
	  { EXITED(1), COUNTED(0, 1, 0, 0), .last = { .limit = GIB, .usage = GIB / 50 },
	    .after = { .limit = GIB, .oom_kill = 1, .oom = 1, .oom_group_kill = 0, .limit_hits = -1, .peak = GIB / 30 }, .oom_age_ns = 0, LOG_SILENT },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 1, 0,
	  "most likely a cgroup below it, which is gone, reached its memory limit (of its own limit of 1.0 GiB the container used 34.1 MiB at most)",
	  { "oom 0 -> 1" }, "the kernel log's lines" },
	{ "v1's peak is at the limit, and memory was swapped out for it",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), .last = { .limit = GIB, .own_limit = GIB, .usage = GIB, .swap = GIB / 4 }, COMMAND_HELD,
	    .peak_met_age_ns = S, NO_OOM_SEEN, LOG_FITS }, FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL,
	  "most likely it reached its memory limit", { "perhaps by memory that could be freed or swapped out" }, NULL },
	/* --- Proved OOM kills --- */
	{ "a group, in which the command had come to its own end before its turn came",
	  { COUNTED(0, 2, 0, 1), LAST(GIB), NO_OOM_SEEN, LOG_TELLS_PID(0, KERNEL_VICTIM_OTHER), .kernel.killed = 2, .kernel.took_launcher = true },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "was killed by the kernel: it reached its memory limit of 1.0 GiB.", { "oom_group_kill 0 -> 1" }, NULL },
	{ "a group that the launcher was not in, which ended without a word",
	  { COUNTED(0, 2, 0, 1), LAST(GIB), NO_OOM_SEEN, LOG_TELLS_PID(0, KERNEL_VICTIM_OTHER), .kernel.killed = 2 },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely not by the OOM killer", { "oom_group_kill 0 -> 1" }, NULL },
	{ "a group that the launcher had been in, if it did not tell how the command ended",
	  { SIGNALED(SIGKILL), COUNTED(0, 2, 0, 1), .latest.oom_kill = 2, .latest.oom_group_kill = 1, LAST(GIB), .oom_age_ns = 5 * S,
	    LOG_TELLS_PID(5, KERNEL_VICTIM_OTHER), .kernel.killed = 2, .kernel.took_launcher = true },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL, "most likely not by the OOM killer", { "oom_group_kill 0 -> 1" }, NULL },
	{ "group kill", { COUNTED(0, 4, 0, 1), LAST(GIB), .oom_age_ns = -1 }, FAILURE_KERNEL_OOM_CONTAINER,
	  CONFIDENCE_CERTAIN, 137, SIGKILL, "killed by the kernel: it reached its memory limit of 1.0 GiB",
	  { "oom_group_kill 0 -> 1", "oom_kill 0 -> 4", "without a word" }, NULL },
	{ "group kill an hour after the sampler saw another", { COUNTED(1, 4, 0, 1), LAST(GIB), .oom_age_ns = 3600 * S },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "killed by the kernel", { "oom_group_kill 0 -> 1" },
	  NULL },
	{ "the command was the victim, or a child that nobody saw, and the command ended likewise", { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), LAST(GIB), COMMAND_HELD, .oom_age_ns = -1 },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "killed by the kernel", { "oom_kill 0 -> 1" },
	  NULL },
	{ "the command itself was the victim: the log tells how much the victim held", { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), LAST(GIB), COMMAND_HELD,
	  .oom_age_ns = -1, LOG_FITS }, FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "was killed by the kernel",
	  { "oom_kill 0 -> 1" }, NULL },
	{ "a small victim, as the log tells, that nobody saw", { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), LAST(GIB), COMMAND_HELD, .oom_age_ns = -1,
	  LOG_FITS, .kernel.rss = GIB / 10 }, FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "was most likely killed by the kernel",
	  { "oom_kill 0 -> 1" }, "whether the OOM killer took" },
	{ "a victim as large as the command, which may be a fork of it that nobody saw", { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), LAST(GIB),
	  COMMAND_HELD, .oom_age_ns = -1, LOG_FITS, .kernel.table = 4 }, FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL,
	  "was most likely killed by the kernel", { "oom_kill 0 -> 1" }, "whether the OOM killer took" },
	{ "a victim as large as the command, and no table of processes", { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), LAST(GIB), COMMAND_HELD,
	  .oom_age_ns = -1, LOG_FITS, .kernel.table = 0, .processes = 0 }, FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL,
	  "was most likely killed by the kernel", { "oom_kill 0 -> 1" }, "whether the OOM killer took" },
	{ "on v1", { SIGNALED(SIGKILL), V1_COUNTED(0, 1), LAST(GIB), COMMAND_HELD, .oom_age_ns = -1 }, FAILURE_KERNEL_OOM_CONTAINER,
	  CONFIDENCE_LIKELY, 137, SIGKILL, "killed by the kernel", { "oom_kill 0 -> 1" }, NULL },
	{ "on v1, the group ended by us",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 1), LAST(GIB), .oom_age_ns = S, .group_ended_by_us = true, VICTIM },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "the kernel killed ray::leak (PID 8)",
	  { "oomGroup", "oom_kill 0 -> 1" }, NULL },
	{ "raylet gives up after it lost a worker",
	  { EXITED(1), COUNTED(0, 1, 0, 0), LAST(GIB), .oom_age_ns = 2 * S, VICTIM },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 1, 0, "killed ray::leak (PID 8)", { "oom_kill 0 -> 1" }, NULL },
	{ "the limit is another's", { COUNTED(0, 1, 0, 1), .after.oom = 0, .last = { .limit = -1, .usage = GIB }, .oom_age_ns = -1 },
	  FAILURE_KERNEL_OOM_NODE, CONFIDENCE_LIKELY, 137, SIGKILL, "a cgroup above it", { NULL }, NULL },
	{ "a process was taken, the container lives",
	  { .container_lives = true, COUNTED(0, 1, 0, 0), LAST(GIB), .oom_age_ns = 0, VICTIM },
	  FAILURE_KERNEL_OOM_PROCESS, CONFIDENCE_CERTAIN, -1, 0, "killed ray::leak (PID 8) in container ray-worker",
	  { "oom_kill 0 -> 1" }, NULL },
	{ "and nobody knows which", { .container_lives = true, COUNTED(0, 1, 0, 0), LAST(GIB), .oom_age_ns = 0 },
	  FAILURE_KERNEL_OOM_PROCESS, CONFIDENCE_CERTAIN, -1, 0, "killed a process in", { NULL }, NULL },
	/* --- The cgroup was gone --- */
	{ "gone, but the sampler saw the kill", { GONE, LAST(GIB), .oom_age_ns = S }, FAILURE_KERNEL_OOM_CONTAINER,
	  CONFIDENCE_LIKELY, 137, SIGKILL, "killed by the kernel", { "oom_kill rose 1.0 s before" }, "memory counters" },
	{ "gone, a kill was seen long ago", { SIGNALED(SIGKILL), GONE, LAST(GIB / 2), .oom_age_ns = 60 * S }, FAILURE_KILLED,
	  CONFIDENCE_LIKELY, 137, SIGKILL, "likely, not proved", { NULL }, "memory counters" },
	{ "gone, 99 % full just before", { GONE, LAST(GIB / 100 * 99), .last_age_ns = S / 10, NO_OOM_SEEN },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "killed by the kernel",
	  { "99 % of the limit in use 100 ms before" }, "memory counters" },
	{ "gone, 99 % full but long before", { GONE, LAST(GIB / 100 * 99), .last_age_ns = 5 * S, NO_OOM_SEEN }, FAILURE_KILLED,
	  CONFIDENCE_LIKELY, 137, SIGKILL, "likely, not proved", { NULL }, "memory counters" },
	{ "gone, 99 % full, but a segfault", { SIGNALED(SIGSEGV), GONE, LAST(GIB / 100 * 99), NO_OOM_SEEN }, FAILURE_SEGFAULT,
	  CONFIDENCE_CERTAIN, 139, SIGSEGV, "crashed", { NULL }, "memory counters" },
	{ "gone, half full", { GONE, LAST(GIB / 2), NO_OOM_SEEN }, FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL,
	  "likely, not proved", { "without a word" }, "memory counters" },
	{ "gone, no sample at all", { GONE, .last = MEMORY_ABSENT, .last_age_ns = -1, NO_OOM_SEEN }, FAILURE_KILLED,
	  CONFIDENCE_UNKNOWN, 137, SIGKILL, "whether by the OOM killer is not known", { NULL }, "memory counters" },
	/* --- Counters that the kernel does not have --- */
	{ "no oom_kill counter", { SIGNALED(SIGKILL), COUNTED(-1, -1, -1, -1), LAST(GIB / 2), NO_OOM_SEEN }, FAILURE_KILLED,
	  CONFIDENCE_LIKELY, 137, SIGKILL, "likely, not proved", { NULL }, "count of OOM kills" },
	{ "no oom_kill counter, and full", { SIGNALED(SIGKILL), COUNTED(-1, -1, -1, -1), LAST(GIB), NO_OOM_SEEN },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "killed by the kernel", { "100 % of the limit" },
	  "count of OOM kills" },
	{ "no reading before, one after", { SIGNALED(SIGKILL), COUNTED(-1, 2, -1, -1), LAST(GIB / 2), NO_OOM_SEEN },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL, "likely, not proved", { NULL }, "count of OOM kills" },
	{ "no reading before, zero after", { SIGNALED(SIGKILL), COUNTED(-1, 0, -1, -1), LAST(GIB / 2), NO_OOM_SEEN },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, 137, SIGKILL, "not by the OOM killer", { "stayed at 0" }, NULL },
	{ "no oom_group_kill counter (before 5.17)", { COUNTED(0, 3, -1, -1), .processes = 3, LAST(GIB), NO_OOM_SEEN },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "killed by the kernel", { "oom_kill 0 -> 3" }, NULL },
	{ "no cgroup at all", { SIGNALED(SIGKILL), .before = MEMORY_ABSENT, .last = MEMORY_ABSENT, NO_OOM_SEEN }, FAILURE_KILLED,
	  CONFIDENCE_UNKNOWN, 137, SIGKILL, "whether by the OOM killer is not known", { "SIGKILL" }, "memory of the container" },
	{ "no cgroup, but a log that would name the command",
	  { SIGNALED(SIGKILL), .before = MEMORY_ABSENT, .last = MEMORY_ABSENT, .kernel.rules_out = true, NO_OOM_SEEN }, FAILURE_KILLED,
	  CONFIDENCE_LIKELY, 137, SIGKILL, "likely, not proved", { "SIGKILL" }, "memory of the container" },
	{ "no cgroup, exit 1", { EXITED(1), .before = MEMORY_ABSENT, .last = MEMORY_ABSENT, NO_OOM_SEEN },
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_LIKELY, 1, 0, "exit code 1", { NULL }, "memory of the container" },
	/* --- The pod is being deleted --- */
	{ "SIGTERM with the pod", { SIGNALED(SIGTERM), QUIET, .pod_terminating = true, NO_OOM_SEEN }, FAILURE_POD_DELETED,
	  CONFIDENCE_LIKELY, 143, SIGTERM, "ended with its pod", { "asked to stop as well" }, NULL },
	{ "SIGKILL with the pod", { QUIET, .pod_terminating = true, NO_OOM_SEEN }, FAILURE_POD_DELETED, CONFIDENCE_LIKELY, 137,
	  SIGKILL, "ended with its pod", { "asked to stop as well" }, NULL },
	{ "exit 143 with the pod", { EXITED(143), QUIET, .pod_terminating = true, NO_OOM_SEEN }, FAILURE_POD_DELETED,
	  CONFIDENCE_LIKELY, 143, SIGTERM, "ended with its pod", { NULL }, NULL },
	{ "exit 1 while the pod goes", { EXITED(1), QUIET, .pod_terminating = true, NO_OOM_SEEN }, FAILURE_POD_DELETED,
	  CONFIDENCE_LIKELY, 1, 0, "ended with its pod, which was stopped (exit code 1)", { "asked to stop as well" }, NULL },
	{ "exit 127 while the pod goes", { EXITED(127), QUIET, .pod_terminating = true, NO_OOM_SEEN }, FAILURE_COMMAND_NOT_FOUND,
	  CONFIDENCE_LIKELY, 127, 0, "exit code 127", { NULL }, "which program ended" },
	{ "a segfault while the pod goes", { SIGNALED(SIGSEGV), QUIET, .pod_terminating = true, NO_OOM_SEEN }, FAILURE_SEGFAULT,
	  CONFIDENCE_CERTAIN, 139, SIGSEGV, "crashed", { NULL }, "core file" },
	{ "an OOM kill while the pod goes", { COUNTED(0, 1, 0, 1), LAST(GIB), .pod_terminating = true, NO_OOM_SEEN },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "killed by the kernel", { NULL }, NULL },
	/* --- Killed far below the container's own limit --- */
	{ "from above, by the counters",
	  { .cgroup_version = 2, .after_known = true, .before = { .limit = GIB, .oom_kill = 0, .limit_hits = 3, .oom = -1 },
	    .after = { .limit = GIB, .oom_kill = 1, .limit_hits = 3, .oom = -1 }, LAST(GIB / 2), NO_OOM_SEEN },
	  FAILURE_KERNEL_OOM_NODE, CONFIDENCE_LIKELY, 137, SIGKILL, "of its own limit of 1.0 GiB it used 512.0 MiB",
	  { "max stayed at 3" }, NULL },
	{ "the same, but nearly full",
	  { .cgroup_version = 2, .after_known = true, .before = { .limit = GIB, .oom_kill = 0, .limit_hits = 3, .oom = -1 },
	    .after = { .limit = GIB, .oom_kill = 1, .limit_hits = 3, .oom = -1 }, LAST(GIB / 10 * 9), NO_OOM_SEEN },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "it reached its memory limit", { NULL }, NULL },
	{ "the same, but the limit was met",
	  { .cgroup_version = 2, .after_known = true, .before = { .limit = GIB, .oom_kill = 0, .limit_hits = 3, .oom = -1 },
	    .after = { .limit = GIB, .oom_kill = 1, .limit_hits = 4, .oom = -1 }, LAST(GIB / 2), NO_OOM_SEEN },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "it reached its memory limit", { NULL }, NULL },
	/* --- Other limits --- */
	{ "forks were refused", { EXITED(1), QUIET, NO_OOM_SEEN, .limits_before = { .processes_refused = 2 },
				   .limits = { 30, 32, 9, FULL_DISK } }, FAILURE_PROCESS_LIMIT, CONFIDENCE_LIKELY, 1, 0,
	  "exit code 1 after its limit of 32 processes and threads had been met", { "7 new processes or threads were refused, 30" }, NULL },
	{ "abort, and forks were refused by a limit above", { SIGNALED(SIGABRT), QUIET, NO_OOM_SEEN, .limits = { .processes_refused = 1 } },
	  FAILURE_PROCESS_LIMIT, CONFIDENCE_LIKELY, 134, SIGABRT, "exit code 134 after its limit of processes and", { "1 new" }, "core file" },
	{ "asked to stop after the CPU limit was spent all the time: perhaps a probe",
	  { SIGNALED(SIGTERM), QUIET, NO_OOM_SEEN, .limits_before = { .cpu_periods = 50, .cpu_throttled = 1 },
	    .limits = { .cpu_periods = 1050, .cpu_throttled = 941 } },
	  FAILURE_TERMINATED, CONFIDENCE_CERTAIN, 143, SIGTERM, "was ended by SIGTERM", { "its CPU limit stopped it in 94 % of the periods" }, NULL },
	{ "a limit of processes filled with zombies",
	  { EXITED(1), QUIET, LAST(GIB / 2), NO_OOM_SEEN, LOG_SILENT, .limits = { 6, 80, 1 },
	    .zombies = { 73, 70, 31, "python3 supervisor.py" } },
	  FAILURE_PROCESS_LIMIT, CONFIDENCE_LIKELY, 1, 0, "after its limit of 80 processes and threads",
	  { "73 zombies in the last sample, 70 of them children of python3 supervisor.py (PID 31), which does not wait for them" }, NULL },
	{ "forks were refused long ago", { EXITED(1), QUIET, NO_OOM_SEEN, .limits_before = { .processes_refused = 2 },
					    .limits = { 30, 32, 2, { "/", GIB, GIB / 2, 0, 0 } } },
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_CERTAIN, 1, 0, "exit code 1", { NULL }, NULL },
	{ "forks were refused, exit 0", { EXITED(0), QUIET, NO_OOM_SEEN, .limits = { .processes_refused = 9 } },
	  FAILURE_COMPLETED, CONFIDENCE_CERTAIN, 0, 0, "exit code 0", { NULL }, NULL },
	{ "a full disk", { EXITED(1), QUIET, NO_OOM_SEEN, .limits.fullest = FULL_DISK }, FAILURE_DISK_FULL, CONFIDENCE_LIKELY, 1, 0,
	  "exit code 1 when /data (1.0 GiB) was full", { "/data has 0 B left of 1.0 GiB" }, NULL },
	{ "a disk that was full at the start already",
	  { EXITED(1), QUIET, NO_OOM_SEEN, .limits.fullest = FULL_DISK, .limits_before = { .fullest = FULL_DISK, .full = { 7 } } },
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_CERTAIN, 1, 0, "exit code 1", { "as at the start" }, NULL },
	{ "one of two disks that were full at the start already",
	  { EXITED(1), QUIET, NO_OOM_SEEN, .limits.fullest = FULL_DISK,
	    .limits_before = { .fullest = { "/other", GIB, 0, 0, 0, .device = 8 }, .full = { 8, 7 } } },
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_CERTAIN, 1, 0, "exit code 1", { "as at the start" }, NULL },
	{ "a full disk that Ray had spilled to", { EXITED(1), QUIET, NO_OOM_SEEN, .limits.fullest = FULL_DISK, .spilled = "9.0 GiB of objects are spilled" },
	  FAILURE_DISK_FULL, CONFIDENCE_LIKELY, 1, 0, "/data (1.0 GiB) was full", { "0 B left", "9.0 GiB of objects are spilled" }, NULL },
	{ "an object that Ray refused, as it could spill nothing", { EXITED(1), QUIET, NO_OOM_SEEN, REFUSED(7195, 7190) },
	  FAILURE_DISK_FULL, CONFIDENCE_LIKELY, 1, 0,
	  "ended with exit code 1 after Ray had refused to create an object: /tmp/spill is over 95% full.",
	  { "Out-of-disk", "0.009 GB" }, NULL },
	{ "an object that Ray refused, and no word on the disk",
	  { EXITED(1), QUIET, NO_OOM_SEEN, .ended_ns = 7200 * S,
	    .process_words = &(const struct ray_process_words){ .object_refused = { .at_ns = 7195 * S, .line = "x.cc:96: Out-of-disk" } } },
	  FAILURE_DISK_FULL, CONFIDENCE_LIKELY, 1, 0, "the disk to which it spills objects had no room.", { "Out-of-disk" }, NULL },
	{ "a disk that is fuller than Ray wants, and no object refused", { EXITED(1), QUIET, NO_OOM_SEEN, REFUSED(0, 7199) },
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_CERTAIN, 1, 0, "exit code 1", { NULL }, NULL },
	{ "an object that Ray refused long before", { EXITED(1), QUIET, NO_OOM_SEEN, REFUSED(7000, 7000) },
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_CERTAIN, 1, 0, "exit code 1", { NULL }, NULL },
	{ "an object that Ray refused, and kill -9", { SIGNALED(SIGKILL), QUIET, NO_OOM_SEEN, REFUSED(7195, 7190) },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, 137, SIGKILL, "not by the OOM killer", { NULL }, NULL },
	{ "a pod that goes while Ray spills", { EXITED(1), QUIET, NO_OOM_SEEN, .pod_terminating = true, .spilled = "9.0 GiB of objects are spilled" },
	  FAILURE_POD_DELETED, CONFIDENCE_LIKELY, 1, 0, "ended with its pod", { "9.0 GiB of objects are spilled" }, NULL },
	{ "a disk without inodes", { EXITED(1), QUIET, NO_OOM_SEEN, .limits.fullest = { "/data", GIB, GIB / 2, 100, 0, .device = 7 } },
	  FAILURE_DISK_FULL, CONFIDENCE_LIKELY, 1, 0, "/data", { "none of its 100 inodes" }, NULL },
	{ "SIGBUS and a full disk", { SIGNALED(SIGBUS), QUIET, NO_OOM_SEEN, .limits.fullest = FULL_DISK }, FAILURE_DISK_FULL,
	  CONFIDENCE_LIKELY, 135, SIGBUS, "exit code 135 when /data", { "0 B left" }, "core file" },
	{ "kill -9 beside a full disk", { SIGNALED(SIGKILL), QUIET, NO_OOM_SEEN, .limits.fullest = FULL_DISK }, FAILURE_KILLED,
	  CONFIDENCE_CERTAIN, 137, SIGKILL, "not by the OOM killer", { NULL }, NULL },
	{ "an OOM kill beside a full disk", { COUNTED(0, 1, 0, 1), LAST(GIB), NO_OOM_SEEN, .limits.fullest = FULL_DISK },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "killed by the kernel", { NULL }, NULL },
	/* --- The kernel log could be read --- */
	{ "its line beside the counters", { COUNTED(0, 1, 0, 1), LAST(GIB), NO_OOM_SEEN, LOG_TELLS(0, OOM_WHERE_CONTAINER, GIB) },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "it reached its memory limit of 1.0 GiB",
	  { "Killed process 4711", "oom_group_kill 0 -> 1" }, NULL },
	{ "its line without counters", { GONE, LAST(GIB / 2), NO_OOM_SEEN, LOG_TELLS_PID(0, KERNEL_VICTIM_COMMAND) },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "killed by the kernel", { "Killed process 4711" },
	  "memory counters" },
	{ "its line though the counters stayed: a cgroup of the same path elsewhere on the node",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 0), .last = MEMORY_ABSENT, NO_OOM_SEEN, LOG_TELLS(0, OOM_WHERE_CONTAINER, GIB / 2) },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL, "that it was not the OOM killer is likely, not proved",
	  { "Killed process 4711", "stayed at 0", "another cgroup has the same path" }, "which container's process" },
	{ "the same with a PID of the container: it was moved",
	  { SIGNALED(SIGKILL), V1_COUNTED(0, 0), .last = MEMORY_ABSENT, NO_OOM_SEEN,
	    .kernel = { .oom = true, .by_cgroup = true, .by_pid = true, .victim = KERNEL_VICTIM_COMMAND, .killed = 1,
			.where = OOM_WHERE_CONTAINER, .limit = GIB / 2, .pid = 4711, .name = "ray::leak", .line = OOM_LINE } },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "its memory limit of 512.0 MiB", { "Killed process 4711" }, NULL },
	{ "the whole of a cgroup above goes for a neighbour's memory, the command with it",
	  { SIGNALED(SIGKILL), COUNTED(0, 1, 0, 0), LAST(GIB / 100), NO_OOM_SEEN, .victim = "sleep", .victim_pid = 8,
	    .kernel = { .oom = true, .by_cgroup = true, .by_pid = true, .group = true, .victim = KERNEL_VICTIM_COMMAND, .killed = 3,
			.where = OOM_WHERE_ABOVE, .limit = GIB / 8, .memcg = "/outer", .line = OOM_LINE } },
	  FAILURE_KERNEL_OOM_POD, CONFIDENCE_CERTAIN, 137, SIGKILL,
	  "was killed by the kernel: the cgroup /outer around it reached its memory limit of 128.0 MiB.", { "a cgroup above, /outer" }, NULL },
	{ "an OOM kill of a child that is reported already, and at its death the 137 of the shell",
	  { EXITED(137), COUNTED(1, 1, 0, 0), LAST(GIB / 2), NO_OOM_SEEN }, FAILURE_KILLED, CONFIDENCE_LIKELY, 137, SIGKILL,
	  "whose command was killed with SIGKILL, perhaps by the OOM killer, which took a process earlier.", { "stayed at 1" }, "whether a signal" },
	{ "the same, and kill -9 of the command", { SIGNALED(SIGKILL), COUNTED(1, 1, 0, 0), LAST(GIB / 2), NO_OOM_SEEN },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, 137, SIGKILL, "not by the OOM killer", { "stayed at 1" }, NULL },
	{ "its line without any cgroup of ours to read",
	  { SIGNALED(SIGKILL), .before = MEMORY_ABSENT, .last = MEMORY_ABSENT, NO_OOM_SEEN, LOG_TELLS(0, OOM_WHERE_CONTAINER, -1) },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL,
	  "it reached its memory limit and the kernel killed ray::leak (PID 4711 on the node).", { "4711" }, "memory of the container" },
	{ "the pod's limit", { COUNTED(0, 1, 0, 1), LAST(GIB / 2), NO_OOM_SEEN, LOG_TELLS(0, OOM_WHERE_POD, 2 * GIB) },
	  FAILURE_KERNEL_OOM_POD, CONFIDENCE_CERTAIN, 137, SIGKILL, "its pod reached the pod's memory limit of 2.0 GiB",
	  { "Killed process 4711", "the pod's cgroup, /kubepods/pod1" }, NULL },
	{ "the limit of all pods", { .pod = "p", COUNTED(0, 1, 0, 1), LAST(GIB / 2), NO_OOM_SEEN, LOG_TELLS(0, OOM_WHERE_ABOVE, 2 * GIB) },
	  FAILURE_KERNEL_OOM_NODE, CONFIDENCE_CERTAIN, 137, SIGKILL, "the cgroup /kubepods/pod1 around it", { "a cgroup above" },
	  NULL },
	{ "a limit above, without a pod", { COUNTED(0, 1, 0, 1), LAST(GIB / 2), NO_OOM_SEEN, LOG_TELLS(0, OOM_WHERE_ABOVE, 2 * GIB) },
	  FAILURE_KERNEL_OOM_POD, CONFIDENCE_CERTAIN, 137, SIGKILL, "around it reached its memory limit of 2.0 GiB", { NULL },
	  NULL },
	{ "the node's memory", { COUNTED(0, 1, 0, 1), LAST(GIB / 2), NO_OOM_SEEN, LOG_TELLS(0, OOM_WHERE_NODE, -1) },
	  FAILURE_KERNEL_OOM_NODE, CONFIDENCE_CERTAIN, 137, SIGKILL, "killed by the kernel: the node had no memory left",
	  { "Killed process 4711" }, NULL },
	{ "the node's memory, a process of many",
	  { .container_lives = true, COUNTED(0, 1, 0, 0), LAST(GIB / 2), .oom_age_ns = 0, LOG_TELLS(0, OOM_WHERE_NODE, -1) },
	  FAILURE_KERNEL_OOM_PROCESS, CONFIDENCE_CERTAIN, -1, 0,
	  "killed ray::leak (PID 4711 on the node) in container ray-worker: the node had no memory left", { "4711" }, NULL },
	{ "the kernel's name for the victim wins",
	  { .container_lives = true, COUNTED(0, 1, 0, 0), LAST(GIB), .oom_age_ns = 0, .victim = "ray::other", .victim_pid = 7,
	    LOG_TELLS(0, OOM_WHERE_CONTAINER, GIB) },
	  FAILURE_KERNEL_OOM_PROCESS, CONFIDENCE_CERTAIN, -1, 0, "killed ray::leak (PID 4711 on the node)", { NULL }, NULL },
	{ "the whole name of a victim whose name the kernel cuts",
	  { .container_lives = true, COUNTED(0, 1, 0, 0), LAST(GIB), .oom_age_ns = 0, .victim = "ray::leaking_samples", .victim_pid = 4711,
	    LOG_TELLS_PID(0, KERNEL_VICTIM_OTHER) },
	  FAILURE_KERNEL_OOM_PROCESS, CONFIDENCE_CERTAIN, -1, 0, "killed ray::leaking_samples (PID 4711)", { NULL }, NULL },
	{ "the container's PID for the same victim",
	  { .container_lives = true, COUNTED(0, 1, 0, 0), LAST(GIB), .oom_age_ns = 0, .victim = "ray::leak", .victim_pid = 7,
	    LOG_TELLS(0, OOM_WHERE_CONTAINER, GIB) },
	  FAILURE_KERNEL_OOM_PROCESS, CONFIDENCE_CERTAIN, -1, 0, "killed ray::leak (PID 7)", { NULL }, NULL },
	{ "the last of several",
	  { COUNTED(0, 3, 0, 0), EXITED(1), LAST(GIB), .oom_age_ns = 0,
	    .kernel = { .oom = true, .by_cgroup = true, .kills = 3, .limit = GIB, .pid = 4711, .name = "ray::leak", .line = OOM_LINE } },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 1, 0, "then the command ended with exit code 1",
	  { "the last of 3 OOM kills", "Killed process 4711" }, NULL },
	{ "a line of an hour ago", { SIGNALED(SIGKILL), QUIET, LAST(GIB / 2), NO_OOM_SEEN, LOG_TELLS(3600, OOM_WHERE_CONTAINER, GIB) },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, 137, SIGKILL, "not by the OOM killer", { "but 1 h 0 min before the end" }, NULL },
	{ "a line with our name, and counters that prove a kill",
	  { COUNTED(0, 1, 0, 1), LAST(GIB), NO_OOM_SEEN, LOG_TELLS_BY_NAME }, FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN,
	  137, SIGKILL, "killed by the kernel", { "Killed process 4711", "by name, size and time" }, NULL },
	{ "a line with our name, and no counters", { GONE, LAST(GIB / 2), NO_OOM_SEEN, LOG_TELLS_BY_NAME },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 137, SIGKILL, "killed by the kernel", { "by name, size and time" },
	  "memory counters" },
	{ "a line with our name, and counters that rule it out", { SIGNALED(SIGKILL), QUIET, LAST(GIB / 2), NO_OOM_SEEN, LOG_TELLS_BY_NAME },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, 137, SIGKILL, "not by the OOM killer", { "stayed at 0" }, NULL },
	{ "a line with our name, and exit 1", { EXITED(1), GONE, LAST(GIB / 2), NO_OOM_SEEN, LOG_TELLS_BY_NAME },
	  FAILURE_APPLICATION_ERROR, CONFIDENCE_CERTAIN, 1, 0, "exit code 1", { "by name" }, "memory counters" },
	{ "a kill that the log does not tell of", { COUNTED(0, 1, 0, 1), LAST(GIB), NO_OOM_SEEN, LOG_SILENT },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "killed by the kernel", { NULL }, "a larger kernel log (log_buf_len)" },
	{ "a kill that a whole log has under other names, as in a node that is a container",
	  { COUNTED(0, 1, 0, 1), LAST(GIB), NO_OOM_SEEN, .kernel = { .age_ns = -1, .limit = -1, .whole = true, .foreign = 1 } },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "killed by the kernel", { NULL },
	  "the kernel's own names of this container's cgroup and PIDs" },
	{ "a kill of which a whole log has nothing",
	  { COUNTED(0, 1, 0, 1), LAST(GIB), NO_OOM_SEEN, .kernel = { .age_ns = -1, .limit = -1, .whole = true } },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 137, SIGKILL, "killed by the kernel", { NULL },
	  "this log is whole, and has no OOM kill of that time" },
	{ "a silent log and kill -9", { SIGNALED(SIGKILL), QUIET, LAST(GIB / 2), NO_OOM_SEEN, LOG_SILENT }, FAILURE_KILLED,
	  CONFIDENCE_CERTAIN, 137, SIGKILL, "not by the OOM killer", { NULL }, NULL },
	{ "a segfault that the kernel tells of", { SIGNALED(SIGSEGV), QUIET, NO_OOM_SEEN, LOG_CRASH }, FAILURE_SEGFAULT,
	  CONFIDENCE_CERTAIN, 139, SIGSEGV, "crashed", { "perhaps of this container, as name and time fit: probe[7]: segfault at 10" }, "core file" },
};

static bool has_evidence(const struct verdict *v, const char *part)
{
	for (unsigned int i = 0; i < v->n_evidence; i++)
		if (strstr(v->evidence[i].text, part))
			return true;
	return false;
}

static bool has_missing(const struct verdict *v, const char *part)
{
	for (unsigned int i = 0; i < v->n_missing; i++)
		if (strstr(v->missing[i].what, part) || strstr(v->missing[i].needs, part))
			return true;
	return false;
}

static bool is_crash(int signo)
{
	enum failure_class class = failure_class_of_signal(signo);

	return class >= FAILURE_SEGFAULT && class <= FAILURE_TRAP;
}

static bool check_row(size_t i)
{
	struct observation seen = rows[i].seen;
	/* Set by the LOG_ macros; otherwise the row has no kernel log. */
	bool log_read = seen.kernel.limit != 0;
	struct verdict v;
	bool right, sender;
	unsigned int n_missing;

	seen.container = "ray-worker";
	seen.kernel.needs = log_read ? NULL : "a permission";
	classify(&seen, &v);
	/* The sender of a SIGKILL is missing in each such row, beside what the row names. */
	sender = v.class == FAILURE_KILLED && !seen.n_signals && !seen.gap;
	n_missing = v.n_missing - sender;
	right = has_missing(&v, "who sent the SIGKILL") == sender && v.class == rows[i].class &&
		v.confidence == rows[i].confidence && v.exit_code == rows[i].exit_code &&
		v.signal == rows[i].signal && strstr(v.sentence, rows[i].sentence) &&
		strstr(v.sentence, "ray-worker") &&
		(log_read ? (n_missing > 0) == (rows[i].missing != NULL) :
			    has_missing(&v, "kernel log")) &&
		has_missing(&v, "core file") == is_crash(v.signal) &&
		(rows[i].missing || n_missing == !log_read);
	for (size_t e = 0; e < 3 && rows[i].evidence[e]; e++)
		right = right && has_evidence(&v, rows[i].evidence[e]);
	if (rows[i].missing)
		right = right && has_missing(&v, rows[i].missing);
	if (right)
		return true;
	print_error("%s: %s, %s, exit %d, signal %d: %s\n", rows[i].what,
		    failure_class_name(v.class), confidence_name(v.confidence), v.exit_code,
		    v.signal, v.sentence);
	for (unsigned int e = 0; e < v.n_evidence; e++)
		print_error("    %s: %s\n", v.evidence[e].source, v.evidence[e].text);
	for (unsigned int m = 0; m < v.n_missing; m++)
		print_error("    missing %s\n", v.missing[m].what);
	return false;
}

static void of_a_stop_by_rays_handler_the_core_is_named_once(void **state)
{
	struct crash_info crash = { .known = true, .unwound = true, .pid = 7, .signal = SIGABRT,
				    .dump_ns = 7 * S, .sentence = "SIGABRT in f (a.so)" };
	struct observation seen = { .container = "c", SIGNALED(SIGABRT), QUIET, NO_OOM_SEEN,
				    ASKED(12, 10), .has_raylet = true, .crash = &crash };
	struct verdict v;
	unsigned int named = 0;

	(void)state;
	/* The kernel took 7 of the 10 s to write the core. */
	classify(&seen, &v);
	assert_int_equal(v.class, FAILURE_TERMINATED);
	for (unsigned int i = 0; i < v.n_evidence; i++)
		named += strcmp(v.evidence[i].text, crash.sentence) == 0;
	assert_int_equal(named, 1);
	snprintf(crash.message, sizeof(crash.message), "free(): invalid size");
	classify(&seen, &v);
	assert_int_equal(v.class, FAILURE_ABORT);
	assert_int_equal(v.confidence, CONFIDENCE_CERTAIN);
}

static void every_observation_has_its_verdict(void **state)
{
	unsigned int wrong = 0;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		wrong += !check_row(i);
	assert_int_equal(wrong, 0);
}

static void every_wait_status_has_a_sentence_and_evidence(void **state)
{
	(void)state;
	for (int status = 0; status <= 0xffff; status++) {
		const struct observation seen = { .container = "c",
						  .status_known = true,
						  .wait_status = status,
						  QUIET,
						  NO_OOM_SEEN };
		struct verdict v;

		classify(&seen, &v);
		assert_true(v.sentence[0] != '\0');
		assert_true(v.n_evidence > 0);
		assert_true(v.exit_code >= -1 && v.exit_code <= 255);
		assert_true(v.exit_code >= 0 || v.class == FAILURE_UNKNOWN);
		assert_null(strstr(v.sentence, "(null)"));
		assert_true(v.class != FAILURE_KERNEL_OOM_CONTAINER);
	}
}

static void a_kill_that_the_counters_rule_out_is_no_evidence_of_a_crash(void **state)
{
	const struct observation seen = {
		SIGNALED(SIGSEGV), QUIET,	.cgroup_shared = true,
		LAST(GIB),	   NO_OOM_SEEN, .kernel = { .age_ns = -1, .limit = -1, .others = 1 }
	};
	struct verdict v;

	(void)state;
	classify(&seen, &v);
	assert_true(has_evidence(&v, "oom_kill stayed at"));
	assert_false(has_evidence(&v, "of that cgroup"));
}

static void long_names_are_cut_and_not_overrun(void **state)
{
	char name[400];
	struct observation seen = { COUNTED(0, 1, 0, 0), EXITED(1), LAST(GIB), .oom_age_ns = 0 };
	struct verdict v;
	(void)state;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	seen.container = seen.victim = name;
	classify(&seen, &v);
	assert_true(strlen(v.sentence) < sizeof(v.sentence));
	assert_int_equal(v.class, FAILURE_KERNEL_OOM_CONTAINER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_stop_by_rays_handler_the_core_is_named_once),
		cmocka_unit_test(every_observation_has_its_verdict),
		cmocka_unit_test(every_wait_status_has_a_sentence_and_evidence),
		cmocka_unit_test(a_kill_that_the_counters_rule_out_is_no_evidence_of_a_crash),
		cmocka_unit_test(long_names_are_cut_and_not_overrun),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
