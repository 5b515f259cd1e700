/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of finding OOM kills in whole logs (testdata/), and of deciding in which container they
 * were.
 */
#include "sidecar/kernel/oom_kills.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fileio.h"

#define TESTDATA "sidecar/kernel/testdata/"
#define KB ((int64_t)1024)

#define POD_UID "94eb36cd-29e1-478b-b365-4cb5dfc7d6fb"
#define POD_SLICE "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod94eb36cd_29e1_478b_b365_4cb5dfc7d6fb.slice"
#define SCOPE "/cri-containerd-46b3e0a4df44b752b841aecca454e6e78995d567912a84950390bae6f6777a63.scope"
#define OTHER_SCOPE "/cri-containerd-ffb3e0a4df44b752b841aecca454e6e78995d567912a84950390bae6f6777a63.scope"
#define V1_POD "/kubepods/burstable/pode501ca8a-ec23-11e8-b17a-0a586444015a"
#define V1_ID "/f24766bce80e0ce4f0ca2887da2be9d0d250448d7ef503d9f85bf5e549c757d5"

static void load(const char *name, struct kmsg_log *log)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(KMSG_LOG_TEXT_MAX);
	char path[128];
	const char *p, *end;
	struct kmsg_record r;

	snprintf(path, sizeof(path), TESTDATA "%s", name);
	assert_int_equal(file_read(AT_FDCWD, path, &text, NULL), 0);
	p = strbuf_str(&text);
	end = p + text.len;
	if (strstr(name, ".syslog")) {
		while (kmsg_next_syslog(&p, end, &r))
			assert_int_equal(kmsg_log_add(log, &r), 0);
		return;
	}
	/* Each line is a record; lines of the form KEY=value belong to the one before. */
	while (p < end) {
		const char *next = p;
		char *record;

		do {
			next = memchr(next, '\n', (size_t)(end - next));
			next = next ? next + 1 : end;
		} while (next < end && *next == ' ');
		record = strndup(p, (size_t)(next - p));
		assert_true(kmsg_parse_device(record, (size_t)(next - p), &r));
		assert_int_equal(kmsg_log_add(log, &r), 0);
		free(record);
		p = next;
	}
}

struct kills {
	struct oom_kill kill[8];
	size_t n;
};

static void keep(const struct oom_kill *k, void *arg)
{
	struct kills *kills = arg;

	assert_true(kills->n < ARRAY_SIZE(kills->kill));
	kills->kill[kills->n++] = *k;
}

static const struct {
	const char *file;
	size_t n; /* the number of the kill to compare: */
	size_t i;
	int64_t pid;
	const char *name;
	enum kmsg_scope scope;
	bool group;
	unsigned int killed, processes;
	int64_t rss, limit;
	const char *task_memcg, *oom_memcg;
	size_t first, last;
} logs[] = {
	{ "3.10.syslog", 1, 0, 28438, "java", KMSG_SCOPE_MEMCG, false, 1, 1, (466160 + 13684) * KB, 1048576 * KB,
	  "/slurm/uid_1000/job_7", "/slurm/uid_1000/job_7", 0, 6 },
	{ "3.10-rhel.syslog", 1, 0, 901, "java", KMSG_SCOPE_GLOBAL, false, 1, 0, (466160 + 12) * KB, -1, "", "", 0, 1 },
	{ "4.8.kmsg", 1, 0, 1381, "gunpowder-memho", KMSG_SCOPE_MEMCG, false, 1, 1, (18624 + 2140) * KB, 2097152 * KB,
	  V1_POD V1_ID, V1_POD, 0, 6 },
	{ "5.8-pod.kmsg", 1, 0, 4100, "ray::load", KMSG_SCOPE_MEMCG, true, 2, 2, (3807640 + 92) * KB, 4194304 * KB,
	  POD_SLICE SCOPE, POD_SLICE, 0, 9 },
	{ "5.8-global.syslog", 1, 0, 171, "sh", KMSG_SCOPE_GLOBAL, false, 1, 1, (1670644 + 1852) * KB, -1, "/", "", 0, 4 },
	{ "6.1-group.syslog", 1, 0, 103, "ray::leak", KMSG_SCOPE_MEMCG, true, 4, 4, (20316 + 4 + 36) * KB, 40960 * KB,
	  "/afterglow-99-0", "/afterglow-99-0", 0, 17 },
	{ "6.18-memcg.syslog", 1, 0, 17665, "ray::leak", KMSG_SCOPE_MEMCG, false, 1, 2, 16128 * KB, 16384 * KB,
	  "/process_api/d369939dc40d40ace3eda65a28b56bc3/afterglow-17663-0",
	  "/process_api/d369939dc40d40ace3eda65a28b56bc3/afterglow-17663-0", 0, 14 },
	/* Three forged lines and two reports. */
	{ "hostile.syslog", 2, 0, 4242, "a,task=,pid=7,u", KMSG_SCOPE_MEMCG, false, 1, 0, 4 * KB, -1, "/pod", "/pod", 3, 5 },
	{ "hostile.syslog", 2, 1, 4343, "two\nlines", KMSG_SCOPE_MEMCG, false, 1, 0, 4 * KB, -1, "/pod", "/pod", 7, 11 },
};

