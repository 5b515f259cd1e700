/* SPDX-License-Identifier: Apache-2.0 */
/* Removal of a cgroup with processes in it, on each version that this machine has. */
#include "sidecar/memcg_make.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/macros.h"

static const char *const hierarchies[] = { "/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified",
					   "/sys/fs/cgroup" };

/*
 * Makes a cgroup of the test's own in that hierarchy. Returns false if that is none, or not ours to
 * change.
 */
static bool cgroup_make(const char *hierarchy, struct made_memcg *m)
{
	char path[sizeof(m->path) + 16];

	*m = (struct made_memcg){ 0 };
	snprintf(path, sizeof(path), "%s/cgroup.procs", hierarchy);
	if (access(path, W_OK) < 0)
		return false;
	snprintf(m->path, sizeof(m->path), "%s/afterglow-memcg-make-test-%d", hierarchy,
		 (int)getpid());
	if (mkdir(m->path, 0755) < 0)
		return false;
	snprintf(path, sizeof(path), "%s/below", m->path);
	return mkdir(path, 0755) == 0;
}

/* Starts a process that stays in the cgroup below, deaf to all but SIGKILL. */
static pid_t start_in(const struct made_memcg *m)
{
	struct made_memcg below = { 0 };
	int ready[2];
	char byte;
	pid_t pid;

	snprintf(below.path, sizeof(below.path), "%.600s/below", m->path);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		signal(SIGTERM, SIG_IGN);
		if (made_memcg_join(&below, NULL) < 0 || write(ready[1], "", 1) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void what_is_left_stays_where_the_limit_holds(void **state)
{
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hierarchies); i++) {
		struct made_memcg m;
		char path[sizeof(m.path)];
		int status;
		pid_t pid;

		if (!cgroup_make(hierarchies[i], &m))
			continue;
		n++;
		memcpy(path, m.path, sizeof(path));
		pid = start_in(&m);
		assert_int_equal(made_memcg_remove(&m, false), 1);
		assert_string_equal(m.path, path);
		assert_int_equal(kill(pid, 0), 0);
		assert_int_equal(made_memcg_remove(&m, true), 0);
		assert_string_equal(m.path, "");
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		assert_int_equal(access(path, F_OK), -1);
	}
	if (n == 0)
		skip();
}

static void an_empty_cgroup_goes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hierarchies); i++) {
		struct made_memcg m;

		if (!cgroup_make(hierarchies[i], &m))
			continue;
		assert_int_equal(made_memcg_remove(&m, false), 0);
		assert_string_equal(m.path, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_stays_where_the_limit_holds),
		cmocka_unit_test(an_empty_cgroup_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
