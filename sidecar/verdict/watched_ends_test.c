/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what the ends of other processes show. */
#include "sidecar/verdict/watched_ends.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lib/units.h"
#include "sidecar/verdict/classify.h"

#define SEC NS_PER_SEC
#define END (100 * SEC)

static const struct watched_end leak_killed = {
	.pid = 7, .status_known = true, .wait_status = SIGKILL, .ended_ns = END, .name = "leak.py"
};
static const struct watched_end rank_crashed = { .pid = 8,
						 .status_known = true,
						 .wait_status = SIGSEGV,
						 .ended_ns = END - SEC,
						 .name = "rank1" };

/*
 * A command of an ordinary user, in a cgroup that it shares, whose child was killed as the limit
 * was met.
 */
static struct observation shared_kill(void)
{
	struct observation o = {
		.container = "train",
		.status_known = true,
		.wait_status = 1 << 8,
		.cgroup_version = 1,
		.cgroup_shared = true,
		.before = MEMORY_ABSENT,
		.after = MEMORY_ABSENT,
		.after_known = true,
		.last = MEMORY_ABSENT,
		.latest = MEMORY_ABSENT,
		.oom_age_ns = -1,
		.peak_met_age_ns = -1,
		.ended_ns = END,
		.watched_ends = &leak_killed,
		.n_watched_ends = 1,
		.kernel = { .needs = "root", .victim = KERNEL_VICTIM_UNKNOWN },
	};

	o.before.oom_kill = 0;
	o.after.oom_kill = 1;
	o.after.limit = o.last.limit = o.after.own_limit = o.last.own_limit = 64 << 20;
	o.after.peak = o.last.peak = o.last.usage = 64 << 20;
	return o;
}

static void a_child_killed_when_the_shared_cgroup_ran_out_is_told(void **state)
{
	struct observation o = shared_kill();
	struct verdict v;

	(void)state;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_KERNEL_OOM_CONTAINER);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_non_null(strstr(v.sentence,
			       "The kernel most likely killed leak.py (PID 7) in container train"));
	o.container_lives = true;
	o.status_known = false;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_KERNEL_OOM_PROCESS);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_int_equal(v.process.pid, 7);
}

/* One death gets one class, whichever of the two reports comes first (container_workers.c). */
static void a_worker_that_raylet_misses_and_the_oom_killer_took_is_the_oom_killers(void **state)
{
	const struct ray_finding finding = {
		.event = { .kind = RAY_WORKER_CRASH, .pid = 7, .task = "ray::leak" },
		.file = "raylet.out"
	};
	struct observation o = shared_kill();
	struct verdict v;

	(void)state;
	o.container_lives = true;
	o.status_known = false;
	o.ray = &finding;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_KERNEL_OOM_PROCESS);
	assert_int_equal(v.process.pid, 7);
	assert_int_equal(v.process.signal, SIGKILL);
	o.after.oom_kill = 0;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_WORKER_CRASH);
}

/* As the driver fails for want of its worker, Ray kills its own processes by the same signal. */
static void what_ray_kills_after_the_oom_killers_victim_is_none(void **state)
{
	struct watched_end worker = leak_killed;
	struct ray_process_end agent = {
		.kind = RAY_PROCESS_DASHBOARD_AGENT, .pid = 5, .status_known = true, .wait_status = SIGKILL, .ended_ns = END + SEC
	};
	struct observation o = shared_kill();
	struct verdict v;

	(void)state;
	o.container_lives = true;
	o.status_known = false;
	o.watched_ends = &worker;
	o.ends = &agent;
	o.n_ends = 1;
	classify(&o, &v);
	assert_int_equal(v.process.pid, 7);
	/* Before Linux 6.15 nobody but its parent learns how the worker ended. */
	worker.status_known = false;
	classify(&o, &v);
	assert_int_not_equal(v.process.pid, 5);
	/* The agent ended first. */
	worker = leak_killed;
	agent.ended_ns = END - SEC;
	classify(&o, &v);
	assert_int_equal(v.process.pid, 5);
	/* The worker ended in another way. */
	agent.ended_ns = END + SEC;
	worker.wait_status = SIGSEGV;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_KERNEL_OOM_PROCESS);
	assert_int_equal(v.process.pid, 5);
}

