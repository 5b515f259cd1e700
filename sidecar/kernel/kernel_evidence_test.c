/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what a kernel log proves about one death. */
#include "sidecar/kernel/kernel_evidence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define S ((int64_t)1000000) /* in microseconds */
#define MIB ((int64_t)1 << 20)
#define CGROUP "/kubepods/pod1/0123456789abcdef"
#define OTHER "/kubepods/pod2/fedcba9876543210"

struct fixture {
	struct kmsg_log log;
	struct strbuf excerpt;
	struct kernel_evidence e;
};

static void release(struct fixture *f)
{
	kmsg_log_release(&f->log);
	strbuf_release(&f->excerpt);
}

#define FIXTURE { .excerpt = STRBUF_INIT(KERNEL_EXCERPT_MAX) }
#define _cleanup_fixture_ _cleanup_(release)

static void add(struct fixture *f, int priority, int64_t time_us, const char *fmt, ...)
	_printf_(4, 5);
static void add(struct fixture *f, int priority, int64_t time_us, const char *fmt, ...)
{
	char text[1024];
	struct kmsg_record r = { .priority = priority, .time_us = time_us, .text = text };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r.len = strlen(text);
	assert_int_equal(kmsg_log_add(&f->log, &r), 0);
}

static void add_killed(struct fixture *f, int64_t time_us, int pid, const char *name, int64_t rss)
{
	add(f, 3, time_us,
	    "Memory cgroup out of memory: Killed process %d (%s) total-vm:9kB, anon-rss:%lldkB, file-rss:0kB, shmem-rss:0kB",
	    pid, name, (long long)rss / 1024);
}

static void add_report(struct fixture *f, int64_t time_us, int pid, const char *name,
		       const char *memcg)
{
	add(f, 4, time_us, "%s invoked oom-killer: gfp_mask=0xcc0", name);
	add(f, 6, time_us + 1, "memory: usage 1024kB, limit 1024kB, failcnt 0");
	add(f, 6, time_us + 2,
	    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=%s,task_memcg=%s,"
	    "task=%s,pid=%d,uid=0",
	    memcg, memcg, name, pid);
	add_killed(f, time_us + 3, pid, name, 100 * MIB);
}

static const struct kernel_suspect suspects[] = {
	{ .name = "ray::leak", .rss = 100 * MIB },
	{ .name = "python3 a_very_long_name.py", .rss = 200 * MIB },
	{ .name = "a_very_long_name_indeed", .rss = 50 * MIB },
};

static void ask(struct fixture *f, const char *cgroup)
{
	const struct kernel_question q = {
		.self = { .cgroup = cgroup },
		.since_us = 10 * S,
		.ended_us = 100 * S,
		.suspects = suspects,
		.n_suspects = ARRAY_SIZE(suspects),
	};

	kernel_evidence_find(&f->log, &q, &f->e, &f->excerpt);
}

static void our_kill_is_found_among_others(void **state)
{
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	add(&f, 6, 1 * S, "boot");
	add_report(&f, 98 * S, 7, "ray::leak", OTHER);
	add_report(&f, 99 * S, 8, "ray::leak", CGROUP);
	add(&f, 6, 99 * S + 4, "oom_reaper: reaped process 8");
	add_report(&f, 99 * S + 10, 9, "ray::leak", OTHER);
	ask(&f, CGROUP);
	assert_null(f.e.needs);
	assert_true(f.e.oom && f.e.by_cgroup);
	assert_int_equal(f.e.kills, 1);
	assert_int_equal(f.e.pid, 8);
	assert_int_equal(f.e.where, OOM_WHERE_CONTAINER);
	assert_int_equal(f.e.limit, MIB);
	assert_int_equal(f.e.age_ns, (S - 3) * 1000);
	assert_string_equal(f.e.name, "ray::leak");
	assert_non_null(strstr(f.e.line, "Killed process 8 (ray::leak)"));
	/* The excerpt has the report of the kill and nothing else. */
	assert_ptr_equal(strstr(strbuf_str(&f.excerpt), "[   99.000000] ray::leak invoked"),
			 strbuf_str(&f.excerpt));
	assert_null(strstr(strbuf_str(&f.excerpt), "pid=9"));
}

