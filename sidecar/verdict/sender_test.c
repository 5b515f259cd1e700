/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of verdicts with the node agent's records: who sent a signal, and which process the OOM
 * killer chose.
 */
#include "sidecar/verdict/sender.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/units.h"
#include "sidecar/verdict/classify.h"

#define GIB ((int64_t)1 << 30)
#define S NS_PER_SEC
#define END (1000 * S)
#define EXITED(code) .status_known = true, .wait_status = (code) << 8
#define SIGNALED(signo) .status_known = true, .wait_status = (signo)
#define COUNTED(kills, at_end) \
	.cgroup_version = 2, .after_known = true, .before = { .limit = GIB, .oom_kill = 0, .oom_group_kill = 0, .oom = 0, .limit_hits = -1 }, \
	.latest = { .oom_kill = (at_end) ? 0 : (kills), .oom_group_kill = 0 }, .oom_age_ns = (at_end) || !(kills) ? -1 : 2 * S, \
	.after = { .limit = GIB, .oom_kill = (kills), .oom_group_kill = 0, .oom = (kills), .limit_hits = -1 }
#define GONE .cgroup_version = 2, .before = { .limit = GIB, .oom_kill = 0, .oom_group_kill = 0 }, .oom_age_ns = -1
#define USED(part) .last = { .limit = GIB, .usage = GIB / 100 * (part) }, .last_age_ns = S / 10
#define TO(pid, signo, ms) .target = (pid), .signal = (signo), .at_ns = END - (ms) * NS_PER_MS
#define OOM(pid, ms) { .oom = true, .target = (pid), .at_ns = END - (ms) * NS_PER_MS }
#define KUBELET .sender = 812, .uid = 0, .place = NODE_SIGNAL_NODE, .comm = "kubelet"
#define SHIM .sender = 99, .uid = 0, .place = NODE_SIGNAL_NODE, .comm = "containerd-shim"
#define PYTHON .sender = 4000, .sender_own = 12, .uid = 1000, .place = NODE_SIGNAL_SAME, .comm = "python3"
#define LAUNCHER .sender = 3000, .sender_own = 1, .uid = 1000, .place = NODE_SIGNAL_SAME, .comm = "afterglow-launc"

/* A row begins with what most of its kind have in common; later members override that. */
#pragma GCC diagnostic ignored "-Woverride-init"

