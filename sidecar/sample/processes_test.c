/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the process table, on a /proc made of files and on the real one. */
#include "sidecar/sample/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/units.h"

#define PAGE ((int64_t)sysconf(_SC_PAGESIZE))
#define ENDLESS_MAX 2000000

static unsigned int opened; /* files, in all tables */
static unsigned int
	/* 0: directories are as they are; else they have ever more entries, and it counts them */
	endless;

int __real_rootfd_open_no_fuse(int root_fd, const char *path, int flags, struct err *err);
int __wrap_rootfd_open_no_fuse(int root_fd, const char *path, int flags, struct err *err);
int __wrap_rootfd_open_no_fuse(int root_fd, const char *path, int flags, struct err *err)
{
	opened++;
	return __real_rootfd_open_no_fuse(root_fd, path, flags, err);
}

struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir)
{
	static struct dirent entry;

	if (!endless)
		return __real_readdir(dir);
	if (endless == ENDLESS_MAX)
		return NULL;
	entry.d_ino = endless;
	snprintf(entry.d_name, sizeof(entry.d_name), "x%u", endless++);
	return &entry;
}

struct tree {
	char path[64];
	int fd;
};

static void put(const struct tree *t, int pid, const char *file, const void *data, size_t len)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/proc/%d", t->path, pid);
	assert_int_equal(dir_make_all(path, 0755, NULL), 0);
	snprintf(path, sizeof(path), "proc/%d/%s", pid, file);
	assert_int_equal(file_put(t->fd, path, data, len, 0644, NULL), 0);
}

static void put_process(const struct tree *t, int pid, int ppid, int rss_pages, int shared_pages,
			const char *name)
{
	char text[128];

	snprintf(text, sizeof(text), "%d (comm) S %d 1 1 0\n", pid, ppid);
	put(t, pid, "stat", text, strlen(text));
	snprintf(text, sizeof(text), "9999 %d %d 1 0 1 0\n", rss_pages, shared_pages);
	put(t, pid, "statm", text, strlen(text));
	put(t, pid, "cmdline", name, strlen(name));
}

static void drop_process(const struct tree *t, int pid)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s/proc/%d", t->path, pid);
	assert_int_equal(system(command), 0);
}

static int setup(void **state)
{
	static struct tree t;

	snprintf(t.path, sizeof(t.path), "/tmp/processes_test.XXXXXX");
	assert_non_null(mkdtemp(t.path));
	t.fd = open(t.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	put_process(&t, 1, 0, 10, 5, "/sbin/afterglow-launch");
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	struct tree *t = *state;
	char command[96];

	close(t->fd);
	snprintf(command, sizeof(command), "rm -rf %s", t->path);
	return system(command);
}

static int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 2048; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void the_largest_come_first_by_what_they_hold_alone(void **state)
{
	struct tree *t = *state;
	struct process top[3];
	struct process_table *table;
	int before = open_descriptors();

	put_process(t, 20, 1, 1000, 900, "ray::mostly_shared");
	put_process(t, 30, 1, 500, 100, "ray::leak");
	put_process(t, 40, 30, 300, 0, "python3");
	put_process(t, 50, 1, 0, 0, "zombie");
	put(t, 60, "stat", "cut", 3);
	table = process_table_new(t->fd, 1, NULL);
	assert_non_null(table);
	assert_int_equal(process_table_sweep(table, NS_PER_SEC, NULL), 0);
	assert_int_equal(process_table_count(table), 4);
	assert_int_equal(process_table_top(table, NS_PER_SEC, top, 3), 3);
	assert_string_equal(top[0].name, "ray::leak");
	assert_int_equal(process_own(&top[0]), 400 * PAGE);
	assert_int_equal(top[0].growth, GROWTH_UNKNOWN);
	assert_string_equal(top[1].name, "python3");
	assert_string_equal(top[2].name, "ray::mostly_shared");
	assert_int_equal(process_table_top(table, NS_PER_SEC, top, 0), 0);
	process_table_free(table);
	assert_int_equal(open_descriptors(), before);
}

static void where_few_files_may_be_open_all_processes_are_counted(void **state)
{
	struct tree *t = *state;
	struct rlimit usual;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
	for (int pid = 2; pid <= 100; pid++)
		put_process(t, pid, 1, 10, 5, "sleep");
	struct process_table *table = process_table_new(t->fd, 1, NULL);
	assert_non_null(table);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 64, usual.rlim_max }), 0);
	int swept = process_table_sweep(table, NS_PER_SEC, NULL);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
	assert_int_equal(swept, 0);
	assert_int_equal(process_table_count(table), 100);
	process_table_free(table);
}

