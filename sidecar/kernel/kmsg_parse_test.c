/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reading records and lines of the kernel log, as tables with hostile rows. */
#include "sidecar/kernel/kmsg_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

#define KB ((int64_t)1024)
#define UID_POD "/kubepods.slice/kubepods-pod94eb36cd_29e1_478b_b365_4cb5dfc7d6fb.slice"
/* A cgroup that a container makes below its own */
#define FORGED "/kubepods/poda/x,task_memcg=" UID_POD "/z"
/* The sizes of a line that does not contain them. */
#define NO_SIZES .anon = -1, .file = -1, .shmem = -1
#define NO_MEMORY .usage = -1, .limit = -1
#define NOTHING .pid = -1, .uid = -1, NO_SIZES, NO_MEMORY

static const struct {
	const char *text;
	struct kmsg_line line;
} lines[] = {
	/* --- Beginnings --- */
	{ "oom1 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
	  { .kind = KMSG_OOM_INVOKED, NOTHING, .name = "oom1" } },
	{ "a b\"(] invoked oom-killer: gfp_mask=0xcc0", { .kind = KMSG_OOM_INVOKED, NOTHING, .name = "a b\"(]" } },
	{ " invoked oom-killer: gfp_mask=0xcc0", { .kind = KMSG_OOM_INVOKED, NOTHING } },
	{ "memory: usage 980kB, limit 980kB, failcnt 4152239",
	  { .kind = KMSG_OOM_MEMORY, .pid = -1, .uid = -1, NO_SIZES, .usage = 980 * KB, .limit = 980 * KB } },
	{ "memory: usage 980kB, limit 99999999999999999999kB, failcnt 0",
	  { .kind = KMSG_OOM_MEMORY, .pid = -1, .uid = -1, NO_SIZES, .usage = 980 * KB, .limit = -1 } },
	{ "memory: usage 980kB, limit 9223372036854775807kB, failcnt 0",
	  { .kind = KMSG_OOM_MEMORY, .pid = -1, .uid = -1, NO_SIZES, .usage = 980 * KB, .limit = -1 } },
	/* Before 5.0 */
	{ "Task in /mem2 killed as a result of limit of /mem2",
	  { .kind = KMSG_OOM_CONSTRAINT, .scope = KMSG_SCOPE_MEMCG, NOTHING, .task_memcg = "/mem2", .oom_memcg = "/mem2" } },
	{ "Task in /pod/a b killed as a result of limit of /pod",
	  { .kind = KMSG_OOM_CONSTRAINT, .scope = KMSG_SCOPE_MEMCG, NOTHING, .task_memcg = "/pod/a b", .oom_memcg = "/pod" } },
	{ "Task in /mem2 killed", { .kind = KMSG_OTHER, NOTHING } },
	{ "Memory cgroup out of memory: Kill process 24572 (java) score 0 or sacrifice child",
	  { .kind = KMSG_OOM_CHOSEN, .scope = KMSG_SCOPE_MEMCG, .pid = 24572, .uid = -1, NO_SIZES, NO_MEMORY, .name = "java" } },
	{ "Out of memory: Kill process 1 () score ) score 0 or sacrifice child",
	  { .kind = KMSG_OOM_CHOSEN, .scope = KMSG_SCOPE_GLOBAL, .pid = 1, .uid = -1, NO_SIZES, NO_MEMORY, .name = ") score " } },
	{ "Killed process 28438 (java) total-vm:20255636kB, anon-rss:466160kB, file-rss:13684kB",
	  { .kind = KMSG_OOM_KILLED, .pid = 28438, .uid = -1, .anon = 466160 * KB, .file = 13684 * KB, .shmem = -1, NO_MEMORY,
	    .name = "java" } },
	{ "Killed process 901 (java), UID 1001, total-vm:8kB, anon-rss:4kB, file-rss:0kB, shmem-rss:12kB",
	  { .kind = KMSG_OOM_KILLED, .pid = 901, .uid = 1001, .anon = 4 * KB, .file = 0, .shmem = 12 * KB, NO_MEMORY,
	    .name = "java" } },
	/* Since 5.0 */
	{ "Memory cgroup out of memory: Killed process 63214 (uwsgi) total-vm:3149468kB, anon-rss:164992kB, file-rss:52176kB, "
	  "shmem-rss:92kB, UID:0 pgtables:1372kB oom_score_adj:986",
	  { .kind = KMSG_OOM_KILLED, .scope = KMSG_SCOPE_MEMCG, .pid = 63214, .uid = 0, .anon = 164992 * KB, .file = 52176 * KB,
	    .shmem = 92 * KB, NO_MEMORY, .name = "uwsgi" } },
	{ "Out of memory (oom_kill_allocating_task): Killed process 7 (x) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB",
	  { .kind = KMSG_OOM_KILLED, .scope = KMSG_SCOPE_GLOBAL, .pid = 7, .uid = -1, .anon = KB, .file = 0, .shmem = 0, NO_MEMORY,
	    .name = "x" } },
	{ "Memory cgroup out of memory: Killed process 5 () total-vm:9kB,) total-vm:1kB, anon-rss:2kB, file-rss:0kB, shmem-rss:0kB",
	  { .kind = KMSG_OOM_KILLED, .scope = KMSG_SCOPE_MEMCG, .pid = 5, .uid = -1, .anon = 2 * KB, .file = 0, .shmem = 0,
	    NO_MEMORY, .name = ") total-vm:9kB," } },
	{ "Memory cgroup out of memory: Killed process 5 (two\nlines) total-vm:1kB, anon-rss:2kB, file-rss:0kB, shmem-rss:0kB",
	  { .kind = KMSG_OOM_KILLED, .scope = KMSG_SCOPE_MEMCG, .pid = 5, .uid = -1, .anon = 2 * KB, .file = 0, .shmem = 0,
	    NO_MEMORY, .name = "two\nlines" } },
	{ "Memory cgroup out of memory: Killed process 99999999999999999999 (x) total-vm:1kB", { .kind = KMSG_OTHER, NOTHING } },
	{ "Memory cgroup out of memory: Killed process -1 (x) total-vm:1kB", { .kind = KMSG_OTHER, NOTHING } },
	{ "Memory cgroup out of memory: Killed process 5 (x", { .kind = KMSG_OTHER, NOTHING } },
	{ "Memory cgroup out of memory", { .kind = KMSG_OTHER, NOTHING } },
	{ "Out of memory and no killable processes...", { .kind = KMSG_OTHER, NOTHING } },
	{ "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/ltp_19257,"
	  "task_memcg=/ltp_19257,task=memcg_process,pid=19289,uid=0",
	  { .kind = KMSG_OOM_CONSTRAINT, .scope = KMSG_SCOPE_MEMCG, .pid = 19289, .uid = 0, NO_SIZES, NO_MEMORY,
	    .name = "memcg_process", .task_memcg = "/ltp_19257", .oom_memcg = "/ltp_19257" } },
	{ "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/,task=sh,pid=171,uid=0",
	  { .kind = KMSG_OOM_CONSTRAINT, .scope = KMSG_SCOPE_GLOBAL, .pid = 171, .uid = 0, NO_SIZES, NO_MEMORY, .name = "sh",
	    .task_memcg = "/" } },
	{ "oom-kill:constraint=CONSTRAINT_TOMORROW,nodemask=0,2-3,cpuset=a,b,mems_allowed=0,2-3,oom_memcg=/p,task_memcg=/p/c,"
	  "task=x,pid=1,uid=1000",
	  { .kind = KMSG_OOM_CONSTRAINT, .scope = KMSG_SCOPE_MEMCG, .pid = 1, .uid = 1000, NO_SIZES, NO_MEMORY, .name = "x",
	    .task_memcg = "/p/c", .oom_memcg = "/p" } },
	{ "oom-kill:constraint=C,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/p,task_memcg=/p/c,task=a,task=,pid=7,u,pid=42,uid=1",
	  { .kind = KMSG_OOM_CONSTRAINT, .scope = KMSG_SCOPE_MEMCG, .pid = 42, .uid = 1, NO_SIZES, NO_MEMORY,
	    .name = "a,task=,pid=7,u", .task_memcg = "/p/c", .oom_memcg = "/p" } },
	{ "oom-kill:constraint=C,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/p,task_memcg=/p/c,task=a", { .kind = KMSG_OTHER, NOTHING } },
	{ "oom-kill:constraint=C,pid=1", { .kind = KMSG_OTHER, NOTHING } },
	{ "oom-kill:constraint=C,task=x,pid=99999999999999999999,uid=0", { .kind = KMSG_OTHER, NOTHING } },
	{ "Tasks in " UID_POD " are going to be killed due to memory.oom.group set",
	  { .kind = KMSG_OOM_GROUP, NOTHING, .task_memcg = UID_POD } },
	/* The name of a cpuset begins the rest of a line that another processor's line broke. */
	{ "Memory cgroup out of memory: Killed process 5 (x) total-vm:1kB,mems_allowed=0,oom_memcg=/p,task_memcg=/p,task=x,pid=1,uid=0",
	  { .kind = KMSG_OTHER, NOTHING } },
	{ "oom-kill:constraint=C,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=" FORGED ",task_memcg=" FORGED ",task=x,pid=7,uid=0",
	  { .kind = KMSG_OOM_CONSTRAINT, .scope = KMSG_SCOPE_MEMCG, .pid = 7, .uid = 0, NO_SIZES, NO_MEMORY, .name = "x",
	    .task_memcg = FORGED, .oom_memcg = FORGED } },
	{ "Tasks in a hurry", { .kind = KMSG_OTHER, NOTHING } },
	/* --- The table --- */
	{ "[ pid ]   uid  tgid total_vm      rss nr_ptes nr_pmds swapents oom_score_adj name",
	  { .kind = KMSG_OOM_TABLE, NOTHING, .columns = { .rss = 4, .count = 8, .tgid = 2 } } },
	{ "[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name",
	  { .kind = KMSG_OOM_TABLE, NOTHING, .columns = { .rss = 4, .count = 10, .tgid = 2 } } },
	{ "[ pid ] uid", { .kind = KMSG_OTHER, NOTHING } },
	{ "[ 1381]     0  1381   530382     5191      34       4     5489             0 gunpowder-memho",
	  { .kind = KMSG_OOM_ROW, .pid = 1381, .uid = -1, NO_SIZES, NO_MEMORY } },
	/* --- Crashes --- */
	{ "probe[5558]: segfault at 10 ip 0000000000401324 sp 00007fffaeddfd40 error 6 in probe[1324,401000+8000] likely on CPU 1",
	  { .kind = KMSG_CRASH, .pid = 5558, .uid = -1, NO_SIZES, NO_MEMORY, .name = "probe" } },
	{ "traps: python3[77] general protection fault ip:7f sp:7f error:0 in libc.so.6[7f+1]",
	  { .kind = KMSG_CRASH, .pid = 77, .uid = -1, NO_SIZES, NO_MEMORY, .name = "python3" } },
	{ "traps: a b] [9] c[78] trap invalid opcode ip:4 sp:7 error:0 in x[4+1]",
	  { .kind = KMSG_CRASH, .pid = 78, .uid = -1, NO_SIZES, NO_MEMORY, .name = "a b] [9] c" } },
	/* A name that begins like another line */
	{ "Task in /[78]: segfault at 10 ip 0 sp 0 error 4 in a killed as a result of limit of /[4+1]",
	  { .kind = KMSG_CRASH, .pid = 78, .uid = -1, NO_SIZES, NO_MEMORY, .name = "Task in /" } },
	{ "x[78]: segfault at 10 ip 0 sp 0 error 4 in a invoked oom-killer: [4+1]",
	  { .kind = KMSG_CRASH, .pid = 78, .uid = -1, NO_SIZES, NO_MEMORY, .name = "x" } },
	{ "ray::x[5]: unhandled level 1 translation fault (11) at 0x00000010, esr 0x92000005, in libfoo.so[ffff+1]",
	  { .kind = KMSG_CRASH, .pid = 5, .uid = -1, NO_SIZES, NO_MEMORY, .name = "ray::x" } },
	{ "]: segfault at [123]: segfault at 10 ip 0", { .kind = KMSG_CRASH, .pid = 123, .uid = -1, NO_SIZES, NO_MEMORY, .name = "]: segfault at " } },
	{ "x[1]: segfault at 10 ip 0 sp 0 error 4 in y[2]: segfault at 0[0+1]",
	  { .kind = KMSG_CRASH, .pid = 1, .uid = -1, NO_SIZES, NO_MEMORY, .name = "x" } },
	{ "[1]: segfault at 10", { .kind = KMSG_CRASH, .pid = 1, .uid = -1, NO_SIZES, NO_MEMORY } },
	{ "x[]: segfault at 10", { .kind = KMSG_OTHER, NOTHING } },
	{ "x[1]: all is well", { .kind = KMSG_OTHER, NOTHING } },
	{ "traps: ", { .kind = KMSG_OTHER, NOTHING } },
	{ "", { .kind = KMSG_OTHER, NOTHING } },
};