/* Each step takes away a premise. */
static void without_a_premise_nobody_is_a_victim(void **state)
{
	struct watched_end other = leak_killed;
	struct observation o = shared_kill();

	(void)state;
	assert_ptr_equal(watched_ends_oom_victim(&o), &leak_killed);
	o.cgroup_shared = false;
	assert_null(watched_ends_oom_victim(&o));
	o = shared_kill();
	o.after.oom_kill = 0;
	assert_null(watched_ends_oom_victim(&o));
	o = shared_kill();
	o.kernel.rules_out = true;
	assert_null(watched_ends_oom_victim(&o));
	o = shared_kill();
	o.watched_ends = &other;
	other.wait_status = SIGSEGV;
	assert_null(watched_ends_oom_victim(&o));
	other = leak_killed;
	other.ended_ns = END - 60 * SEC;
	assert_null(watched_ends_oom_victim(&o));
	other.ended_ns = END + 12 * SEC; /* it gave its memory back before */
	assert_ptr_equal(watched_ends_oom_victim(&o), &other);
	other = leak_killed;
	other.status_known = false;
	assert_null(watched_ends_oom_victim(&o));
}

static bool shows(const struct verdict *v, const char *part)
{
	for (unsigned int i = 0; i < v->n_evidence; i++)
		if (strstr(v->evidence[i].text, part))
			return true;
	return false;
}

/* Before Linux 6.15 its parent alone learns how it ended. Each step takes away a premise. */
static void the_largest_that_ended_with_the_kill_is_most_likely_the_victim(void **state)
{
	static const struct cgroup_limit part = { .place = CGROUP_LIMIT_BELOW, .limit = 64 << 20 };
	struct observation o = shared_kill();
	struct verdict v;

	(void)state;
	o.n_watched_ends = 0;
	o.unread_end = leak_killed;
	o.unread_end.status_known = false;
	o.unread_held = 50 << 20;
	o.container_lives = true;
	o.status_known = false;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_KERNEL_OOM_PROCESS);
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_int_equal(v.process.pid, 7);
	assert_non_null(strstr(v.sentence, "most likely"));
	assert_true(shows(
		&v,
		"leak.py (PID 7) of this container, which had held 50.0 MiB, ended at that time"));
	o.unread_held = 30 << 20;
	assert_null(watched_ends_oom_victim(&o));
	o.unread_held = 50 << 20;
	o.unread_end.ended_ns = END - 60 * SEC;
	assert_null(watched_ends_oom_victim(&o));
	o.unread_end.ended_ns = END + 4 * SEC;
	assert_null(watched_ends_oom_victim(&o));
	o.unread_end.ended_ns = END;
	assert_non_null(watched_ends_oom_victim(&o));
	/* Ray's workers go first, however small they are, and raylet alone learns how they end. */
	o.has_raylet = true;
	assert_null(watched_ends_oom_victim(&o));
	o.has_raylet = false;
	o.cgroup_limit = &part;
	assert_null(watched_ends_oom_victim(&o));
	o.cgroup_limit = NULL;
	o.after.oom_kill = 0;
	assert_null(watched_ends_oom_victim(&o));
}

static void what_ended_by_a_signal_before_a_failed_container_is_evidence(void **state)
{
	struct watched_end ends[] = { { 0 }, rank_crashed, leak_killed, rank_crashed };
	struct observation o = shared_kill();
	struct verdict v;

	(void)state;
	ends[3].ended_ns = END - 60 * SEC;
	ends[3].pid = 9;
	o.cgroup_shared = false;
	o.after.oom_kill = 0;
	o.watched_ends = ends;
	o.n_watched_ends = ARRAY_SIZE(ends);
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_APPLICATION_ERROR);
	assert_true(shows(&v, "rank1 (PID 8) was ended by SIGSEGV, before the container by 1.0 s"));
	assert_true(shows(&v, "leak.py (PID 7) was ended by SIGKILL"));
	assert_false(shows(&v, "PID 9"));
	o.wait_status = 0;
	classify(&o, &v);
	assert_false(shows(&v, "rank1"));
	o.wait_status = 1 << 8;
	o.pod_terminating = true;
	classify(&o, &v);
	assert_false(shows(&v, "rank1"));
}