static void growth_is_measured_over_seconds_and_titles_are_read_anew(void **state)
{
	struct tree *t = *state;
	struct process top[1];
	struct process_table *table;

	put_process(t, 30, 1, 1000, 0, "ray::IDLE");
	table = process_table_new(t->fd, 1, NULL);
	process_table_sweep(table, NS_PER_SEC, NULL);
	process_table_top(table, NS_PER_SEC, top, 1);
	assert_string_equal(top[0].name, "ray::IDLE");
	for (int i = 1; i <= 6; i++) {
		/*
		 * The file is overwritten in place, so an open descriptor of statm shows the
		 * change, as on a real /proc.
		 */
		put_process(t, 30, 1, 1000 + 100 * i, 0, "ray::leak");
		process_table_sweep(table, (1 + i) * NS_PER_SEC, NULL);
	}
	process_table_top(table, 7 * NS_PER_SEC, top, 1);
	assert_string_equal(top[0].name, "ray::leak");
	assert_int_equal(top[0].growth, 100 * PAGE);
	assert_int_equal(top[0].rss, 1600 * PAGE);
	process_table_free(table);
}

static void zombies_are_counted_with_the_parent_of_most_of_them(void **state)
{
	struct tree *t = *state;
	struct zombies z;
	struct process_table *table;

	put_process(t, 20, 1, 1000, 0, "python3 supervisor.py");
	put_process(t, 21, 1, 1000, 0, "bash");
	for (int pid = 30; pid < 36; pid++)
		put_process(t, pid, pid == 31 || pid == 33 ? 21 : 20, 0, 0, "");
	table = process_table_new(t->fd, 1, NULL);
	process_table_sweep(table, NS_PER_SEC, NULL);
	process_table_refresh_names(table, NS_PER_SEC);
	process_table_zombies(table, &z);
	assert_int_equal(z.n, 6);
	assert_int_equal(z.of_parent, 4);
	assert_int_equal(z.parent, 20);
	assert_string_equal(z.name, "python3 supervisor.py");
	/* Three of six are not most. */
	drop_process(t, 35);
	put_process(t, 36, 21, 0, 0, "");
	process_table_sweep(table, 2 * NS_PER_SEC, NULL);
	process_table_zombies(table, &z);
	assert_int_equal(z.n, 6);
	assert_int_equal(z.of_parent, 0);
	assert_int_equal(z.parent, 0);
	process_table_free(table);
}

/* A fork copies the title, and the tasks of one name are children of raylet. */
static void children_that_keep_the_title_of_their_task_are_counted(void **state)
{
	struct tree *t = *state;
	struct components c;
	struct process_table *table;

	put_process(t, 20, 1, 1000, 0, "raylet");
	put_process(t, 30, 20, 1000, 0, "ray::load");
	put_process(t, 31, 30, 1000, 0, "ray::load");
	put_process(t, 32, 30, 1000, 0, "ray::load");
	put_process(t, 33, 30, 1000, 0, "ray::other");
	put_process(t, 40, 20, 1000, 0, "ray::load");
	table = process_table_new(t->fd, 1, NULL);
	process_table_sweep(table, NS_PER_SEC, NULL);
	process_table_refresh_names(table, NS_PER_SEC);
	process_table_components(table, &c);
	assert_string_equal(c.list[0].name, "ray::load");
	assert_int_equal(c.list[0].count, 4);
	assert_int_equal(c.list[0].children, 2);
	process_table_free(table);
}

static void a_title_is_read_anew_when_the_memory_has_changed(void **state)
{
	struct tree *t = *state;
	struct components c;
	struct process_table *table;

	put_process(t, 30, 1, 1000, 0, "ray::IDLE");
	put_process(t, 31, 1, 1000, 0, "ray::IDLE");
	table = process_table_new(t->fd, 1, NULL);
	for (int i = 1; i <= 5; i++) {
		process_table_sweep(table, i * NS_PER_SEC, NULL);
		process_table_refresh_names(table, i * NS_PER_SEC);
		process_table_components(table, &c);
	}
	assert_int_equal(components_of_kind(&c, COMPONENT_IDLE, NULL), 2);
	put_process(t, 30, 1, 2000, 0, "ray::leak");
	put_process(t, 31, 1, 1000, 0, "ray::small");
	process_table_sweep(table, 6 * NS_PER_SEC, NULL);
	process_table_refresh_names(table, 6 * NS_PER_SEC);
		process_table_components(table, &c);
	assert_int_equal(components_of_kind(&c, COMPONENT_TASK, NULL), 1);
	assert_string_equal(c.list[0].name, "ray::leak");
	process_table_sweep(table, 60 * NS_PER_SEC, NULL);
	process_table_refresh_names(table, 60 * NS_PER_SEC);
		process_table_components(table, &c);
	assert_int_equal(components_of_kind(&c, COMPONENT_TASK, NULL), 2);
	process_table_free(table);
}