static void kernels_of_every_age_are_understood(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(logs); i++) {
		_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
		struct kills kills = { 0 };
		const struct oom_kill *k;

		load(logs[i].file, &log);
		oom_kills_find(&log, keep, &kills);
		print_message("%s\n", logs[i].file);
		assert_int_equal(kills.n, logs[i].n);
		k = &kills.kill[logs[i].i];
		assert_int_equal(k->pid, logs[i].pid);
		assert_string_equal(k->name, logs[i].name);
		assert_int_equal(k->scope, logs[i].scope);
		assert_int_equal(k->group, logs[i].group);
		assert_int_equal(k->killed, logs[i].killed);
		assert_int_equal(k->processes, logs[i].processes);
		assert_int_equal(oom_kill_rss(k), logs[i].rss);
		assert_int_equal(k->limit, logs[i].limit);
		assert_string_equal(k->task_memcg, logs[i].task_memcg);
		assert_string_equal(k->oom_memcg, logs[i].oom_memcg);
		assert_int_equal(k->first, logs[i].first);
		assert_int_equal(k->last, logs[i].last);
	}
}

static void add(struct kmsg_log *log, int64_t time_us, const char *text)
{
	const struct kmsg_record r = {
		.priority = 3, .time_us = time_us, .text = text, .len = strlen(text)
	};

	assert_int_equal(kmsg_log_add(log, &r), 0);
}

static void kills_without_a_report_stand_alone(void **state)
{
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	struct kills kills = { 0 };
	(void)state;

	load("6.18-memcg.syslog", &log);
	/* The kernel's rate limit suppressed its report. */
	add(&log, 5086700000,
	    "Memory cgroup out of memory: Killed process 8 (b) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB");
	add(&log, 5086700001, "a line about something else");
	add(&log, 5086700002,
	    "Memory cgroup out of memory: Killed process 9 (c) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB");
	oom_kills_find(&log, keep, &kills);
	assert_int_equal(kills.n, 3);
	assert_string_equal(kills.kill[1].name, "b");
	assert_string_equal(kills.kill[1].task_memcg, "");
	assert_int_equal(kills.kill[2].first, kills.kill[2].last);
	assert_int_equal(kills.kill[2].scope, KMSG_SCOPE_MEMCG);
}

static void a_report_without_its_kill_is_none(void **state)
{
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	struct kills kills = { 0 };
	(void)state;

	add(&log, 1, "x invoked oom-killer: gfp_mask=0");
	add(&log, 2,
	    "oom-kill:constraint=C,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/p,task_memcg=/p,task=x,pid=1,uid=0");
	oom_kills_find(&log, keep, &kills);
	assert_int_equal(kills.n, 0);
	/* The end of this report was overwritten. That of the next one must not be taken for it. */
	add(&log, 3, "y invoked oom-killer: gfp_mask=0");
	add(&log, 4,
	    "Memory cgroup out of memory: Killed process 2 (y) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB");
	oom_kills_find(&log, keep, &kills);
	assert_int_equal(kills.n, 1);
	assert_string_equal(kills.kill[0].task_memcg, "");
}

#define KILLED(pid, name) \
	"Memory cgroup out of memory: Killed process " pid " (" name ") total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB"
#define IN(cgroup) "Tasks in " cgroup " are going to be killed due to memory.oom.group set"