static const struct {
	const char *what;
	struct observation o;
	struct node_signal signals[4];
	enum failure_class class;
	enum confidence confidence;
	const char *sentence, *evidence; /* parts of the text */
} rows[] = {
	{ "a kill -9 from the node", { SIGNALED(SIGKILL), COUNTED(0, false) }, { { TO(7, SIGKILL, 3), KUBELET } },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, "Container c was killed with SIGKILL from kubelet (PID 812) on the node.",
	  "SIGKILL to the command (PID 7), 3 ms before its end, from kubelet" },
	{ "a kill -9 decides where the counters could not be read", { SIGNALED(SIGKILL), GONE, USED(99) }, { { TO(7, SIGKILL, 3), PYTHON } },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, "SIGKILL from python3 (PID 12) in container c.", "python3" },
	{ "a kill of process 1 ends the launcher without a word", { GONE, USED(10) }, { { TO(1, SIGKILL, 3), SHIM } },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, "SIGKILL from containerd-shim (PID 99), the container runtime, on the node.", "to the launcher (PID 1)" },
	{ "the command's own SIGKILL is not that of process 1", { GONE, USED(10) }, { { TO(7, SIGKILL, 3), SHIM } },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, "not the OOM killer is likely", "without a word" },
	{ "an OOM kill of another process before does not make it likely only", { SIGNALED(SIGKILL), COUNTED(1, true) },
	  { OOM(8, 900), { TO(7, SIGKILL, 3), PYTHON } }, FAILURE_KILLED, CONFIDENCE_CERTAIN, "SIGKILL from python3 (PID 12)", "oom_kill 0 -> 1" },
	{ "the OOM killer took the command: proof without the kernel log", { SIGNALED(SIGKILL), GONE }, { OOM(7, 3) },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, "killed by the kernel", "the OOM killer took the command (PID 7)" },
	{ "with the counters the limit is certain, too", { SIGNALED(SIGKILL), COUNTED(1, true), .processes = 5, .others_ended = true },
	  { OOM(7, 3) }, FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, "killed by the kernel", "the OOM killer took the command (PID 7)" },
	{ "a process that dies of a kill -9 is marked by the OOM killer, too", { SIGNALED(SIGKILL), COUNTED(0, false) },
	  { { TO(7, SIGKILL, 30), KUBELET }, OOM(7, 20) }, FAILURE_KILLED, CONFIDENCE_CERTAIN, "SIGKILL from kubelet (PID 812) on the node.", "kubelet" },
	{ "the OOM killer took somebody else", { SIGNALED(SIGKILL), COUNTED(1, true) }, { OOM(8, 3) },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, "sender unknown", "oom_kill 0 -> 1" },
	{ "a child that died of a kill -9 was not taken by the OOM killer, and is not the kill that was counted", { SIGNALED(SIGKILL), COUNTED(1, true) },
	  { { TO(8, SIGKILL, 30), KUBELET }, OOM(8, 20) }, FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, "", "oom_kill 0 -> 1" },
	{ "a signal to a child says nothing of the command", { SIGNALED(SIGKILL), COUNTED(0, false) }, { { TO(8, SIGKILL, 3), KUBELET } },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, "sender unknown", "ended by SIGKILL" },
	{ "a signal long before is another one", { SIGNALED(SIGKILL), COUNTED(0, false) }, { { TO(7, SIGKILL, 11000), KUBELET } },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, "sender unknown", "ended by SIGKILL" },
	{ "a signal after the end is another one", { SIGNALED(SIGKILL), COUNTED(0, false) }, { { TO(7, SIGKILL, -100), KUBELET } },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, "sender unknown", "ended by SIGKILL" },
	{ "another signal is another one", { SIGNALED(SIGKILL), COUNTED(0, false) }, { { TO(7, SIGTERM, 3), KUBELET } },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, "sender unknown", "ended by SIGKILL" },
	{ "an unknown target is nobody", { SIGNALED(SIGKILL), COUNTED(0, false), .command_pid = 0 }, { { TO(0, SIGKILL, 3), KUBELET } },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, "sender unknown", "ended by SIGKILL" },
	{ "the launcher passed it on", { SIGNALED(SIGTERM), COUNTED(0, false) }, { { TO(1, SIGTERM, 20), SHIM }, { TO(7, SIGTERM, 19), LAUNCHER } },
	  FAILURE_TERMINATED, CONFIDENCE_CERTAIN, "by SIGTERM, sent by containerd-shim (PID 99), the container runtime, on the node.", "to the launcher" },
	{ "the launcher passed it on, and the record of what it got is not there yet",
	  { SIGNALED(SIGTERM), COUNTED(0, false), .asked = { .signal = SIGTERM, .at_ns = END } },
	  { { TO(7, SIGTERM, 19), LAUNCHER } }, FAILURE_TERMINATED, CONFIDENCE_CERTAIN, "from outside the container, 0 ms before).", "asked to stop" },
	{ "a launcher that got nothing sent it itself", { SIGNALED(SIGTERM), COUNTED(0, false) }, { { TO(7, SIGTERM, 19), LAUNCHER } },
	  FAILURE_TERMINATED, CONFIDENCE_CERTAIN, "sent by afterglow-launc (PID 1) in container c.", "to the command" },
	{ "a process that raises its own signal", { SIGNALED(SIGABRT), COUNTED(0, false) },
	  { { TO(7, SIGABRT, 3), .sender = 9, .sender_own = 7, .place = NODE_SIGNAL_SAME, .comm = "x" } },
	  FAILURE_ABORT, CONFIDENCE_CERTAIN, "SIGABRT, sent by itself.", "SIGABRT" },
	{ "a crash that somebody sent", { SIGNALED(SIGSEGV), COUNTED(0, false) }, { { TO(7, SIGSEGV, 3), KUBELET, .comm = "bash" } },
	  FAILURE_SEGFAULT, CONFIDENCE_CERTAIN, "SIGSEGV, sent by bash (PID 812) on the node.", "SIGSEGV" },
	{ "a pod that is deleted stays one", { SIGNALED(SIGTERM), COUNTED(0, false), .pod_terminating = true }, { { TO(7, SIGTERM, 3), SHIM } },
	  FAILURE_POD_DELETED, CONFIDENCE_LIKELY, "its pod, which was stopped (SIGTERM).", "containerd-shim" },
	{ "an exit code of a shell names nobody", { EXITED(137), COUNTED(0, false) }, { { TO(7, SIGKILL, 3), KUBELET } },
	  FAILURE_KILLED, CONFIDENCE_LIKELY, "most likely that of a shell", "exit code 137" },
	{ "a sender that is gone", { SIGNALED(SIGKILL), COUNTED(0, false) }, { { TO(7, SIGKILL, 3), .sender = 55, .comm = "kill" } },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, "from kill (PID 55 on the node), which ended right after.", "kill" },
	{ "a sender without a name", { SIGNALED(SIGKILL), COUNTED(0, false) }, { { TO(7, SIGKILL, 3), .sender = 55 } },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, "from a process (PID 55 on the node)", "a process" },
	{ "another pod is not named", { SIGNALED(SIGKILL), COUNTED(0, false) },
	  { { TO(7, SIGKILL, 3), .sender = 55, .sender_own = 3, .place = NODE_SIGNAL_OTHER_POD, .comm = "sh" } },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, "from sh (PID 55 on the node) in another pod.", "sh" },
	{ "another container of the pod", { SIGNALED(SIGKILL), COUNTED(0, false) },
	  { { TO(7, SIGKILL, 3), .sender = 55, .sender_own = 3, .place = NODE_SIGNAL_POD, .comm = "sh" } },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, "from sh (PID 3) in another container of the pod.", "sh" },
	{ "a container's process is no runtime for its name", { SIGNALED(SIGKILL), COUNTED(0, false) },
	  { { TO(7, SIGKILL, 3), .sender = 55, .sender_own = 3, .place = NODE_SIGNAL_SAME, .comm = "containerd-shim" } },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, "from containerd-shim (PID 3) in container c.", "shim" },
	{ "a daemon of the node that frees memory", { SIGNALED(SIGKILL), COUNTED(0, false) }, { { TO(7, SIGKILL, 3), KUBELET, .comm = "earlyoom" } },
	  FAILURE_KILLED, CONFIDENCE_CERTAIN, "from earlyoom (PID 812), which kills when memory runs low, on the node.", "earlyoom" },
};

