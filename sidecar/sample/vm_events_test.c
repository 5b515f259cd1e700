/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what the kernel counts for the whole machine. */
#include "sidecar/sample/vm_events.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/macros.h"

static void oom_kills_are_found_by_their_whole_name(void **state)
{
	static const struct {
		const char *vmstat;
		int64_t kills;
	} cases[] = {
		{ "nr_free_pages 7\ndrop_slab 0\noom_kill 2315\nnuma_pte_updates 9\n", 2315 },
		{ "nr_free_pages 7\noom_kill 0\n", 0 },
		{ "nr_free_pages 7\nnot_oom_kill 5\noom_kills 6\n", -1 },
		{ "nr_free_pages 7\noom_kill\n", -1 },
		{ "", -1 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(vm_events_parse_oom_kills(cases[i].vmstat), cases[i].kills);
}

static void memory_in_use_is_what_is_not_available(void **state)
{
	static const struct {
		const char *meminfo;
		struct machine_memory memory;
	} cases[] = {
		{ "MemTotal:  64 kB\nMemFree: 1 kB\nMemAvailable:    24 kB\n", { 64 * 1024, 40 * 1024 } },
		{ "MemTotal: 64 kB\nMemAvailable: 24 kB\nHugetlb:  30 kB\n", { 64 * 1024, 10 * 1024 } },
		{ "MemTotal: 64 kB\nMemAvailable: 24 kB\nHugetlb:  41 kB\n", { 0, 0 } },
		{ "MemTotal: 64 kB\nMemFree: 1 kB\n", { 0, 0 } },
		{ "MemTotal: 64 kB\nMemAvailable: 65 kB\n", { 0, 0 } },
		{ "MemTotal: 64 kB\nMemAvailable: -1 kB\n", { 0, 0 } },
		{ "MemTotal: many kB\nMemAvailable: 1 kB\n", { 0, 0 } },
		{ "MemTotal: 99999999999999999999 kB\nMemAvailable: 1 kB\n", { 0, 0 } },
		{ "", { 0, 0 } },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine_memory memory;

		vm_events_parse_memory(cases[i].meminfo, &memory);
		assert_int_equal(memory.total, cases[i].memory.total);
		assert_int_equal(memory.used, cases[i].memory.used);
	}
}

static void this_machine_counts(void **state)
{
	struct machine_memory memory;
	(void)state;

	vm_events_memory(&memory);
	assert_true(memory.total > memory.used && memory.used > 0);
	assert_true(vm_events_oom_kills() >= 0);
}

/*
 * Mounts a FUSE over the file, as LXCFS does; nobody reads its requests. Returns 77 if mounting is
 * not permitted.
 */
static int look_behind_a_dead_lxcfs(void)
{
	struct machine_memory memory;
	char options[96];
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	snprintf(options, sizeof(options), "fd=%d,rootmode=100444,user_id=0,group_id=0", device);
	if (device < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("lxcfs", "/proc/meminfo", "fuse", 0, options) < 0)
		return 77;
	alarm(60);
	vm_events_memory(&memory);
	return memory.total != 0 || vm_events_oom_kills() < 0;
}

static void a_server_in_the_place_of_the_kernels_file_is_not_waited_for(void **state)
{
	pid_t pid = fork();
	int status;
	(void)state;

	if (pid == 0)
		_exit(look_behind_a_dead_lxcfs());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oom_kills_are_found_by_their_whole_name),
		cmocka_unit_test(memory_in_use_is_what_is_not_available),
		cmocka_unit_test(this_machine_counts),
		cmocka_unit_test(a_server_in_the_place_of_the_kernels_file_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