static void a_kill_of_before_is_another_story(void **state)
{
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	add_report(&f, 9 * S, 8, "ray::leak", CGROUP);
	ask(&f, CGROUP);
	assert_null(f.e.needs);
	assert_false(f.e.oom);
	/* Without a kill in this container, the excerpt is the end of the log. */
	assert_non_null(strstr(strbuf_str(&f.excerpt), "invoked oom-killer"));
}

static void the_latest_of_several_counts(void **state)
{
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	add_report(&f, 97 * S, 7, "a", CGROUP);
	add_report(&f, 98 * S, 8, "b", CGROUP "/inside");
	ask(&f, CGROUP);
	assert_int_equal(f.e.kills, 2);
	assert_string_equal(f.e.name, "b");
}

static void a_line_without_cgroup_is_ours_by_name_size_and_time(void **state)
{
	static const struct {
		int64_t time_us;
		const char *name;
		int64_t rss;
		bool ours;
	} rows[] = {
		{ 99 * S, "ray::leak", 120 * MIB, true },
		{ 99 * S, "python3", 190 * MIB, true },
		{ 99 * S, "a_very_long_nam", 50 * MIB, true },
		{ 99 * S, "ray::lea", 100 * MIB, false },
		{ 99 * S, "", 100 * MIB, false },
		{ 99 * S, "ray::leak", 2000 * MIB, false },
		/*
		 * Small processes have similar sizes, but 64 MiB more or less means another
		 * process.
		 */
		{ 99 * S, "ray::leak", 40 * MIB, false },
		{ 99 * S, "a_very_long_nam", 110 * MIB, false },
		{ 94 * S, "ray::leak", 100 * MIB, false },
		{ 80 * S, "ray::leak", 100 * MIB, false },
		{ 9 * S, "ray::leak", 100 * MIB, false },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_fixture_ struct fixture f = FIXTURE;

		add_killed(&f, rows[i].time_us, 5, rows[i].name, rows[i].rss);
		ask(&f, CGROUP);
		assert_int_equal(f.e.oom, rows[i].ours);
		assert_false(f.e.by_cgroup);
		assert_int_equal(f.e.where, OOM_WHERE_UNKNOWN);
	}
}

static const struct kernel_suspect with_pids[] = {
	{ .name = "", .pid = 70 },
	{ .name = "ray::leak", .rss = 100 * MIB, .pid = 71 },
};

static struct kernel_question with_known_pids(void)
{
	return (struct kernel_question){ .self = { .cgroup = CGROUP },
					 .command = 70,
					 .begin_us = 10 * S,
					 .since_us = 10 * S,
					 .named_since_us = 10 * S,
					 .ended_us = 100 * S,
					 .suspects = with_pids,
					 .n_suspects = ARRAY_SIZE(with_pids) };
}

/*
 * The log is read from one second before the start. What it contained when the sidecar came is
 * about another process of the same name.
 */
static void a_namesake_of_before_the_start_is_not_ours(void **state)
{
	struct kernel_question q = { .self = { .cgroup = CGROUP },
				     .since_us = 95 * S,
				     .named_since_us = 98 * S,
				     .ended_us = 100 * S,
				     .suspects = suspects,
				     .n_suspects = ARRAY_SIZE(suspects) };
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	add_killed(&f, 97 * S, 5, "ray::leak", 100 * MIB);
	add_killed(&f, 98 * S, 6, "ray::leak", 100 * MIB);
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_false(f.e.oom);
	add_killed(&f, 98 * S + 1, 7, "ray::leak", 100 * MIB);
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_true(f.e.oom);
	assert_int_equal(f.e.pid, 7);
}

static void a_name_alone_is_no_identity(void **state)
{
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	/* Linux 2.6 writes it like this, without a time as with printk.time=0. */
	add(&f, 3, 99 * S, "Killed process 5 (ray::leak)");
	add_killed(&f, -1, 5, "ray::leak", 100 * MIB);
	ask(&f, CGROUP);
	assert_false(f.e.oom);
}

static void lines_without_a_cgroup_count_no_kills(void **state)
{
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	for (int i = 0; i < 5; i++)
		add_killed(&f, 97 * S + i, 5 + i, "ray::leak", 100 * MIB);
	ask(&f, CGROUP);
	assert_true(f.e.oom && !f.e.by_cgroup);
	assert_int_equal(f.e.kills, 1);
	assert_int_equal(f.e.victim, KERNEL_VICTIM_UNKNOWN);
}