static void a_process_that_executes_another_program_has_that_ones_name_at_once(void **state)
{
	struct tree *t = *state;
	static const char after[] = "9999 1000 0 2 0 1 0\n", command[] = "python3\0train.py\0";
	struct components c;
	struct process top[1];
	struct process_table *table;

	put_process(t, 30, 1, 1000, 0, "bash");
	table = process_table_new(t->fd, 1, NULL);
	assert_non_null(table);
	/*
	 * Long after its start its name is read only every 2 s, and those of other processes every
	 * 30 s.
	 */
	for (int i = 1; i <= 5; i++) {
		process_table_sweep(table, i * NS_PER_SEC, NULL);
		process_table_top(table, i * NS_PER_SEC, top, 1);
	}
	assert_string_equal(top[0].name, "bash");
	put(t, 30, "cmdline", command, sizeof(command) - 1);
	process_table_sweep(table, 5 * NS_PER_SEC + NS_PER_MS, NULL);
	process_table_top(table, 5 * NS_PER_SEC + NS_PER_MS, top, 1);
	assert_string_equal(top[0].name, "bash");
	put(t, 30, "statm", after, sizeof(after) - 1);
	process_table_sweep(table, 5 * NS_PER_SEC + 2 * NS_PER_MS, NULL);
	process_table_refresh_names(table, 5 * NS_PER_SEC + 2 * NS_PER_MS);
		process_table_components(table, &c);
	assert_int_equal(components_of_kind(&c, COMPONENT_DRIVER, NULL), 1);
	process_table_top(table, 5 * NS_PER_SEC + 2 * NS_PER_MS, top, 1);
	assert_string_equal(top[0].name, "python3 train.py");
	process_table_free(table);
}

static void a_glance_sees_the_largest_only(void **state)
{
	struct tree *t = *state;
	struct process top[2];
	struct process_table *table;

	put_process(t, 30, 1, 300, 0, "ray::a");
	put_process(t, 31, 1, 200, 0, "ray::b");
	put_process(t, 32, 1, 100, 0, "ray::c");
	table = process_table_new(t->fd, 1, NULL);
	process_table_glance(table, NS_PER_SEC);
	process_table_sweep(table, NS_PER_SEC, NULL);
	assert_int_equal(process_table_top(table, NS_PER_SEC, top, 2), 2);
	put_process(t, 30, 1, 0, 0, "zombie");
	put_process(t, 31, 1, 400, 0, "ray::b");
	put_process(t, 32, 1, 500, 0, "ray::c");
	for (int i = 0; i < 3; i++) {
		process_table_glance(table, NS_PER_SEC + i * NS_PER_MS);
		assert_int_equal(process_table_top(table, NS_PER_SEC, top, 2), 2);
	}
	assert_int_equal(process_table_count(table), 3);
	assert_int_equal(top[0].pid, 32); /* it is among the largest now, so it was read */
	process_table_sweep(table, 2 * NS_PER_SEC, NULL);
	assert_int_equal(process_table_count(table), 3);
	process_table_free(table);
}

static void who_is_gone_is_forgotten(void **state)
{
	struct tree *t = *state;
	struct process top[8];
	struct process_table *table;

	for (int pid = 10; pid < 17; pid++)
		put_process(t, pid, 1, pid, 0, "ray::x");
	table = process_table_new(t->fd, 1, NULL);
	process_table_sweep(table, NS_PER_SEC, NULL);
	assert_int_equal(process_table_count(table), 8);
	drop_process(t, 10);
	drop_process(t, 13);
	drop_process(t, 16);
	process_table_sweep(table, 2 * NS_PER_SEC, NULL);
	assert_int_equal(process_table_count(table), 5);
	assert_int_equal(process_table_top(table, 2 * NS_PER_SEC, top, 8), 5);
	assert_int_equal(top[0].pid, 15);
	process_table_free(table);
}