static void a_kill_without_a_report_is_of_no_group_before_it(void **state)
{
	static const struct {
		int64_t apart_us;
		bool group;
	} rows[] = { { 2000, true }, { 400000, true }, { 400000, false } };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
		struct kills kills = { 0 };
		int64_t then = 5000 + rows[i].apart_us;

		add(&log, 4000, "x invoked oom-killer: gfp_mask=0");
		add(&log, 4001,
		    "oom-kill:constraint=C,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/one,task_memcg=/one,task=x,pid=1,uid=0");
		add(&log, 4002, KILLED("1", "x"));
		add(&log, 4003, IN("/one"));
		add(&log, 4004, KILLED("1", "x"));
		add(&log, 5000, KILLED("2", "y"));
		add(&log, then, KILLED("7", "z"));
		if (rows[i].group)
			add(&log, then + 1, IN("/two"));
		add(&log, then + 2, KILLED("8", "w"));
		oom_kills_find(&log, keep, &kills);
		assert_int_equal(kills.n, rows[i].group ? 2 : 3);
		assert_true(oom_kill_took(&kills.kill[0], 2));
		assert_false(oom_kill_took(&kills.kill[0], 7) || oom_kill_took(&kills.kill[0], 8));
		assert_int_equal(kills.kill[1].pid, 7);
		assert_string_equal(kills.kill[1].task_memcg, rows[i].group ? "/two" : "");
	}
}

static const struct {
	const char *what, *task_memcg, *oom_memcg;
	struct oom_self self;
	enum oom_match match;
	enum oom_where where; /* relative to our cgroup */
} whose[] = {
	{ "v1, its own path", V1_POD V1_ID, V1_POD V1_ID, { V1_POD V1_ID, "e501ca8a-ec23-11e8-b17a-0a586444015a" }, OOM_OURS, OOM_WHERE_CONTAINER },
	{ "v1, the pod's limit", V1_POD V1_ID, V1_POD, { V1_POD V1_ID, "e501ca8a-ec23-11e8-b17a-0a586444015a" }, OOM_OURS, OOM_WHERE_POD },
	{ "v1, the limit of all pods", V1_POD V1_ID, "/kubepods", { V1_POD V1_ID, "e501ca8a-ec23-11e8-b17a-0a586444015a" }, OOM_OURS, OOM_WHERE_ABOVE },
	{ "v1, a cgroup inside", V1_POD V1_ID "/job", V1_POD V1_ID, { V1_POD V1_ID, "e501ca8a-ec23-11e8-b17a-0a586444015a" }, OOM_OURS, OOM_WHERE_CONTAINER },
	{ "v1, another container of the pod", V1_POD "/aaa", V1_POD "/aaa", { V1_POD V1_ID, "e501ca8a-ec23-11e8-b17a-0a586444015a" }, OOM_NOT_OURS, 0 },
	{ "v1, another pod", "/kubepods/podx" V1_ID "0", "/kubepods", { V1_POD V1_ID, "e501ca8a-ec23-11e8-b17a-0a586444015a" }, OOM_NOT_OURS, 0 },
	{ "v1, below a cgroup that this machine is", "/vm7" V1_POD V1_ID, "/vm7" V1_POD V1_ID, { V1_POD V1_ID, NULL }, OOM_OURS, OOM_WHERE_CONTAINER },
	{ "v2, seen from the sidecar", POD_SLICE SCOPE, POD_SLICE SCOPE, { "/.." SCOPE, POD_UID }, OOM_OURS, OOM_WHERE_CONTAINER },
	{ "v2, the pod's limit", POD_SLICE SCOPE, POD_SLICE, { "/.." SCOPE, POD_UID }, OOM_OURS, OOM_WHERE_POD },
	{ "v2, the limit of all pods", POD_SLICE SCOPE, "/kubepods.slice", { "/.." SCOPE, POD_UID }, OOM_OURS, OOM_WHERE_ABOVE },
	{ "v2, another container of the pod", POD_SLICE OTHER_SCOPE, POD_SLICE, { "/.." SCOPE, POD_UID }, OOM_NOT_OURS, 0 },
	{ "v2, ours unknown: the pod's at least", POD_SLICE SCOPE, POD_SLICE SCOPE, { "/", POD_UID }, OOM_CGROUP_UNKNOWN, 0 },
	{ "v2, ours unknown, another pod", "/kubepods.slice/kubepods-podaaaaaaaa_29e1_478b_b365_4cb5dfc7d6fb.slice/x", "", { "/", POD_UID }, OOM_NOT_OURS, 0 },
	{ "nothing known of us", POD_SLICE SCOPE, POD_SLICE, { "", NULL }, OOM_CGROUP_UNKNOWN, 0 },
	{ "nothing known of it", "", "", { "/.." SCOPE, POD_UID }, OOM_CGROUP_UNKNOWN, 0 },
	{ "exec, its own cgroup", "/user/afterglow-4455-0", "/user/afterglow-4455-0", { "/user/afterglow-4455-0", NULL }, OOM_OURS, OOM_WHERE_CONTAINER },
	{ "exec, a limit above", "/user/afterglow-4455-0", "/user", { "/user/afterglow-4455-0", NULL }, OOM_OURS, OOM_WHERE_ABOVE },
	{ "exec, another", "/user/afterglow-4455-01", "/user/afterglow-4455-01", { "/user/afterglow-4455-0", NULL }, OOM_NOT_OURS, 0 },
	{ "v2, another pod has a cgroup with our names", "/kubepods.slice/kubepods-podaaaaaaaa_29e1_478b_b365_4cb5dfc7d6fb.slice/x" POD_SLICE SCOPE, "/kubepods.slice", { "/.." SCOPE, POD_UID }, OOM_NOT_OURS, 0 },
	{ "v2, the same, and ours is unknown", "/kubepods.slice/kubepods-podaaaaaaaa_29e1_478b_b365_4cb5dfc7d6fb.slice/x" POD_SLICE SCOPE, "", { "/", POD_UID }, OOM_NOT_OURS, 0 },
	{ "a short path is no tail of others", "/pod/a", "/pod/a", { "/a", NULL }, OOM_NOT_OURS, 0 },
	{ "a short UID is no UID", "/kubepods/pod1/c", "/kubepods/pod1/c", { "/", "1" }, OOM_NOT_OURS, 0 },
	{ "a long way up", "/a/0123456789abcdef/c", "/a", { "/../../../0123456789abcdef/c", NULL }, OOM_OURS, OOM_WHERE_ABOVE },
	{ "a tail that others may have: name, size and time may tell", "/docker/x/user.slice/user-0.slice/session-1.scope", "", { "/user.slice/user-0.slice/session-1.scope", NULL }, OOM_CGROUP_UNKNOWN, 0 },
	{ "the same, seen from beside", "/docker/x/system.slice/ray-worker.service", "", { "/../ray-worker.service", NULL }, OOM_CGROUP_UNKNOWN, 0 },
	{ "a directory named ..x", "/..x/0123456789abcdef", "/..x/0123456789abcdef", { "/..x/0123456789abcdef", NULL }, OOM_OURS, OOM_WHERE_CONTAINER },
};

