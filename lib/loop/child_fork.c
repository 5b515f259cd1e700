/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a child process, from fork to exec. */
#include "lib/loop/child_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/oom_score.h"

/* descriptors are first moved above this number, out of the way of their targets */
#define ABOVE_ALL 64

/*
 * Makes the descriptor fd number `to`. Another descriptor may have that number, so the caller first
 * moved all of them above ABOVE_ALL.
 */
static void child_fork_place(int fd, int to)
{
	if (fd < 0 || dup2(fd, to) < 0)
		_exit(126);
}

static void usual_signals(void)
{
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static char *const *child_fork_environment(const struct child_work *work)
{
	static char *const none[] = { NULL };

	if (work->env)
		return work->env;
#if defined(__SANITIZE_ADDRESS__)
	return environ; /* the child gets the sanitizer's options, which are in our environment */
#endif
	return none;
}

/* Becomes the program. If exec fails, the errno is written to the pipe `failed`. */
_Noreturn static void child_fork_become(const struct child_work *work, const int ends[CHILD_ENDS],
					int failed, pid_t parent)
{
	int fds[CHILD_FDS_MAX + 5], n = 0, error;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent ||
	    (work->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0))
		_exit(126);
	/* Without it, the OOM killer might choose us before the child */
	(void)oom_score_write(OOM_SCORE_FIRST);
	fds[n++] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	fds[n++] = ends[CHILD_OUTPUT];
	fds[n++] = ends[CHILD_ERRORS] >= 0 ? ends[CHILD_ERRORS] : STDERR_FILENO;
	for (size_t i = 0; i < work->n_fds; i++)
		fds[n++] = work->fds[i];
	if (work->extra_max)
		fds[n++] = ends[CHILD_EXTRA];
	for (int i = 0; i < n; i++)
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, ABOVE_ALL);
	failed = fcntl(failed, F_DUPFD_CLOEXEC, ABOVE_ALL);
	for (int i = 0; i < n; i++)
		child_fork_place(fds[i], i);
	/* Before Linux 5.9 there is no close_range. Our descriptors have O_CLOEXEC in any case. */
	syscall(SYS_close_range, n, UINT_MAX, 4 /* CLOSE_RANGE_CLOEXEC, from Linux 5.11 */);
	usual_signals();
	execvpe(work->path, (char *const *)work->argv, child_fork_environment(work));
	error = errno;
	if (write(failed, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

int child_fork(const struct child_work *work, const int ends[CHILD_ENDS], pid_t *ret_pid,
	       struct err *err)
{
	pid_t parent = getpid(), pid;
	int failed[2], error = 0;

	if (pipe2(failed, O_CLOEXEC) < 0)
		return err_set(err, errno, "pipe");
	pid = fork();
	if (pid == 0)
		child_fork_become(work, ends, failed[1], parent);
	if (pid < 0)
		error = errno;
	close(failed[1]);
	while (pid > 0 && read(failed[0], &error, sizeof(error)) < 0 && errno == EINTR)
		;
	close(failed[0]);
	*ret_pid = pid;
	return error ? err_set(err, error, "%s", work->path) : 0;
}