static void where_pids_are_known_no_name_counts(void **state)
{
	const struct kernel_question q = with_known_pids();
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	add_killed(&f, 98 * S, 5, "ray::leak", 100 * MIB);
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_false(f.e.oom);
	/*
	 * For one kill of many the kernel leaves out the report with the cgroup. The PID is still
	 * known.
	 */
	add_killed(&f, 99 * S, 71, "renamed", 900 * MIB);
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_true(f.e.oom && f.e.by_cgroup);
	assert_int_equal(f.e.victim, KERNEL_VICTIM_OTHER);
	assert_int_equal(f.e.killed, 1);
	assert_false(f.e.rules_out); /* PID 5 may be a thread of the command */
}

static void the_kill_of_the_command_is_the_one_that_counts(void **state)
{
	const struct kernel_question q = with_known_pids();
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	add_report(&f, 97 * S, 71, "ray::leak", CGROUP);
	add_report(&f, 98 * S, 70, "command", CGROUP);
	add_report(&f, 99 * S, 72, "unknown", CGROUP);
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_int_equal(f.e.victim, KERNEL_VICTIM_COMMAND);
	assert_int_equal(f.e.pid, 70);
	assert_int_equal(f.e.kills, 3);
	assert_int_equal(f.e.killed, 3);
}

static void of_a_group_each_pid_is_known(void **state)
{
	const struct kernel_question q = with_known_pids();
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	add_report(&f, 99 * S, 71, "ray::leak", CGROUP);
	add(&f, 6, 99 * S + 4,
	    "Tasks in " CGROUP " are going to be killed due to memory.oom.group set");
	add_killed(&f, 99 * S + 5, 70, "command", MIB);
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_true(f.e.by_cgroup);
	assert_int_equal(f.e.victim, KERNEL_VICTIM_COMMAND);
	assert_true(f.e.group && f.e.by_pid);
	assert_string_equal(f.e.name, "ray::leak");
	assert_int_equal(f.e.killed, 2);
}

static void a_neighbours_group_takes_the_command_along(void **state)
{
	const struct kernel_question q = with_known_pids();
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	add(&f, 6, 1 * S, "boot");
	add_report(&f, 99 * S, 500, "neighbour", OTHER);
	add(&f, 6, 99 * S + 4,
	    "Tasks in /kubepods are going to be killed due to memory.oom.group set");
	add_killed(&f, 99 * S + 5, 70, "command", MIB);
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_true(f.e.oom && f.e.by_cgroup && f.e.group);
	assert_int_equal(f.e.victim, KERNEL_VICTIM_COMMAND);
	assert_false(f.e.rules_out);
	assert_string_equal(f.e.name, ""); /* the other container's process has no name here */
}

/* The kernel names the thread that still had memory. */
static void a_thread_may_stand_for_the_command(void **state)
{
	static const struct {
		const char *table, *row;
		enum kernel_victim victim;
		bool rules_out;
		uint32_t n; /* of the table */
	} rows[] = {
		{ NULL, NULL, KERNEL_VICTIM_UNKNOWN, false, 0 },
		{ "[  pid  ]   uid  tgid total_vm      rss name", "[     90]     0    70        9        9 thread", KERNEL_VICTIM_COMMAND, false, 1 },
		{ "[  pid  ]   uid  tgid total_vm      rss name", "[     90]     0    90        9        9 child", KERNEL_VICTIM_OTHER, true, 1 },
		{ "[  pid  ]   uid  total_vm      rss name", "[     90]     0     9        9 child", KERNEL_VICTIM_UNKNOWN, false, 1 },
	};
	const struct kernel_question q = with_known_pids();
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_fixture_ struct fixture f = FIXTURE;

		add(&f, 6, 1 * S, "boot");
		add(&f, 4, 99 * S, "x invoked oom-killer: gfp_mask=0xcc0");
		if (rows[i].table) {
			add(&f, 6, 99 * S + 1, "%s", rows[i].table);
			add(&f, 6, 99 * S + 2, "%s", rows[i].row);
		}
		add(&f, 6, 99 * S + 3,
		    "oom-kill:constraint=C,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=%s,task_memcg=%s,task=x,pid=90,uid=0",
		    CGROUP, CGROUP);
		add_killed(&f, 99 * S + 4, 90, "x", 100 * MIB);
		kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
		assert_true(f.e.oom && f.e.by_cgroup);
		assert_int_equal(f.e.victim, rows[i].victim);
		assert_int_equal(f.e.rules_out, rows[i].rules_out);
		assert_int_equal(f.e.table, rows[i].n);
	}
}

