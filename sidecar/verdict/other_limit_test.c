/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of OOM kills at the limit of a cgroup below the container's, above it, or elsewhere: as one
 * table.
 */
#include "sidecar/verdict/other_limit.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/units.h"
#include "sidecar/verdict/classify.h"

#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)

#define COUNTED(version) \
	.container = "ray-worker", .pod = "p", .status_known = true, .wait_status = SIGKILL, .cgroup_version = (version), \
	.after_known = true, .before = { .limit = 4 * GIB, .own_limit = 4 * GIB, .oom = -1, .limit_hits = -1 }, \
	.after = { .limit = 4 * GIB, .own_limit = 4 * GIB, .oom_kill = 1, .oom = -1, .limit_hits = -1, .peak = 2 * GIB }, \
	.last = { .limit = 4 * GIB, .own_limit = 4 * GIB, .usage = 2 * GIB, .inactive_file = 0, .active_file = 0 }, .command_pid = 7, \
	.command_rss = 3 * GIB, .latest_age_ns = NS_PER_MS, .oom_age_ns = -1
#define NO_LOG .kernel = { .needs = "", .age_ns = -1, .limit = -1 }
#define LOG_SAYS(whose, cgroup, sub, bytes) \
	.kernel = { .oom = true, .by_cgroup = true, .victim = KERNEL_VICTIM_COMMAND, .kills = 1, .killed = 1, .where = (whose), .limit = (bytes), \
		    .pid = 7, .name = "hog", .memcg = (cgroup), .below = (sub), .line = "Memory cgroup out of memory: Killed process 7 (hog)" }
#define LIMIT(...) .cgroup_limit = &(const struct cgroup_limit){ __VA_ARGS__ }
#define USER LIMIT(.place = CGROUP_LIMIT_BELOW, .name = "ray-node_1/user", .part = ISOLATION_USER, .limit = 3 * GIB, .usage = 3 * GIB, .peak = 3 * GIB)

/* A row begins with what most have in common; later members override that. */
#pragma GCC diagnostic ignored "-Woverride-init"

static const struct {
	const char *what;
	struct observation seen;
	enum failure_class class;
	enum confidence confidence;
	int64_t limit; /* of the verdict */
	const char *sentence, *evidence; /* parts of them; evidence NULL: any */
} rows[] = {
	{ "Ray's user cgroup, by v2's counters", { COUNTED(2), NO_LOG, USER }, FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 3 * GIB,
	  "its sub-cgroup \"user\" of Ray's resource isolation (workers, drivers and what Ray did not start) reached its memory limit of 3.0 GiB",
	  "oom rose in the cgroup ray-node_1/user" },
	{ "the same by v1's", { COUNTED(1), NO_LOG, USER }, FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 3 * GIB,
	  "its sub-cgroup \"user\"", "of the cgroup ray-node_1/user: 3.0 GiB, which is its limit" },
	{ "a worker, while the container lives", { COUNTED(2), NO_LOG, USER, .container_lives = true, .status_known = false },
	  FAILURE_KERNEL_OOM_PROCESS, CONFIDENCE_CERTAIN, 3 * GIB, "in container ray-worker: its sub-cgroup \"user\"", NULL },
	{ "v1, where the container's own limit was met as well",
	  { COUNTED(1), NO_LOG, USER, .container_lives = true, .status_known = false, .after = { .oom_kill = 1, .own_limit = 4 * GIB, .peak = 4 * GIB, .oom = -1 } },
	  FAILURE_KERNEL_OOM_PROCESS, CONFIDENCE_CERTAIN, 3 * GIB, "most likely its sub-cgroup \"user\"", NULL },
	{ "the kernel log names it", { COUNTED(2), LOG_SAYS(OOM_WHERE_CONTAINER, "/kubepods/c/ray-node_1/system", "ray-node_1/system", GIB) },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, GIB,
	  "its sub-cgroup \"system\" of Ray's resource isolation (Ray's own processes) reached its memory limit of 1.0 GiB",
	  "the limit was that of the cgroup /kubepods/c/ray-node_1/system" },
	{ "and wins over the counters", { COUNTED(2), USER, LOG_SAYS(OOM_WHERE_CONTAINER, "/c/small", "small", 24 * MIB) },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 24 * MIB, "its sub-cgroup \"small\" reached its memory limit of 24.0 MiB", NULL },
	{ "also where it was the container's own limit", { COUNTED(2), USER, LOG_SAYS(OOM_WHERE_CONTAINER, "/c", "", 4 * GIB) },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 4 * GIB, "it reached its memory limit of 4.0 GiB", NULL },
	{ "or the pod's", { COUNTED(2), USER, LOG_SAYS(OOM_WHERE_POD, "/pod", "", 6 * GIB) }, FAILURE_KERNEL_OOM_POD, CONFIDENCE_CERTAIN,
	  6 * GIB, "its pod reached the pod's memory limit of 6.0 GiB", NULL },
	{ "a command that moved, by the kernel log",
	  { COUNTED(2), .kernel = { .oom = true, .by_cgroup = true, .elsewhere = true, .victim = KERNEL_VICTIM_COMMAND, .kills = 1, .killed = 1,
				    .where = OOM_WHERE_CONTAINER, .limit = 24 * MIB, .pid = 7, .name = "hog", .memcg = "/system/run-1.scope",
				    .line = "Killed process 7" } },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_CERTAIN, 24 * MIB,
	  "the cgroup /system/run-1.scope, to which its process was moved, reached its memory limit of 24.0 MiB", NULL },
	{ "the same by counters: others may be in it",
	  { COUNTED(2), NO_LOG, .cgroup_shared = true,
	    LIMIT(.place = CGROUP_LIMIT_OUTSIDE, .name = "/system/run-1.scope", .limit = 24 * MIB, .usage = 24 * MIB, .peak = 24 * MIB) },
	  FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, 24 * MIB, "the cgroup /system/run-1.scope, to which its process was moved", NULL },
	{ "a limit above, whose counters stand in place of its own",
	  { COUNTED(2), NO_LOG, LIMIT(.place = CGROUP_LIMIT_ABOVE, .name = "/slurm/job_1", .limit = GIB, .usage = GIB, .peak = GIB),
	    .last = { .limit = GIB, .own_limit = -1, .usage = GIB } },
	  FAILURE_KERNEL_OOM_POD, CONFIDENCE_LIKELY, 0, "the cgroup /slurm/job_1 around it reached its memory limit of 1.0 GiB", NULL },
};

