/* SPDX-License-Identifier: Apache-2.0 */
/* What this process may still do once it reads what the user wrote. */
#include "sidecar/unwind/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "which AUDIT_ARCH is this?"
#endif

/* A sanitizer's shadow memory is terabytes of addresses; and what breaks is to be heard of. */
#if defined(__SANITIZE_ADDRESS__)
#define LIMIT_MEMORY false
#define CATCH_ALL false
#else
#define LIMIT_MEMORY true
#define CATCH_ALL true
#endif

/* Signals */

static void (*on_broken)(const char *why);

static void handle(int signal)
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

/* On a stack of its own: damaged data may have used up the other one. */
static int catch_signals(struct err *err)
{
	static const int signals[] = { SIGALRM, SIGXCPU, SIGXFSZ, SIGBUS, SIGSEGV, SIGABRT, SIGFPE, SIGILL };
	static char memory[64 << 10];
	const stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK | (int)SA_RESETHAND };

	if (sigaltstack(&stack, NULL) < 0)
		return err_set(err, errno, "sigaltstack");
	for (size_t i = 0; i < (CATCH_ALL ? ARRAY_SIZE(signals) : 4); i++)
		if (sigaction(signals[i], &action, NULL) < 0)
			return err_set(err, errno, "signal %d", signals[i]);
	signal(SIGPIPE, SIG_IGN);
	alarm(CONFINE_SECONDS);
	return 0;
}

/* Limits */

static int limit(int resource, const char *name, rlim_t soft, rlim_t hard, struct err *err)
{
	struct rlimit now, want;

	if (getrlimit((__rlimit_resource_t)resource, &now) < 0)
		return err_set(err, errno, "%s", name);
	want.rlim_max = MIN(hard, now.rlim_max);
	want.rlim_cur = MIN(soft, want.rlim_max);
	if (setrlimit((__rlimit_resource_t)resource, &want) < 0)
		return err_set(err, errno, "%s", name);
	return 0;
}

/* A file that is written to may hold something already. */
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
	const rlim_t output = output_limit(summary_fd);

	if (LIMIT_MEMORY && (limit(RLIMIT_AS, "RLIMIT_AS", CONFINE_ADDRESSES, CONFINE_ADDRESSES, err) < 0 ||
			     limit(RLIMIT_DATA, "RLIMIT_DATA", CONFINE_MEMORY, CONFINE_MEMORY, err) < 0))
		return -err->code;
	/* SIGXCPU first, SIGKILL for whoever does not end then. */
	if (limit(RLIMIT_CPU, "RLIMIT_CPU", CONFINE_CPU_SECONDS, CONFINE_CPU_SECONDS + 2, err) < 0 ||
	    limit(RLIMIT_FSIZE, "RLIMIT_FSIZE", output, output, err) < 0 ||
	    limit(RLIMIT_NOFILE, "RLIMIT_NOFILE", CONFINE_FILES, CONFINE_FILES, err) < 0 ||
	    limit(RLIMIT_CORE, "RLIMIT_CORE", 0, 0, err) < 0)
		return -err->code;
	return 0;
}

/* System calls */

#define FIELD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)
/* Low half: the calls filtered by it take an int there. */
#define ARGUMENT(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]))
#define ALLOW(call) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
	RETURN(SECCOMP_RET_ALLOW)
/* Only with this descriptor as the first argument. */
#define ALLOW_ON(call, fd) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 4), \
	ARGUMENT(0), \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)(fd), 0, 1), \
	RETURN(SECCOMP_RET_ALLOW), \
	FIELD(nr)

static int filter_calls(int root_fd, int summary_fd, struct err *err)
{
	struct sock_filter code[] = {
		FIELD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		FIELD(nr),
		ALLOW(pread64), ALLOW(read), ALLOW(mmap), ALLOW(munmap), ALLOW(mremap), ALLOW(mprotect), ALLOW(madvise), ALLOW(brk),
		ALLOW(close), ALLOW(fstat), ALLOW(lseek), ALLOW(fcntl), ALLOW(futex), ALLOW(getrandom), ALLOW(clock_gettime),
		ALLOW(rt_sigaction), ALLOW(rt_sigprocmask), ALLOW(rt_sigreturn), ALLOW(sigaltstack), ALLOW(exit), ALLOW(exit_group),
		ALLOW_ON(openat2, root_fd),
		ALLOW_ON(write, STDOUT_FILENO), ALLOW_ON(write, STDERR_FILENO), ALLOW_ON(write, summary_fd),
#if defined(SYS_newfstatat)
		/* glibc's fstat(fd), with an empty path; only of what is open. */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 0, 4),
		ARGUMENT(3),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1000 /* AT_EMPTY_PATH */, 0, 1),
		RETURN(SECCOMP_RET_ALLOW),
		FIELD(nr),
#endif
		/* What asks nicely gets no for an answer and goes on without: libdw for files of debug information, say. */
		RETURN(SECCOMP_RET_ERRNO | EACCES),
	};
	const struct sock_fprog program = { .len = ARRAY_SIZE(code), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(err, errno, "no new privileges");
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return err_set(err, errno, "seccomp");
	return 0;
}

int confine(int root_fd, int summary_fd, void (*broken)(const char *why), struct err *err)
{
	on_broken = broken;
	if (set_limits(summary_fd, err) < 0 || catch_signals(err) < 0)
		return -err->code;
	return filter_calls(root_fd, summary_fd, err);
}