static bool has_evidence(const struct verdict *v, const char *part)
{
	for (unsigned int i = 0; i < v->n_evidence; i++)
		if (strstr(v->evidence[i].text, part))
			return true;
	return false;
}

static bool misses(const struct verdict *v, const char *what)
{
	for (unsigned int i = 0; i < v->n_missing; i++)
		if (strcmp(v->missing[i].what, what) == 0)
			return true;
	return false;
}

static void who_sent_a_sigkill_is_missing_where_no_agent_watches(void **state)
{
	struct observation o = { .container = "c",
				 .pod = "w1",
				 SIGNALED(SIGKILL),
				 COUNTED(0, false),
				 USED(50),
				 .kernel.needs = "CAP_SYSLOG",
				 .command_pid = 7,
				 .launcher_pid = 1,
				 .ended_ns = END };
	const struct node_signal signal = { TO(7, SIGKILL, 3), KUBELET };
	struct verdict v;

	(void)state;
	classify(&o, &v);
	assert_int_equal(v.confidence, CONFIDENCE_CERTAIN);
	assert_true(misses(&v, "who sent the SIGKILL") && !misses(&v, "kernel log"));
	/* The counters are not known, so the log would help as well. */
	o.after_known = false;
	classify(&o, &v);
	assert_true(misses(&v, "who sent the SIGKILL") && misses(&v, "kernel log"));
	o.signals = &signal;
	o.n_signals = 1;
	classify(&o, &v);
	assert_false(misses(&v, "who sent the SIGKILL"));
	/* There is no agent outside of Kubernetes. */
	o.pod = NULL;
	o.n_signals = 0;
	classify(&o, &v);
	assert_true(misses(&v, "who sent the SIGKILL"));
	assert_null(strstr(v.missing[v.n_missing - 1].needs, "node agent"));
	assert_non_null(strstr(v.missing[v.n_missing - 1].needs, "CPU time"));
}