static bool has_evidence(const struct verdict *v, const char *part)
{
	for (unsigned int i = 0; i < v->n_evidence; i++)
		if (strstr(v->evidence[i].text, part))
			return true;
	return false;
}

static void the_limit_that_ran_out_is_named_wherever_it_is_set(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct verdict v;

		classify(&rows[i].seen, &v);
		if (v.class != rows[i].class || v.confidence != rows[i].confidence ||
		    v.limit != rows[i].limit || !strstr(v.sentence, rows[i].sentence) ||
		    (rows[i].evidence && !has_evidence(&v, rows[i].evidence)))
			fail_msg("%s: %s, %d, limit %lld: %s (%s)", rows[i].what,
				 failure_class_name(v.class), (int)v.confidence, (long long)v.limit,
				 v.sentence, v.n_evidence ? v.evidence[v.n_evidence - 1].text : "");
	}
}

static void what_raylet_logged_about_its_isolation_is_evidence(void **state)
{
	struct observation o = {
		COUNTED(2), NO_LOG, USER,
		.isolation_logged =
			"Ray's own processes used more than the memory reserved for them"
	};
	struct verdict v;
	(void)state;

	classify(&o, &v);
	assert_true(has_evidence(&v, "shortly before: Ray's own processes used more"));
	assert_int_equal(v.isolation, ISOLATION_USER);
}

static void rays_monitor_kills_at_the_limit_of_the_users_cgroup(void **state)
{
	static const struct {
		int64_t usage;
		enum confidence confidence;
		const char *memory;
		enum isolation_part part;
	} rows_of_usage[] = {
		{ 2 * GIB, CONFIDENCE_LIKELY, "memory was at 1.49GB used / 3.90GB limit", ISOLATION_NONE },
		{ 3 * GIB - MIB, CONFIDENCE_CERTAIN, "the user's processes used 3.0 GiB of the 3.0 GiB that Ray's resource isolation leaves them",
		  ISOLATION_USER },
	};

	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows_of_usage); i++) {
		const struct cgroup_limit user = { .place = CGROUP_LIMIT_BELOW,
						   .part = ISOLATION_USER,
						   .limit = 3 * GIB,
						   .usage = rows_of_usage[i].usage,
						   .peak = 3 * GIB };
		/* The message of Ray 2.60's event monitor. */
		const struct ray_finding finding = {
			.event = { .kind = RAY_MEMORY_KILL,
				   .pid = 8,
				   .workers = 1,
				   .task = "ray::leak",
				   .memory = "1.49GB used / 3.90GB limit (0.381623)",
				   .detail = "user cgroup memory upper bound was met or exceeded" },
			.file = "raylet.out",
			.gone = true
		};
		struct observation o = { COUNTED(2),
					 NO_LOG,
					 .container_lives = true,
					 .status_known = false,
					 .ray = &finding,
					 .ray_seen = true,
					 .isolation = &user };
		struct verdict v;

		o.after.oom_kill = 0;
		classify(&o, &v);
		assert_int_equal(v.class, FAILURE_RAY_MEMORY_MONITOR);
		assert_int_equal(v.confidence, rows_of_usage[i].confidence);
		assert_non_null(strstr(v.sentence, rows_of_usage[i].memory));
		assert_int_equal(v.isolation, rows_of_usage[i].part);
		assert_true(has_evidence(&v, "user cgroup memory upper bound"));
		assert_true(has_evidence(
			&v,
			"of the limit of Ray's sub-cgroup \"user\" in use, at most 100 % before"));
	}
}

static void a_hostile_name_fits(void **state)
{
	struct cgroup_limit limit = {
		.place = CGROUP_LIMIT_BELOW, .limit = GIB, .usage = GIB, .peak = GIB
	};
	struct observation o = { COUNTED(2), NO_LOG, .cgroup_limit = &limit };
	struct verdict v;
	(void)state;

	memset(limit.name, 'x', sizeof(limit.name) - 1);
	classify(&o, &v);
	assert_non_null(strstr(v.sentence, "xxx\" reached its memory limit of 1.0 GiB"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_limit_that_ran_out_is_named_wherever_it_is_set),
		cmocka_unit_test(what_raylet_logged_about_its_isolation_is_evidence),
		cmocka_unit_test(rays_monitor_kills_at_the_limit_of_the_users_cgroup),
		cmocka_unit_test(a_hostile_name_fits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