static void a_cgroup_wins_over_a_name(void **state)
{
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	add_killed(&f, 98 * S, 4, "ray::leak", 100 * MIB);
	add_report(&f, 98 * S + 5, 5, "x", CGROUP);
	add_killed(&f, 99 * S, 6, "ray::leak", 100 * MIB);
	ask(&f, CGROUP);
	assert_true(f.e.by_cgroup);
	assert_int_equal(f.e.pid, 5);
	assert_int_equal(f.e.kills, 1);
}

static void in_a_shared_cgroup_only_known_processes_are_ours(void **state)
{
	const struct kernel_suspect known = { .name = "hog", .pid = 8, .rss = MIB };
	struct kernel_question q = { .self = { .cgroup = CGROUP },
				     .shared = true,
				     .since_us = 10 * S,
				     .ended_us = 100 * S,
				     .suspects = &known,
				     .n_suspects = 1 };
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	add_report(&f, 98 * S, 7, "hog", CGROUP "/somebody-elses");
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_false(f.e.oom);
	/* In another PID namespace than the log's, that victim may be ours. */
	assert_int_equal(f.e.others, 0);
	q.command = 9;
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_false(f.e.oom);
	assert_int_equal(f.e.others, 1);
	add_report(&f, 99 * S, 8, "hog", CGROUP);
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_true(f.e.oom && f.e.by_cgroup);
}

static void the_cgroup_that_met_its_limit_is_identified(void **state)
{
	static const struct {
		const char *memcg, *below;
		bool elsewhere;
	} rows[] = {
		{ CGROUP, "", false },
		{ CGROUP "/ray-node_1/user", "ray-node_1/user", false },
		{ CGROUP "/a\033b", "a\\x1bb", false },
		{ "/user.slice/run-1.scope", "", true },
		{ CGROUP "x/user", "", true },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct kernel_question q = { .self = { .cgroup = CGROUP },
						   .command = 8,
						   .since_us = 10 * S,
						   .ended_us = 100 * S };
		_cleanup_fixture_ struct fixture f = FIXTURE;

		add_report(&f, 99 * S, 8, "hog", rows[i].memcg);
		kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
		assert_true(f.e.oom && f.e.by_cgroup);
		assert_string_equal(f.e.below, rows[i].below);
		assert_int_equal(f.e.elsewhere, rows[i].elsewhere);
		assert_false(f.e.rules_out);
	}
}

static void a_whole_log_without_the_command_rules_its_kill_out(void **state)
{
	struct kernel_question q = { .self = { .cgroup = CGROUP },
				     .command = 8,
				     .begin_us = 10 * S,
				     .since_us = 10 * S,
				     .ended_us = 100 * S };
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_false(f.e.rules_out); /* an empty log says nothing */
	add(&f, 6, 80 * S, "a line");
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	/* what was before it is not known, and a process may take long to die */
	assert_false(f.e.rules_out);
	q.ended_us = 230 * S;
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_true(f.e.rules_out);
	q.ended_us = 100 * S;
	kmsg_log_release(&f.log);
	f.log = (struct kmsg_log){ 0 };
	add(&f, 6, 1 * S, "boot");
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_true(f.e.rules_out);
	f.log.lost = 1;
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_false(f.e.rules_out);
	f.log.lost = 0;
	q.command = 0;
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_false(f.e.rules_out);
}