/* A new process of the same PID does not hide the end of the old one. */
static void each_end_of_a_process_is_counted(void **state)
{
	struct tree *t = *state;
	struct process_table *table;
	int64_t began;

	put_process(t, 30, 1, 10, 5, "helper");
	put_process(t, 31, 1, 10, 5, "zombie");
	table = process_table_new(t->fd, 1, NULL);
	process_table_sweep(table, NS_PER_SEC, NULL);
	began = process_table_ends(table);
	assert_int_equal(process_table_count(table), 3);
	drop_process(t, 30);
	put_process(t, 40, 1, 10, 5, "helper");
	process_table_sweep(table, 2 * NS_PER_SEC, NULL);
	assert_int_equal(process_table_count(table), 3);
	assert_int_equal(process_table_ends(table) - began, 1);
	/* A zombie counts as ended once. */
	put_process(t, 31, 1, 0, 0, "zombie");
	process_table_sweep(table, 3 * NS_PER_SEC, NULL);
	assert_int_equal(process_table_ends(table) - began, 2);
	drop_process(t, 31);
	process_table_sweep(table, 4 * NS_PER_SEC, NULL);
	assert_int_equal(process_table_ends(table) - began, 2);
	process_table_free(table);
}

static void a_process_lives_on_if_it_is_the_same_and_not_dying(void **state)
{
	static const char lives[] =
		"30 (python3) t 1 30 30 0 -1 4194304 9 0 0 0 0 0 0 0 20 0 1 0 500 0 0\n";
	static const char dumps[] =
		"31 (python3) R 1 31 31 0 -1 4195328 9 0 0 0 0 0 0 0 20 0 1 0 500 0 0\n";
	const int64_t start_ns = 500 * (NS_PER_SEC / sysconf(_SC_CLK_TCK));
	struct tree *t = *state;
	struct process_table *table;

	put(t, 30, "stat", lives, sizeof(lives) - 1);
	put(t, 31, "stat", dumps, sizeof(dumps) - 1);
	table = process_table_new(t->fd, 1, NULL);
	assert_true(process_table_lives_since(table, 30, start_ns + NS_PER_SEC));
	/* Another process has the PID now. */
	assert_false(process_table_lives_since(table, 30, start_ns - NS_PER_SEC));
	assert_false(process_table_lives_since(table, 31, start_ns + NS_PER_SEC));
	assert_false(process_table_lives_since(table, 32, start_ns + NS_PER_SEC));
	process_table_free(table);
}

static void beside_others_only_the_launchers_descendants_count(void **state)
{
	struct tree *t = *state;
	struct process top[8];
	struct process_table *table;

	put_process(t, 100, 1, 10, 0, "afterglow-launch");
	put_process(t, 110, 100, 20, 0, "ray::ours");
	put_process(t, 120, 110, 30, 0, "ray::grandchild");
	put_process(t, 130, 1, 999, 0, "somebody-else");
	put_process(t, 131, 130, 999, 0, "their-child");
	table = process_table_new(t->fd, 100, NULL);
	/* /proc may list a child before its parent. The next sweep finds it. */
	process_table_sweep(table, NS_PER_SEC, NULL);
	process_table_sweep(table, 2 * NS_PER_SEC, NULL);
	assert_int_equal(process_table_top(table, 2 * NS_PER_SEC, top, 8), 3);
	assert_string_equal(top[0].name, "ray::grandchild");
	assert_int_equal(process_table_count(table), 3);
	assert_int_equal(process_table_owner(table, 120), PROCESS_OURS);
	assert_int_equal(process_table_owner(table, 131), PROCESS_FOREIGN);
	assert_int_equal(process_table_owner(table, 140), PROCESS_UNKNOWN);
	process_table_free(table);
}

static void more_than_can_be_tracked_are_counted(void **state)
{
	struct tree *t = *state;
	struct process top[2];
	struct process_table *table;
	char text[128];

	put(t, 2, "stat", "2 (c) S 1 1\n", 12);
	put(t, 2, "statm", "9 2000 0\n", 9);
	/* These are links, because making so many directories takes long. */
	for (int pid = 3; pid <= PROCESSES_MAX + 5; pid++) {
		snprintf(text, sizeof(text), "%s/proc/%d", t->path, pid);
		assert_int_equal(symlink("2", text), 0);
	}
	table = process_table_new(t->fd, 1, NULL);
	process_table_sweep(table, NS_PER_SEC, NULL);
	assert_int_equal(process_table_count(table), PROCESSES_MAX + 5);
	assert_int_equal(process_table_top(table, NS_PER_SEC, top, 2), 2);
	assert_string_equal(top[0].name, "c"); /* it has no cmdline */
	process_table_free(table);
}

