/* SPDX-License-Identifier: Apache-2.0 */
/* Confines afterglow-pack before it reads a core. */
#include "sidecar/pack/confine.h"

#include <linux/futex.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#include "sidecar/confine/confine.h"

/* Of address space; most of it is mapped for libraries and the stack and never touched. */
#define MEMORY_MAX ((uint64_t)256 << 20)
#define SECONDS_MAX 3600 /* the sidecar's own time limit is shorter */

int pack_confine_files(int core_fd, int out_fd, struct err *err)
{
	const int keep[] = { STDOUT_FILENO, STDERR_FILENO, MIN(core_fd, out_fd),
			     MAX(core_fd, out_fd) };

	confine_descriptors(keep, ARRAY_SIZE(keep));
#if defined(__SANITIZE_ADDRESS__)
	(void)err;
	return 0; /* the leak sanitizer reads /proc at the end */
#else
	return confine_files(-1, err) < 0 ? -err->code : 0;
#endif
}

#define FUTEX_COMMANDS 127 /* the other bits are flags */

/* The second thread may not run yet, so the list allows what a thread does first. */
int pack_confine_calls(int stream_fd, int out_fd, struct err *err)
{
	static const struct confine_limits limits = { .addresses = MEMORY_MAX,
						      .cpu_seconds = SECONDS_MAX,
						      .files = 1 };
	/* clang-format off */
	const struct confine_rule rules[] = {
		CONFINE_ALLOW(pread64), CONFINE_ALLOW(lseek), CONFINE_ALLOW(fstat), CONFINE_ALLOW_ON(write, out_fd),
		CONFINE_ALLOW_ON(write, STDOUT_FILENO), CONFINE_ALLOW_ON(write, STDERR_FILENO), CONFINE_ALLOW_ON(fdatasync, out_fd),
		CONFINE_ALLOW_WITHOUT(mmap, 2, PROT_EXEC), CONFINE_ALLOW_WITHOUT(mprotect, 2, PROT_EXEC),
		CONFINE_ALLOW(munmap), CONFINE_ALLOW(mremap), CONFINE_ALLOW(madvise), CONFINE_ALLOW(brk),
		/*
		 * Private futexes affect only our own process. pthread_join waits on a futex that
		 * the kernel wakes and that is not private. Waiting does not affect other
		 * processes.
		 */
		{ SYS_futex, 1, FUTEX_PRIVATE_FLAG, FUTEX_PRIVATE_FLAG }, { SYS_futex, 1, FUTEX_COMMANDS, FUTEX_WAIT_BITSET },
		CONFINE_ALLOW(sched_yield), CONFINE_ALLOW(clock_gettime),
		CONFINE_ALLOW(getrandom), CONFINE_ALLOW(getpid), CONFINE_ALLOW(gettid), CONFINE_ALLOW(rt_sigreturn),
		CONFINE_ALLOW(rt_sigprocmask), CONFINE_ALLOW(restart_syscall), CONFINE_ALLOW(set_robust_list), CONFINE_ALLOW(rseq),
		CONFINE_ALLOW(exit), CONFINE_ALLOW(exit_group),
		/* The last one, which is left out if there is no stream. */
		CONFINE_ALLOW_ON(read, stream_fd),
	};
	/* clang-format on */

	signal(SIGXFSZ, SIG_IGN);
	if (confine_limit(&limits, err) < 0)
		return -err->code;
#if defined(__SANITIZE_ADDRESS__)
	/*
	 * A sanitizer makes too many different calls to list, also when the second thread starts.
	 */
	(void)rules;
	return 0;
#else
	return confine_calls(rules, ARRAY_SIZE(rules) - (stream_fd < 0), err);
#endif
}
