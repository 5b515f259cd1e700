/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For whom a core's file in memory counts. That it counts is tested on a real kernel:
 * e2e/kernel/node_cores_test.sh.
 */
#include "node/core_account.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/macros.h"

static void the_memory_cgroup_is_that_of_v1_or_of_v2(void **state)
{
	static const struct {
		const char *text, *path; /* NULL: none */
	} rows[] = {
		{ "0::/kubepods/podA/1\n", "/sys/fs/cgroup/kubepods/podA/1" },
		{ "0::/a:b,memory:c\n", "/sys/fs/cgroup/a:b,memory:c" },
		{ "12:cpu,cpuacct:/a\n4:memory:/kubepods/podA/1\n0::/b\n",
		  "/sys/fs/cgroup/memory/kubepods/podA/1" },
		{ "0::/b\n4:hugetlb,memory:/a\n", "/sys/fs/cgroup/memory/a" },
		{ "4:memory:/a", "/sys/fs/cgroup/memory/a" },
		{ "4:memory2:/a\n5:xmemory,:/b\n", NULL },
		{ "1:name=systemd:/a\n", NULL },
		{ "0:", NULL },
		{ "memory", NULL },
		{ "", NULL },
	};
	char path[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool found = core_account_path(rows[i].text, path);

		assert_int_equal(found, rows[i].path != NULL);
		if (found)
			assert_string_equal(path, rows[i].path);
	}
}

static void a_path_that_is_too_long_is_none(void **state)
{
	static char text[2 * PATH_MAX];
	char path[PATH_MAX];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	memcpy(text, "0::/", 4);
	assert_false(core_account_path(text, path));
}

static void what_is_written_to_memory_counts_for_the_pod_or_is_not_written(void **state)
{
	const struct core_account unknown = { .of_pod = true, .procs = -1 }, node = { .procs = -1 };
	_cleanup_close_ int memory = memfd_create("core", MFD_CLOEXEC),
			    proc = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	struct err err = { 0 };
	int fds[2];
	char text[2];

	(void)state;
	assert_int_equal(core_account_charge(&unknown, memory, &err), -ENOENT);
	assert_int_equal(core_account_charge(&unknown, proc, &err), 0);
	assert_int_equal(core_account_charge(&node, memory, &err), 0);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(
		core_account_charge(&(struct core_account){ .of_pod = true, .procs = fds[1] },
				    memory, &err),
		0);
	assert_int_equal(read(fds[0], text, sizeof(text)), 1);
	assert_int_equal(text[0], '0');
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_memory_cgroup_is_that_of_v1_or_of_v2),
		cmocka_unit_test(a_path_that_is_too_long_is_none),
		cmocka_unit_test(what_is_written_to_memory_counts_for_the_pod_or_is_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
