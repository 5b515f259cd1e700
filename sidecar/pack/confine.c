/* SPDX-License-Identifier: Apache-2.0 */
/* Before a hostile file is read. */
#include "sidecar/pack/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef OUR_ARCH
static const int allowed[] = {
	SYS_read, SYS_pread64, SYS_write, SYS_lseek, SYS_fstat, SYS_newfstatat, SYS_fdatasync, SYS_fsync, SYS_fcntl,
	SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_brk,
	SYS_futex, SYS_sched_yield, SYS_clock_gettime, SYS_getrandom, SYS_getpid, SYS_gettid,
	SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_restart_syscall, SYS_set_robust_list,
#ifdef SYS_rseq
	SYS_rseq,
#endif
	SYS_exit, SYS_exit_group,
};

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))

static int filter_calls(struct err *err)
{
#if defined(__SANITIZE_ADDRESS__)
	/* It asks for more than it is worth listing, also when our second thread begins. */
	(void)err;
	return 0;
#endif
	struct sock_filter program[2 * ARRAY_SIZE(allowed) + 8] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
	};
	size_t n = 4;
	struct sock_fprog filter = { .filter = program };

	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)allowed[i], 0, 1);
		program[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	}
	/* An error, not the end: a library that asks for more than it needs goes on without. */
	program[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | EPERM);
	filter.len = (unsigned short)n;
	/* A kernel or a runtime without seccomp: the limits and the missing privileges have to do. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0 && errno != ENOSYS &&
	    errno != EINVAL)
		return err_set(err, errno, "seccomp");
	return 0;
}
#else
static int filter_calls(struct err *err)
{
	(void)err;
	return 0;
}
#endif

int confine_self(uint64_t memory, unsigned int seconds, struct err *err)
{
	const struct {
		int resource;
		rlim_t limit;
	} limits[] = {
		{ RLIMIT_AS, memory }, { RLIMIT_CPU, seconds }, { RLIMIT_CORE, 0 }, { RLIMIT_NOFILE, 0 },
	};

	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		const struct rlimit limit = { limits[i].limit, limits[i].limit };

#if defined(__SANITIZE_ADDRESS__)
		if (limits[i].resource == RLIMIT_AS)
			continue; /* its shadow takes terabytes of address space */
#endif
		if (setrlimit(limits[i].resource, &limit) < 0)
			return err_set(err, errno, "setrlimit");
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(err, errno, "no_new_privs");
	return filter_calls(err);
}