/* Links to nothing, and no more. */
static void put_names(const struct tree *t, int n, const char *to)
{
	char text[128];

	for (int pid = 3; pid < 3 + n; pid++) {
		snprintf(text, sizeof(text), "%s/proc/%d", t->path, pid);
		assert_int_equal(symlink(to, text), 0);
	}
}

/* The container may show what it likes as its /proc. */
static void names_that_are_no_processes_cost_a_sweep_little(void **state)
{
	struct tree *t = *state;
	struct process_table *table = process_table_new(t->fd, 1, NULL);

	put_names(t, 5000, "nothing");
	opened = 0;
	assert_int_equal(process_table_sweep(table, NS_PER_SEC, NULL), 0);
	assert_in_range(opened, 1, 1100);
	process_table_free(table);
}

static void an_endless_directory_does_not_hold_a_sweep(void **state)
{
	struct tree *t = *state;
	struct process_table *table = process_table_new(t->fd, 1, NULL);
	unsigned int listed;

	endless = 1;
	process_table_sweep(table, NS_PER_SEC, NULL);
	listed = endless;
	endless = 0;
	assert_in_range(listed, PROCESSES_MAX, ENDLESS_MAX / 2);
	assert_int_equal(process_table_sweep(table, 2 * NS_PER_SEC, NULL), 0);
	assert_int_equal(process_table_count(table), 1);
	process_table_free(table);
}

static void count_one(const struct process *p, void *arg)
{
	(void)p;
	(*(size_t *)arg)++;
}

/* A directory lists them in any order, so a sweep takes up a part of them. */
static size_t tracked_after_sweeps(struct process_table *table)
{
	size_t n = 0;

	for (int i = 1; i <= 20; i++)
		assert_int_equal(process_table_sweep(table, i * NS_PER_SEC, NULL), 0);
	process_table_each(table, count_one, &n);
	return n;
}

/* A process can connect as a launcher again and again, with the same root. */
static void all_tables_share_their_room(void **state)
{
	struct tree *t = *state;
	struct process_table *first = process_table_new(t->fd, 1, NULL),
			     *second = process_table_new(t->fd, 1, NULL);
	size_t n;

	put(t, 2, "stat", "2 (c) S 1 1\n", 12);
	put(t, 2, "statm", "9 2000 0\n", 9);
	put_names(t, PROCESSES_MAX, "2");
	assert_int_equal(tracked_after_sweeps(first), PROCESSES_MAX);
	n = tracked_after_sweeps(second);
	assert_int_equal(n, PROCESSES_OWN);
	assert_int_equal(process_table_count(second), PROCESSES_MAX + 2);
	process_table_free(first);
	assert_int_equal(tracked_after_sweeps(second), PROCESSES_MAX);
	process_table_free(second);
}

#define MANY 300 /* more than are read in each sweep */

/* Makes a table of many processes that rest, so their descriptors are closed. */
static struct process_table *many_at_rest(const struct tree *t)
{
	struct process_table *table;

	for (int pid = 2; pid <= MANY; pid++)
		put_process(t, pid, 1, 100, 0, "ray::IDLE");
	table = process_table_new(t->fd, 1, NULL);
	assert_non_null(table);
	for (int i = 1; i <= 6; i++)
		assert_int_equal(process_table_sweep(table, i * NS_PER_SEC, NULL), 0);
	return table;
}

static void of_many_those_that_rest_are_read_in_turn(void **state)
{
	struct tree *t = *state;
	struct process_table *table = many_at_rest(t);
	struct process top[1];
	int before = open_descriptors(), sweeps = 0;

	assert_int_equal(process_table_count(table), MANY);
	assert_int_equal(process_table_own(table), (5 + (MANY - 1) * 100) * PAGE);
	put_process(t, 200, 1, 5000, 0, "ray::leak");
	do {
		sweeps++;
		process_table_sweep_active(table, (6 + sweeps) * NS_PER_SEC, NULL);
		process_table_top(table, (6 + sweeps) * NS_PER_SEC, top, 1);
	} while (top[0].pid != 200 && sweeps < 100);
	assert_in_range(sweeps, 1, 17);
	assert_string_equal(top[0].name, "ray::leak");
	/* It changes, so from now on each sweep reads it through a descriptor that stays open. */
	assert_int_equal(open_descriptors(), before + 1);
	put_process(t, 200, 1, 9000, 0, "ray::leak");
	process_table_sweep_active(table, 200 * NS_PER_SEC, NULL);
	process_table_top(table, 200 * NS_PER_SEC, top, 1);
	assert_int_equal(process_own(&top[0]), 9000 * PAGE);
	assert_int_equal(process_table_own(table), (5 + (MANY - 2) * 100 + 9000) * PAGE);
	for (int i = 0; i < 5; i++)
		process_table_sweep_active(table, (201 + i) * NS_PER_SEC, NULL);
	assert_int_equal(open_descriptors(), before);
	process_table_free(table);
}