static void cgroups_identify_the_container_of_a_kill(void **state)
{
	unsigned int wrong = 0;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(whose); i++) {
		struct oom_kill k = { .scope = KMSG_SCOPE_MEMCG };
		enum oom_match match;
		enum oom_where where;

		snprintf(k.task_memcg, sizeof(k.task_memcg), "%s", whose[i].task_memcg);
		snprintf(k.oom_memcg, sizeof(k.oom_memcg), "%s", whose[i].oom_memcg);
		match = oom_kill_match(&k, &whose[i].self);
		where = oom_kill_where(&k, &whose[i].self);
		if (match == whose[i].match && (match != OOM_OURS || where == whose[i].where))
			continue;
		print_error("%s: match %d, where %d\n", whose[i].what, match, where);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void global_is_the_node(void **state)
{
	const struct oom_kill k = { .scope = KMSG_SCOPE_GLOBAL, .task_memcg = V1_POD V1_ID };
	const struct oom_self self = { V1_POD V1_ID, NULL };
	(void)state;

	assert_int_equal(oom_kill_match(&k, &self), OOM_OURS);
	assert_int_equal(oom_kill_where(&k, &self), OOM_WHERE_NODE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_of_every_age_are_understood),
		cmocka_unit_test(kills_without_a_report_stand_alone),
		cmocka_unit_test(a_report_without_its_kill_is_none),
		cmocka_unit_test(a_kill_without_a_report_is_of_no_group_before_it),
		cmocka_unit_test(cgroups_identify_the_container_of_a_kill),
		cmocka_unit_test(global_is_the_node),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
