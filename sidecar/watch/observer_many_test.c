/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of finding the process that holds the memory when there are so many that a sweep does not
 * read most of them.
 */
#include "sidecar/watch/observer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/units.h"
#include "sidecar/sample/memcg_testing.h"

#define MANY 700
#define MIB ((int64_t)1 << 20)
#define S NS_PER_SEC

static struct fake_root root;

static void put_statm(int pid, int64_t bytes)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "proc/%d/statm", pid);
	snprintf(text, sizeof(text), "9999 %lld 0 1 0 1 0\n",
		 (long long)(bytes / sysconf(_SC_PAGESIZE)));
	fake_root_put(&root, path, text);
}

static void put_usage(int64_t anon)
{
	char text[64];

	snprintf(text, sizeof(text), "%lld\n", (long long)anon);
	fake_root_put(&root, "sys/fs/cgroup/memory.current", text);
	snprintf(text, sizeof(text), "anon %lld\n", (long long)anon);
	fake_root_put(&root, "sys/fs/cgroup/memory.stat", text);
}

static int setup(void **state)
{
	(void)state;
	fake_root_init(&root);
	for (int pid = 1; pid <= MANY; pid++) {
		char path[64];

		put_statm(pid, MIB);
		snprintf(path, sizeof(path), "proc/%d/stat", pid);
		fake_root_put(&root, path, "1 (ray::IDLE) S 1 1 1 0\n");
	}
	fake_root_put(&root, "proc/1/cgroup", "0::/\n");
	fake_root_put(&root, "proc/1/mountinfo",
		      "30 20 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
	fake_root_put(&root, "sys/fs/cgroup/memory.max", "64000000000\n");
	put_usage(MANY * MIB);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return fake_root_release(&root);
}

static void a_process_that_grows_after_a_long_rest_is_found_before_it_dies(void **state)
{
	struct observer o;
	int64_t now = S;
	(void)state;

	assert_int_equal(observer_open(&o, dup(root.fd), 1, NULL, NULL), 0);
	for (; now < 60 * S; now += S)
		observer_sample(&o, now);
	assert_int_equal(o.last.n_processes, MANY);
	/* This process is the last one to be read in turn. */
	put_statm(MANY, 200 * MIB);
	put_usage((MANY + 199) * MIB);
	for (int samples = 0; o.last.top[0].pid != MANY; samples++, now += 50 * NS_PER_MS) {
		assert_true(samples < 8);
		observer_sample(&o, now);
	}
	assert_int_equal(process_own(&o.last.top[0]), 200 * MIB);
	/* Page cache belongs to no process, so no search begins. */
	fake_root_put(&root, "sys/fs/cgroup/memory.current", "60000000000\n");
	observer_sample(&o, now + S);
	assert_int_equal(o.read_past, 0);
	observer_close(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_process_that_grows_after_a_long_rest_is_found_before_it_dies, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