static void all_that_rest_can_be_read_at_once(void **state)
{
	struct tree *t = *state;
	struct process_table *table = many_at_rest(t);
	size_t past = 0;

	put_process(t, 150, 1, 5000, 0, "ray::leak");
	put_process(t, 151, 1, 0, 0, "zombie");
	for (int i = 0; i < 8 && past < process_table_count(table); i++)
		past += process_table_read_resting(table, 7 * NS_PER_SEC, 100);
	assert_int_equal(past, MANY);
	assert_int_equal(process_table_count(table), MANY - 1);
	assert_int_equal(process_table_own(table), (5 + (MANY - 3) * 100 + 5000) * PAGE);
	/* A zombie is still listed, but does not count. */
	process_table_sweep_active(table, 8 * NS_PER_SEC, NULL);
	assert_int_equal(process_table_count(table), MANY - 1);
	process_table_free(table);
}

static void of_many_who_is_gone_or_has_the_pid_of_another_is_known_at_once(void **state)
{
	struct tree *t = *state;
	struct process_table *table = many_at_rest(t);
	struct process top[1];
	char from[160], to[160];

	drop_process(t, 250);
	/* The directory of another process has another inode. */
	put_process(t, 5000, 1, 7000, 0, "ray::other");
	drop_process(t, 200);
	snprintf(from, sizeof(from), "%s/proc/5000", t->path);
	snprintf(to, sizeof(to), "%s/proc/200", t->path);
	assert_int_equal(rename(from, to), 0);
	process_table_sweep_active(table, 7 * NS_PER_SEC, NULL);
	assert_int_equal(process_table_count(table), MANY - 1);
	process_table_top(table, 7 * NS_PER_SEC, top, 1);
	assert_int_equal(top[0].pid, 200);
	assert_string_equal(top[0].name, "ray::other");
	assert_int_equal(top[0].growth, GROWTH_UNKNOWN);
	assert_int_equal(process_table_own(table), (5 + (MANY - 3) * 100 + 7000) * PAGE);
	process_table_free(table);
}

static void of_many_few_descriptors_stay_open(void **state)
{
	struct tree *t = *state;
	int before = open_descriptors();
	struct process_table *table = many_at_rest(t);

	/* All processes change. */
	for (int i = 1; i <= 3; i++) {
		for (int pid = 2; pid <= MANY; pid++) {
			char text[64];

			snprintf(text, sizeof(text), "9999 %d 0 1 0 1 0\n", 100 + 100 * i);
			put(t, pid, "statm", text, strlen(text));
		}
		process_table_sweep(table, (6 + i) * NS_PER_SEC, NULL);
	}
	assert_in_range(open_descriptors(), before + 100, before + 257);
	assert_int_equal(process_table_own(table), (5 + (MANY - 1) * 400) * PAGE);
	process_table_free(table);
	assert_int_equal(open_descriptors(), before);
}

static void the_largest_are_right_when_those_looked_at_shrink(void **state)
{
	struct tree *t = *state;
	struct process_table *table;
	struct process top[3];

	for (int pid = 2; pid <= 100; pid++)
		put_process(t, pid, 1, pid * 10, 0, "ray::x");
	table = process_table_new(t->fd, 1, NULL);
	assert_non_null(table);
	process_table_sweep(table, NS_PER_SEC, NULL);
	for (int gone = 100, i = 0; gone > 10; gone -= 3, i++) {
		assert_int_equal(process_table_top(table, NS_PER_SEC + i, top, 3), 3);
		for (int j = 0; j < 3; j++) {
			assert_int_equal(top[j].pid, gone - j);
			put_process(t, gone - j, 1, 1, 0, "ray::x");
		}
		process_table_glance(table, NS_PER_SEC + i);
	}
	process_table_free(table);
}