static bool same(const struct kmsg_line *a, const struct kmsg_line *b)
{
	return a->kind == b->kind && a->scope == b->scope && a->pid == b->pid && a->uid == b->uid &&
	       a->anon == b->anon && a->file == b->file && a->shmem == b->shmem &&
	       a->usage == b->usage && a->limit == b->limit && a->columns.rss == b->columns.rss &&
	       a->columns.count == b->columns.count && a->columns.tgid == b->columns.tgid &&
	       strcmp(a->name, b->name) == 0 && strcmp(a->task_memcg, b->task_memcg) == 0 &&
	       strcmp(a->oom_memcg, b->oom_memcg) == 0;
}

static void every_line_says_what_it_says(void **state)
{
	unsigned int wrong = 0;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct kmsg_line l;

		kmsg_parse_line(lines[i].text, strlen(lines[i].text), &l);
		if (same(&l, &lines[i].line))
			continue;
		print_error(
			"%s\n  kind %d scope %d pid %lld uid %lld anon %lld limit %lld columns %u %u name '%s' memcgs %s %s\n",
			lines[i].text, l.kind, l.scope, (long long)l.pid, (long long)l.uid,
			(long long)l.anon, (long long)l.limit, l.columns.rss, l.columns.count,
			l.name, l.task_memcg, l.oom_memcg);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void a_line_cut_anywhere_does_no_harm(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		for (size_t n = 0; n <= strlen(lines[i].text); n++) {
			/* Of exactly this size, so that ASan sees a read beyond its end */
			char *cut = strndup(lines[i].text, n);
			struct kmsg_line l;

			kmsg_parse_line(cut, n, &l);
			free(cut);
		}
}

static void paths_and_names_that_are_too_long_are_left_out(void **state)
{
	char text[2048] = "Task in /";
	struct kmsg_line l;
	(void)state;

	memset(text + 9, 'a', KMSG_PATH_MAX);
	snprintf(text + 9 + KMSG_PATH_MAX, sizeof(text) - 9 - KMSG_PATH_MAX,
		 " killed as a result of limit of /");
	assert_int_equal(kmsg_parse_line(text, strlen(text), &l), KMSG_OOM_CONSTRAINT);
	assert_string_equal(l.task_memcg, "");
	assert_string_equal(l.oom_memcg, "/");
}

static void rows_are_read_by_their_header(void **state)
{
	static const struct {
		struct kmsg_columns columns;
		const char *text, *name;
		int64_t pid, tgid, rss;
	} rows[] = {
		{ { 4, 8, 2 }, "[ 1381]     0  1381   530382     5191      34       4     5489             0 gunpowder-memho",
		  "gunpowder-memho", 1381, 1381, 5191 },
		{ { 4, 8, 2 }, "[ 1383]     0  1381   530382     5191      34       4     5489             0 thread", "thread", 1383, 1381, 5191 },
		{ { 4, 10, 0 }, "[  16327]     0 16327     4684     4344     4096      248         0    81920        0          -998 oom 1[2]",
		  "oom 1[2]", 16327, -1, 4344 },
		{ { 0, 2, 0 }, "[ 1 ] 5 6 x", "x", 1, -1, -1 },
		{ { 4, 10, 0 }, "[ 1381]     0  1381   530382     5191 name", NULL, 0, 0, 0 },
		{ { 4, 8, 0 }, "[ 1381]     0  1381   530382  99999999999999999999  34  4  5489   0 x", NULL, 0, 0, 0 },
		{ { 0, 0, 0 }, "[ 1381]     0  1381 x", NULL, 0, 0, 0 },
		{ { 4, 8, 0 }, "no row", NULL, 0, 0, 0 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kmsg_line l;
		int64_t rss = 0;
		bool right = kmsg_parse_row(rows[i].text, strlen(rows[i].text), &rows[i].columns,
					    &l, &rss);

		assert_int_equal(right, rows[i].name != NULL);
		if (!right)
			continue;
		assert_string_equal(l.name, rows[i].name);
		assert_int_equal(l.pid, rows[i].pid);
		assert_int_equal(l.tgid, rows[i].tgid);
		assert_int_equal(rss, rows[i].rss);
	}
}

static void records_of_the_device(void **state)
{
	static const struct {
		const char *data, *text; /* text NULL: the record is refused */
		int priority;
		int64_t seq, time_us;
		bool continues;
	} rows[] = {
		{ "6,22743,6115623303887,-;Task in /x\n", "Task in /x", 6, 22743, 6115623303887, false },
		{ "30,1,2,-,caller=T123;by a task\n SUBSYSTEM=usb\n DEVICE=c189:1\n", "by a task", 30, 1, 2, false },
		{ "4,1,2,+; the rest\n", " the rest", 4, 1, 2, true },
		{ "4,1,2,-;two\\x0alines\\x5c \\x4 \\xzz\n", "two\nlines\\ \\x4 \\xzz", 4, 1, 2, false },
		{ "4,1,2,-;cut\\x0", "cut\\x0", 4, 1, 2, false },
		{ "4,1,2,-;", "", 4, 1, 2, false },
		{ "4,1,2,-", NULL, 0, 0, 0, false },
		{ "4,1,2\n", NULL, 0, 0, 0, false },
		{ "-4,1,2,-;x\n", NULL, 0, 0, 0, false },
		{ "99999999999,1,2,-;x\n", NULL, 0, 0, 0, false },
		{ "4,99999999999999999999,2,-;x\n", NULL, 0, 0, 0, false },
		{ " KEY=value\n", NULL, 0, 0, 0, false },
		{ "", NULL, 0, 0, 0, false },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *data = strdup(rows[i].data);
		struct kmsg_record r;
		bool right = kmsg_parse_device(data, strlen(data), &r);

		assert_int_equal(right, rows[i].text != NULL);
		if (right) {
			assert_int_equal(r.priority, rows[i].priority);
			assert_int_equal(r.seq, rows[i].seq);
			assert_int_equal(r.time_us, rows[i].time_us);
			assert_int_equal(r.continues, rows[i].continues);
			assert_int_equal(r.len, strlen(rows[i].text));
			assert_memory_equal(r.text, rows[i].text, r.len);
		}
		free(data);
	}
}

static void lines_of_syslog(void **state)
{
	static const char text[] = "<6>[    0.000001] one\n"
				   "not a record\n"
				   "<12>[12345.678901][  T123] two\n"
				   "<4>[   pid  ] without a time\n"
				   "<99999999999>[    1.000000] no priority\n"
				   "<5>[99999999999999999999.000000] no time\n"
				   "<3>[    7.000000]\n"
				   "<3>[    8.000000] cut";
	static const struct {
		int priority;
		int64_t time_us;
		const char *text;
	} expected[] = {
		{ 6, 1, "one" },
		{ 12, 12345678901, "two" },
		{ 4, -1, "[   pid  ] without a time" },
		{ 5, -1, "[99999999999999999999.000000] no time" },
		{ 3, 7000000, "" },
		{ 3, 8000000, "cut" },
	};
	const char *p = text;
	struct kmsg_record r;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_true(kmsg_next_syslog(&p, text + sizeof(text) - 1, &r));
		assert_int_equal(r.priority, expected[i].priority);
		assert_int_equal(r.time_us, expected[i].time_us);
		assert_int_equal(r.len, strlen(expected[i].text));
		assert_memory_equal(r.text, expected[i].text, r.len);
		assert_int_equal(r.seq, -1);
	}
	assert_false(kmsg_next_syslog(&p, text + sizeof(text) - 1, &r));
}

static void only_facility_0_is_the_kernel(void **state)
{
	(void)state;
	for (int priority = 0; priority < 200; priority++)
		assert_int_equal(kmsg_from_kernel(priority), priority < 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_line_says_what_it_says),
		cmocka_unit_test(a_line_cut_anywhere_does_no_harm),
		cmocka_unit_test(paths_and_names_that_are_too_long_are_left_out),
		cmocka_unit_test(rows_are_read_by_their_header),
		cmocka_unit_test(records_of_the_device),
		cmocka_unit_test(lines_of_syslog),
		cmocka_unit_test(only_facility_0_is_the_kernel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