/* A node that is itself a container sees other cgroups and PIDs than the log names. */
static void kills_of_that_time_that_nothing_places_here_are_counted(void **state)
{
	const struct kernel_question q = { .self = { .cgroup = CGROUP },
					   .begin_us = 10 * S,
					   .since_us = 10 * S,
					   .ended_us = 400 * S };
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	add(&f, 6, 1 * S, "boot");
	add_report(&f, 200 * S, 7, "hog", OTHER); /* long before */
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_true(f.e.whole);
	assert_int_equal(f.e.foreign, 0);
	add_report(&f, 399 * S, 8, "hog", "/outer/abc" OTHER);
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_false(f.e.oom);
	assert_int_equal(f.e.foreign, 1);
	add_report(&f, 399 * S + 10, 9, "hog", CGROUP);
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_true(f.e.oom);
	assert_int_equal(f.e.foreign, 1);
	f.log.lost = 1;
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_false(f.e.whole);
}

static void a_report_between_the_kill_of_the_command_and_its_end_hides_it_not(void **state)
{
	struct kernel_question q = { .self = { .cgroup = CGROUP },
				     .command = 8,
				     .begin_us = 10 * S,
				     .since_us = 98 * S,
				     .ended_us = 100 * S };
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	add(&f, 6, 1 * S, "boot");
	add_report(&f, 97 * S, 8, "hog", CGROUP);
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_true(f.e.oom && f.e.by_cgroup);
	assert_int_equal(f.e.victim, KERNEL_VICTIM_COMMAND);
	assert_false(f.e.rules_out);
	q.ended_us = 130 * S; /* it had much memory to give back */
	q.since_us = 128 * S;
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_true(f.e.oom && f.e.by_cgroup);
	assert_int_equal(f.e.victim, KERNEL_VICTIM_COMMAND);
	assert_false(f.e.rules_out);
	q.begin_us = 99 * S; /* somebody else had that PID before */
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_false(f.e.oom);
}

static void user_space_is_not_believed(void **state)
{
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	add(&f, 8 | 3, 99 * S,
	    "Memory cgroup out of memory: Killed process 5 (ray::leak) total-vm:9kB, anon-rss:102400kB, file-rss:0kB");
	add(&f, 8 | 6, 99 * S, "ray::leak[5]: segfault at 10 ip 0 sp 0 error 4");
	ask(&f, CGROUP);
	assert_false(f.e.oom);
	assert_string_equal(f.e.crash, "");
	/* The line is kept and marked. */
	assert_non_null(strstr(strbuf_str(&f.excerpt), "(user space, facility 1) Memory cgroup"));
}

static void names_are_escaped(void **state)
{
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	add_report(&f, 99 * S, 8, "\033[31mred\n", CGROUP);
	ask(&f, CGROUP);
	assert_true(f.e.oom);
	assert_string_equal(f.e.name, "\\x1b[31mred\\x0a");
	assert_null(strchr(f.e.line, '\033'));
	assert_null(strchr(strbuf_str(&f.excerpt), '\033'));
}

/*
 * The kernel kills a group one by one, and the command may have come to its own end before its turn
 * came.
 */
static void the_launcher_among_the_victims_is_known_by_its_pid(void **state)
{
	struct kernel_question q = { .self = { .cgroup = CGROUP },
				     .command = 8,
				     .begin_us = 10 * S,
				     .since_us = 10 * S,
				     .ended_us = 100 * S };
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	add(&f, 6, 1 * S, "boot");
	add_report(&f, 99 * S, 9, "hog", CGROUP);
	add(&f, 6, 99 * S + 4,
	    "Tasks in " CGROUP " are going to be killed due to memory.oom.group set");
	add_killed(&f, 99 * S + 5, 7, "afterglow-launc", MIB);
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_int_equal(f.e.killed, 2);
	assert_false(f.e.took_launcher);
	q.launcher = 6;
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_false(f.e.took_launcher);
	q.launcher = 7;
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_true(f.e.took_launcher);
	assert_true(f.e.by_pid);
	q.since_us = 99 * S + 5; /* an earlier report covered it, so that was another process */
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_false(f.e.took_launcher);
}