static void forged_files_and_names_do_no_harm(void **state)
{
	struct tree *t = *state;
	struct process top[8];
	struct process_table *table;
	char path[160];

	put_process(t, 7, 1, 3, 1, "x\033[2J");
	put(t, 8, "stat", "8 (big) S 1\n", 12);
	put(t, 8, "statm", "1 99999999999999999999 1\n", 25);
	snprintf(path, sizeof(path), "%s/proc/99999999999999999999", t->path);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/proc/9x", t->path);
	mkdir(path, 0755);
	put(t, 11, "stat", "11 (fifo) S 1\n", 14);
	snprintf(path, sizeof(path), "%s/proc/11/statm", t->path);
	assert_int_equal(mkfifo(path, 0644), 0);
	table = process_table_new(t->fd, 1, NULL);
	for (int i = 1; i < 5; i++)
		assert_int_equal(process_table_sweep(table, i * NS_PER_SEC, NULL), 0);
	assert_int_equal(process_table_top(table, 5 * NS_PER_SEC, top, 8), 2);
	process_table_free(table);
}

static void tasks_look(struct process_table *table, int64_t at_ns)
{
	assert_int_equal(process_table_sweep(table, at_ns, NULL), 0);
	process_table_refresh_names(table, at_ns);
	process_table_note_tasks(table);
}

static const struct task_need *need_of(const struct process_table *table, const char *name)
{
	const struct task_memory *m = process_table_tasks(table);

	for (unsigned int i = 0; i < m->n; i++)
		if (strcmp(m->list[i].name, name) == 0)
			return &m->list[i];
	return NULL;
}

static void a_task_needs_what_it_and_its_children_hold_at_most(void **state)
{
	struct tree *t = *state;
	const struct task_need *need;
	struct process_table *table;

	put_process(t, 10, 1, 1000, 0, "raylet");
	put_process(t, 20, 10, 2000, 500, "ray::Loader.fill");
	put_process(t, 21, 20, 1000, 0, "ray::Loader.fill");
	put_process(t, 22, 21, 300, 0, "python3");
	put_process(t, 30, 10, 700, 100, "ray::IDLE");
	table = process_table_new(t->fd, 1, NULL);
	assert_null(process_table_tasks(table));
	tasks_look(table, NS_PER_SEC);
	put_process(t, 22, 21, 500, 0, "python3");
	tasks_look(table, 2 * NS_PER_SEC);
	drop_process(t, 22);
	tasks_look(table, 3 * NS_PER_SEC);
	/* The methods of an actor are the actor's. */
	need = need_of(table, "ray::Loader");
	assert_non_null(need);
	assert_int_equal(need->runs, 1);
	assert_int_equal(need->at_once, 1);
	assert_int_equal(need->peak, 3000 * PAGE);
	assert_int_equal(process_table_tasks(table)->n, 1);
	/* Raylet and the launcher; an idle worker is the next task. */
	assert_int_equal(process_table_tasks(table)->beside, 1005 * PAGE);
	process_table_free(table);
}

static void a_worker_that_runs_another_task_begins_another_run(void **state)
{
	static const struct {
		const char *title;
		int pages;
	} rows[] = { { "ray::IDLE", 1000 },   { "ray::small", 1000 }, { "ray::IDLE", 1000 },
		     { "ray::large", 9000 }, { "ray::small", 2000 }, { "", 0 } };
	struct tree *t = *state;
	struct process_table *table = process_table_new(t->fd, 1, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		/* So late that each title is read again. */
		if (rows[i].pages)
			put_process(t, 20, 1, rows[i].pages, 0, rows[i].title);
		else
			drop_process(t, 20);
		tasks_look(table, (int64_t)(1 + 40 * i) * NS_PER_SEC);
	}
	assert_int_equal(need_of(table, "ray::small")->runs, 2);
	assert_int_equal(need_of(table, "ray::small")->peak, 2000 * PAGE);
	assert_int_equal(need_of(table, "ray::small")->running, 0);
	assert_int_equal(need_of(table, "ray::large")->runs, 1);
	assert_int_equal(need_of(table, "ray::large")->peak, 9000 * PAGE);
	process_table_free(table);
}