static void who_killed_a_process_of_ray_is_missing(void **state)
{
	const struct ray_process_end raylet = { .kind = RAY_PROCESS_RAYLET,
						.pid = 9,
						.ended_ns = END,
						.status_known = true,
						.wait_status = SIGKILL };
	struct observation o = { .container = "c",
				 .container_lives = true,
				 COUNTED(0, false),
				 USED(50),
				 .ended_ns = END,
				 .process = &raylet,
				 .ends = &raylet,
				 .n_ends = 1 };
	struct verdict v;

	(void)state;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_RAYLET_FAILED);
	assert_true(misses(&v, "who sent the SIGKILL"));
	assert_non_null(strstr(v.missing[v.n_missing - 1].needs, "ray stop --force"));
}

static void senders_are_named_where_the_record_is_of_the_command(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct observation o = rows[i].o;
		struct verdict v;

		o.container = "c";
		o.ended_ns = END;
		o.launcher_pid = 1;
		o.command_pid = strstr(rows[i].what, "unknown target") ? 0 : 7;
		o.latest_age_ns = S / 10;
		o.peak_met_age_ns = -1;
		o.kernel = KERNEL_EVIDENCE_ABSENT;
		o.kernel.needs = "a log";
		o.signals = rows[i].signals;
		o.n_signals = ARRAY_SIZE(rows[i].signals);
		classify(&o, &v);
		if (v.class != rows[i].class || v.confidence != rows[i].confidence ||
		    !strstr(v.sentence, rows[i].sentence) || !has_evidence(&v, rows[i].evidence)) {
			print_error("%s: %s, %s: %s\n", rows[i].what, failure_class_name(v.class),
				    confidence_name(v.confidence), v.sentence);
			for (unsigned int e = 0; e < v.n_evidence; e++)
				print_error("  %s: %s\n", v.evidence[e].source, v.evidence[e].text);
			fail();
		}
	}
}

static void a_sender_is_never_the_ninth_line(void **state)
{
	const struct node_signal s = { TO(7, SIGKILL, 3), KUBELET };
	struct observation o = { .container = "c",
				 SIGNALED(SIGKILL),
				 .command_pid = 7,
				 .ended_ns = END,
				 .signals = &s,
				 .n_signals = 1 };
	struct verdict v = { .class = FAILURE_KILLED, .signal = SIGKILL };

	(void)state;
	for (int i = 0; i < EVIDENCE_MAX; i++)
		verdict_add_evidence(&v, "x", "line %d", i);
	sender_verdict(&o, &v);
	assert_true(has_evidence(&v, "kubelet"));
	assert_int_equal(v.n_evidence, EVIDENCE_MAX);
}

static void a_process_of_rays_has_its_sender_too(void **state)
{
	const struct node_signal s = { TO(50, SIGKILL, 300), PYTHON };
	const struct ray_process_end end = { .kind = RAY_PROCESS_RAYLET,
					     .pid = 50,
					     .ended_ns = END - 290 * NS_PER_MS,
					     .status_known = true,
					     .wait_status = SIGKILL };
	struct observation o = { .container = "c",
				 .container_lives = true,
				 .process = &end,
				 .ends = &end,
				 .n_ends = 1,
				 .ended_ns = end.ended_ns,
				 .signals = &s,
				 .n_signals = 1,
				 COUNTED(0, false) };
	struct verdict v;

	(void)state;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_RAYLET_FAILED);
	assert_non_null(strstr(v.sentence, "SIGKILL came from python3 (PID 12) in container c."));
	assert_true(has_evidence(&v, "SIGKILL to raylet (PID 50), 10 ms before its end"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_sent_a_sigkill_is_missing_where_no_agent_watches),
		cmocka_unit_test(who_killed_a_process_of_ray_is_missing),
		cmocka_unit_test(senders_are_named_where_the_record_is_of_the_command),
		cmocka_unit_test(a_sender_is_never_the_ninth_line),
		cmocka_unit_test(a_process_of_rays_has_its_sender_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
