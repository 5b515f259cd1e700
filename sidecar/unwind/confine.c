/* SPDX-License-Identifier: Apache-2.0 */
/* Confines this process before it reads data of the user. */
#include "sidecar/unwind/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "sidecar/confine/confine.h"

/* A sanitizer has to report a crash by itself. */
#if defined(__SANITIZE_ADDRESS__)
#define CATCH_ALL false
#else
#define CATCH_ALL true
#endif

/* --- Signals --- */

static void (*on_broken)(const char *why);

static void confine_handle(int signal)
{
	switch (signal) {
	case SIGALRM:
	case SIGXCPU:
		on_broken("it took too much time");
		break;
	case SIGBUS:
		on_broken("a file became shorter while it was read");
		break;
	case SIGXFSZ:
		on_broken("the output became too large");
		break;
	default:
		on_broken("reading broke on damaged data");
	}
	_exit(1);
}

/*
 * The handlers have a stack of their own, because damaged data may have exhausted the normal one.
 */
static int catch_signals(struct err *err)
{
	static const int signals[] = { SIGALRM, SIGXCPU, SIGXFSZ, SIGBUS,
				       SIGSEGV, SIGABRT, SIGFPE,  SIGILL };
	static char memory[64 << 10];
	const stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction action = { .sa_handler = confine_handle,
				    .sa_flags = SA_ONSTACK | (int)SA_RESETHAND };

	if (sigaltstack(&stack, NULL) < 0)
		return err_set(err, errno, "sigaltstack");
	for (size_t i = 0; i < (CATCH_ALL ? ARRAY_SIZE(signals) : 4); i++)
		if (sigaction(signals[i], &action, NULL) < 0)
			return err_set(err, errno, "signal %d", signals[i]);
	signal(SIGPIPE, SIG_IGN);
	alarm(CONFINE_SECONDS);
	return 0;
}

/* --- Limits --- */

/* Returns the limit for written files. The output may have content already, which counts. */
static rlim_t output_limit(int summary_fd)
{
	const int fds[] = { STDOUT_FILENO, STDERR_FILENO, summary_fd };
	rlim_t most = 0;
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0 && fstat(fds[i], &st) == 0 && S_ISREG(st.st_mode))
			most = MAX(most, (rlim_t)st.st_size);
	return most + CONFINE_OUTPUT_MAX;
}

static int set_limits(int summary_fd, struct err *err)
{
	const struct confine_limits limits = {
		.addresses = CONFINE_ADDRESSES,
		.memory = CONFINE_MEMORY,
		.cpu_seconds = CONFINE_CPU_SECONDS,
		.files = CONFINE_FILES,
		.output = output_limit(summary_fd),
	};

	return confine_limit(&limits, err);
}

/* --- Descriptors --- */

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int leave_open(const struct confine_fds *fds, struct err *err)
{
	const int all[] = { STDIN_FILENO,   STDOUT_FILENO,  STDERR_FILENO, fds->inputs[0],
			    fds->inputs[1], fds->inputs[2], fds->files,	   fds->summary };
	int keep[ARRAY_SIZE(all)], null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	size_t n = 0;

	if (null < 0 || (fds->inputs[0] != STDIN_FILENO && dup2(null, STDIN_FILENO) < 0))
		return err_set(err, errno, "/dev/null");
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i] >= 0)
			keep[n++] = all[i];
	qsort(keep, n, sizeof(keep[0]), by_number);
	confine_descriptors(keep, n);
	return 0;
}

/* --- System calls --- */

static int filter_calls(int files_fd, int summary_fd, struct err *err)
{
	/* clang-format off */
	const struct confine_rule rules[] = {
		CONFINE_ALLOW(pread64), CONFINE_ALLOW(lseek), CONFINE_ALLOW(fstat), CONFINE_ALLOW(close),
		/* No more code may be mapped: all of ours is mapped already. */
		CONFINE_ALLOW_WITHOUT(mmap, 2, PROT_EXEC), CONFINE_ALLOW_WITHOUT(mprotect, 2, PROT_EXEC),
		CONFINE_ALLOW(munmap), CONFINE_ALLOW(mremap), CONFINE_ALLOW(madvise), CONFINE_ALLOW(brk),
		/* Other commands of fcntl send signals to other processes (F_SETOWN, F_SETSIG). */
		CONFINE_ALLOW_IF(fcntl, 1, F_GETFD), CONFINE_ALLOW_IF(fcntl, 1, F_GETFL),
		/* Shared futexes may belong to other processes */
		{ SYS_futex, 1, FUTEX_PRIVATE_FLAG, FUTEX_PRIVATE_FLAG },
		CONFINE_ALLOW(getrandom), CONFINE_ALLOW(clock_gettime), CONFINE_ALLOW(rt_sigaction), CONFINE_ALLOW(rt_sigprocmask),
		CONFINE_ALLOW(rt_sigreturn), CONFINE_ALLOW(sigaltstack), CONFINE_ALLOW(restart_syscall), CONFINE_ALLOW(exit),
		CONFINE_ALLOW(exit_group), CONFINE_ALLOW_ON(write, STDOUT_FILENO), CONFINE_ALLOW_ON(write, STDERR_FILENO),
		CONFINE_ALLOW_ON(write, summary_fd), CONFINE_ALLOW_ON(write, files_fd), CONFINE_ALLOW_ON(recvmsg, files_fd),
	};
	/* clang-format on */

	return confine_calls(rules, ARRAY_SIZE(rules), err);
}

int confine(const struct confine_fds *fds, void (*broken)(const char *why), struct err *err)
{
	on_broken = broken;
	if (leave_open(fds, err) < 0 || set_limits(fds->summary, err) < 0 ||
	    catch_signals(err) < 0 || confine_files(-1, err) < 0)
		return -err->code;
	return filter_calls(fds->files, fds->summary, err);
}
