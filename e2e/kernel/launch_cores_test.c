/* SPDX-License-Identifier: Apache-2.0 */
/* The process that looks for cores beside the launcher; cores themselves are in cores_test.sh. */
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "e2e/kernel/launch_testing.h"

/* A child of the launcher with the launcher's name: the command has another name by now. */
static pid_t look_for_core_watch(pid_t launcher_pid)
{
	pid_t children[CHILDREN_MAX];
	int n = children_of(launcher_pid, children);

	for (int i = 0; i < n; i++) {
		char comm[32];

		if (read_proc(children[i], "comm", comm, sizeof(comm)) &&
		    strncmp(comm, "afterglow", 9) == 0)
			return children[i];
	}
	return 0;
}

/* The command may run before that process is there. */
static pid_t find_core_watch(pid_t launcher_pid)
{
	int64_t until = now_ms() + PATIENCE_MS;
	pid_t found;

	while ((found = look_for_core_watch(launcher_pid)) == 0 && now_ms() < until)
		pause_ms(10);
	assert_true(found > 0);
	return found;
}

/* The next system call that a traced process begins. */
static struct __ptrace_syscall_info next_call(pid_t pid)
{
	struct __ptrace_syscall_info info;
	int status;

	do {
		assert_return_code(ptrace(PTRACE_SYSCALL, pid, NULL, 0), errno);
		assert_int_equal(waitpid(pid, &status, __WALL), pid);
		assert_true(WIFSTOPPED(status));
		ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info);
	} while (info.op != PTRACE_SYSCALL_INFO_ENTRY);
	return info;
}

static bool is_any_of(const struct __ptrace_syscall_info *call, const long *list)
{
	while (*list >= 0 && *list != (long)call->entry.nr)
		list++;
	return *list >= 0;
}

static const long opening[] = { SYS_openat,
#ifdef SYS_open
				SYS_open,
#endif
				-1 };
static const long polling[] = { SYS_ppoll,
#ifdef SYS_poll
				SYS_poll,
#endif
				-1 };

/* In a container whose memory is full, each open(2) may cost a process its life. */
static void a_look_for_new_processes_opens_no_file(void **state)
{
	struct process p = start(&as_pid1, "--cores", "--", probe, "orphans", "0", NULL);
	int64_t until = now_ms() + PATIENCE_MS;
	bool opened = true; /* a look that had begun before */
	int n_quiet = 0, status;
	pid_t watch;

	(void)state;
	read_text(p.out, "ready\n");
	watch = find_core_watch(p.pid);
	assert_return_code(ptrace(PTRACE_SEIZE, watch, NULL, PTRACE_O_TRACESYSGOOD), errno);
	assert_return_code(ptrace(PTRACE_INTERRUPT, watch, NULL, NULL), errno);
	assert_int_equal(waitpid(watch, &status, __WALL), watch);
	/* Every two seconds it reads the core pattern anew, so not each look is without an open. */
	while (n_quiet < 3 && now_ms() < until) {
		const struct __ptrace_syscall_info call = next_call(watch);

		if (is_any_of(&call, opening))
			opened = true;
		/*
		 * Between two looks it waits for two descriptors: for orders and for new files.
		 * Within a look it may wait for fewer.
		 */
		if (!is_any_of(&call, polling) || call.entry.args[1] != 2)
			continue;
		n_quiet += !opened;
		opened = false;
	}
	ptrace(PTRACE_DETACH, watch, NULL, NULL);
	assert_int_equal(n_quiet, 3);
	close_input(&p);
	assert_int_equal(finish(&p), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_look_for_new_processes_opens_no_file),
	};

	return RUN_LAUNCH_TESTS(tests);
}