static void a_crash_is_known_by_name_or_by_pid(void **state)
{
	_cleanup_fixture_ struct fixture f = FIXTURE;
	const struct kernel_suspect command = { .name = "", .pid = 77 };
	const struct kernel_question q = { .self = { .cgroup = "" },
					   .since_us = 10 * S,
					   .ended_us = 100 * S,
					   .suspects = &command,
					   .n_suspects = 1 };
	(void)state;

	add(&f, 6, 50 * S, "ray::leak[5]: segfault at 50 ip 0 sp 0 error 4");
	ask(&f, CGROUP);
	assert_string_equal(f.e.crash, "");
	add(&f, 6, 99 * S, "ray::leak[5]: segfault at 99 ip 0 sp 0 error 4");
	add(&f, 6, 99 * S, "other[77]: segfault at 77 ip 0 sp 0 error 4");
	ask(&f, CGROUP);
	assert_non_null(strstr(f.e.crash, "segfault at 99"));
	/* another process of that name may have crashed elsewhere on the node */
	assert_false(f.e.crash_by_pid);
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_non_null(strstr(f.e.crash, "segfault at 77"));
	assert_true(f.e.crash_by_pid);
}

static void a_gap_is_reported(void **state)
{
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	add(&f, 6, 50 * S, "a line");
	f.log.lost = 7;
	ask(&f, CGROUP);
	assert_string_equal(
		strbuf_str(&f.excerpt),
		"(7 records were overwritten before they could be read)\n[   50.000000] a line\n");
}

static void a_long_log_is_cut_to_its_end(void **state)
{
	_cleanup_fixture_ struct fixture f = FIXTURE;
	unsigned int lines = 0;
	(void)state;

	for (int i = 0; i < 1000; i++)
		add(&f, 6, i, "line %d", i);
	ask(&f, CGROUP);
	for (const char *p = strbuf_str(&f.excerpt); *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, KERNEL_TAIL_LINES);
	assert_non_null(strstr(strbuf_str(&f.excerpt), "line 999\n"));
}

static void of_the_pods_crashes_the_containers_own_wins(void **state)
{
	struct kernel_question q = with_known_pids();
	_cleanup_fixture_ struct fixture f = FIXTURE;
	(void)state;

	q.own_lines = true;
	add(&f, 6, 98 * S, "hog[500]: segfault at 0 ip 1 sp 2 error 4");
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_non_null(strstr(f.e.crash, "hog[500]")); /* it may be one that nobody saw alive */
	assert_false(f.e.crash_by_pid);
	add(&f, 6, 98 * S + 1, "python3[70]: segfault at 0 ip 1 sp 2 error 4");
	add(&f, 6, 99 * S, "hog[501]: segfault at 0 ip 1 sp 2 error 4");
	kernel_evidence_find(&f.log, &q, &f.e, &f.excerpt);
	assert_non_null(strstr(f.e.crash, "python3[70]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_the_pods_crashes_the_containers_own_wins),
		cmocka_unit_test(our_kill_is_found_among_others),
		cmocka_unit_test(a_kill_of_before_is_another_story),
		cmocka_unit_test(the_latest_of_several_counts),
		cmocka_unit_test(a_line_without_cgroup_is_ours_by_name_size_and_time),
		cmocka_unit_test(a_namesake_of_before_the_start_is_not_ours),
		cmocka_unit_test(a_name_alone_is_no_identity),
		cmocka_unit_test(lines_without_a_cgroup_count_no_kills),
		cmocka_unit_test(where_pids_are_known_no_name_counts),
		cmocka_unit_test(the_kill_of_the_command_is_the_one_that_counts),
		cmocka_unit_test(of_a_group_each_pid_is_known),
		cmocka_unit_test(a_neighbours_group_takes_the_command_along),
		cmocka_unit_test(a_thread_may_stand_for_the_command),
		cmocka_unit_test(a_cgroup_wins_over_a_name),
		cmocka_unit_test(in_a_shared_cgroup_only_known_processes_are_ours),
		cmocka_unit_test(the_cgroup_that_met_its_limit_is_identified),
		cmocka_unit_test(a_whole_log_without_the_command_rules_its_kill_out),
		cmocka_unit_test(kills_of_that_time_that_nothing_places_here_are_counted),
		cmocka_unit_test(a_report_between_the_kill_of_the_command_and_its_end_hides_it_not),
		cmocka_unit_test(user_space_is_not_believed),
		cmocka_unit_test(names_are_escaped),
		cmocka_unit_test(the_launcher_among_the_victims_is_known_by_its_pid),
		cmocka_unit_test(a_crash_is_known_by_name_or_by_pid),
		cmocka_unit_test(a_gap_is_reported),
		cmocka_unit_test(a_long_log_is_cut_to_its_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