/* A child aborts because its parent is gone. */
static void what_ended_after_the_container_did_not_end_before_it(void **state)
{
	struct watched_end late = rank_crashed;
	struct observation o = shared_kill();
	struct verdict v;

	(void)state;
	late.ended_ns = END + NS_PER_MS;
	o.cgroup_shared = false;
	o.after.oom_kill = 0;
	o.watched_ends = &late;
	classify(&o, &v);
	assert_true(
		shows(&v, "rank1 (PID 8) was ended by SIGSEGV, as the container ended or later"));
	assert_false(shows(&v, "before the container"));
	assert_true(watched_end_is_crash(&late));
	assert_false(watched_end_is_crash_before(&late, END));
	assert_true(watched_end_is_crash_before(&late, late.ended_ns));
	assert_false(watched_end_is_crash_before(&late, late.ended_ns + 11 * SEC));
}

static bool misses(const struct observation *o, const char *what)
{
	struct verdict v;

	classify(o, &v);
	for (unsigned int i = 0; i < v.n_missing; i++)
		if (strcmp(v.missing[i].what, what) == 0)
			return strstr(v.missing[i].needs, "Linux 6.15");
	return false;
}

/*
 * Before Linux 6.15 only the parent of a process learns how it ended. Each step takes away a
 * premise.
 */
static void an_end_that_nobody_could_read_is_missing_where_it_may_explain(void **state)
{
	static const char what[] = "how rank1 (PID 8) ended, 1.0 s before";
	const struct watched_end unread = { .pid = 8, .ended_ns = END - SEC, .name = "rank1" };
	struct observation o = shared_kill();

	(void)state;
	o.n_watched_ends = 0;
	o.cgroup_shared = false;
	o.after.oom_kill = 0;
	o.unread_end = unread;
	assert_true(misses(&o, what));
	o.unread_end.ended_ns = END - 11 * SEC;
	assert_false(misses(&o, "how rank1 (PID 8) ended, 11.0 s before"));
	o.unread_end.ended_ns = END + SEC;
	assert_false(misses(&o, what));
	o.unread_end = unread;
	o.wait_status = SIGTERM;
	assert_false(misses(&o, what));
	o.wait_status = 1 << 8;
	o.pod_terminating = true;
	assert_false(misses(&o, what));
	o.pod_terminating = false;
	o.unread_end.pid = 0;
	assert_false(misses(&o, what));
}

static void a_signal_of_a_fault_is_a_crash(void **state)
{
	struct watched_end unnamed = rank_crashed;

	(void)state;
	unnamed.name[0] = '\0';
	assert_true(watched_end_is_crash(&rank_crashed));
	assert_false(watched_end_is_crash(&leak_killed));
	assert_false(watched_end_is_crash(&unnamed));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_killed_when_the_shared_cgroup_ran_out_is_told),
		cmocka_unit_test(
			a_worker_that_raylet_misses_and_the_oom_killer_took_is_the_oom_killers),
		cmocka_unit_test(what_ray_kills_after_the_oom_killers_victim_is_none),
		cmocka_unit_test(without_a_premise_nobody_is_a_victim),
		cmocka_unit_test(the_largest_that_ended_with_the_kill_is_most_likely_the_victim),
		cmocka_unit_test(what_ended_by_a_signal_before_a_failed_container_is_evidence),
		cmocka_unit_test(what_ended_after_the_container_did_not_end_before_it),
		cmocka_unit_test(an_end_that_nobody_could_read_is_missing_where_it_may_explain),
		cmocka_unit_test(a_signal_of_a_fault_is_a_crash),
	};

	return cmocka_run_group_tests_name("watched_ends", tests, NULL, NULL);
}