/* The title is read seldom, and the memory often: what came since may be the next task's. */
static void memory_that_came_after_the_title_was_read_is_not_counted_for_it(void **state)
{
	struct tree *t = *state;
	struct process_table *table = process_table_new(t->fd, 1, NULL);

	put_process(t, 20, 1, 1000, 0, "ray::small");
	tasks_look(table, NS_PER_SEC);
	put_process(t, 20, 1, 90000, 0, "ray::large");
	assert_int_equal(process_table_sweep(table, NS_PER_SEC + NS_PER_MS, NULL), 0);
	process_table_note_tasks(table);
	assert_int_equal(need_of(table, "ray::small")->peak, 1000 * PAGE);
	tasks_look(table, 3 * NS_PER_SEC);
	assert_int_equal(need_of(table, "ray::small")->peak, 1000 * PAGE);
	assert_int_equal(need_of(table, "ray::large")->peak, 90000 * PAGE);
	process_table_free(table);
}

static void a_root_without_proc_is_an_error(void **state)
{
	struct err err = { 0 };
	int fd = open("/dev/null", O_PATH | O_CLOEXEC), before = open_descriptors();
	(void)state;

	assert_null(process_table_new(fd, 1, &err));
	assert_true(err.code != 0);
	assert_int_equal(open_descriptors(), before);
	close(fd);
	process_table_free(NULL);
}

static void on_the_real_proc_a_child_that_eats_is_on_top(void **state)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), ready[2];
	struct process_table *table;
	struct process top[2];
	pid_t child;
	char byte;
	(void)state;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		/* So that a failed test leaves no process behind */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* A compiler could optimize malloc and memset away. */
		if (mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
			_exit(1);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	table = process_table_new(root, getpid(), NULL);
	assert_int_equal(process_table_sweep(table, now_boottime_ns(), NULL), 0);
	assert_int_equal(process_table_count(table), 2);
	process_table_top(table, now_boottime_ns(), top, 2);
	assert_int_equal(top[0].pid, child);
	assert_true(process_own(&top[0]) >= 64 << 20);
	kill(child, SIGKILL);
	/* A zombie holds no memory. */
	waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	process_table_sweep(table, now_boottime_ns(), NULL);
	assert_int_equal(process_table_count(table), 1);
	waitpid(child, NULL, 0);
	process_table_sweep(table, now_boottime_ns(), NULL);
	assert_int_equal(process_table_count(table), 1);
	process_table_free(table);
	close(root);
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_largest_come_first_by_what_they_hold_alone,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			growth_is_measured_over_seconds_and_titles_are_read_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(zombies_are_counted_with_the_parent_of_most_of_them, setup, teardown),
		cmocka_unit_test_setup_teardown(children_that_keep_the_title_of_their_task_are_counted,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_title_is_read_anew_when_the_memory_has_changed,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_process_that_executes_another_program_has_that_ones_name_at_once, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_glance_sees_the_largest_only, setup, teardown),
		cmocka_unit_test_setup_teardown(who_is_gone_is_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(each_end_of_a_process_is_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(a_process_lives_on_if_it_is_the_same_and_not_dying,
						setup, teardown),
		cmocka_unit_test_setup_teardown(beside_others_only_the_launchers_descendants_count,
						setup, teardown),
		cmocka_unit_test_setup_teardown(more_than_can_be_tracked_are_counted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(names_that_are_no_processes_cost_a_sweep_little,
						setup, teardown),
		cmocka_unit_test_setup_teardown(an_endless_directory_does_not_hold_a_sweep, setup,
						teardown),
		cmocka_unit_test_setup_teardown(all_tables_share_their_room, setup, teardown),
		cmocka_unit_test_setup_teardown(of_many_those_that_rest_are_read_in_turn, setup,
						teardown),
		cmocka_unit_test_setup_teardown(all_that_rest_can_be_read_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(
			of_many_who_is_gone_or_has_the_pid_of_another_is_known_at_once, setup,
			teardown),
		cmocka_unit_test_setup_teardown(of_many_few_descriptors_stay_open, setup, teardown),
		cmocka_unit_test_setup_teardown(the_largest_are_right_when_those_looked_at_shrink,
						setup, teardown),
		cmocka_unit_test_setup_teardown(forged_files_and_names_do_no_harm, setup, teardown),
		cmocka_unit_test_setup_teardown(a_task_needs_what_it_and_its_children_hold_at_most, setup, teardown),
		cmocka_unit_test_setup_teardown(a_worker_that_runs_another_task_begins_another_run, setup, teardown),
		cmocka_unit_test_setup_teardown(memory_that_came_after_the_title_was_read_is_not_counted_for_it, setup,
						teardown),
		cmocka_unit_test(a_root_without_proc_is_an_error),
		cmocka_unit_test_setup_teardown(where_few_files_may_be_open_all_processes_are_counted, setup, teardown),
		cmocka_unit_test(on_the_real_proc_a_child_that_eats_is_on_top),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
