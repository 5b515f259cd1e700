/* SPDX-License-Identifier: Apache-2.0 */
/* Runs commands for the sidecar in the container. */
#include "sidecar/launch/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/oom_score.h"
#include "sidecar/launch/clock.h"

#define SHELL "/bin/sh"

/* Takes a number from min to max and the blank after it, and moves *text behind both. */
static bool take_number(const char **text, long long min, long long max, long long *ret_value)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*ret_value = strtoll(*text, &end, 10);
	if (errno || *end != ' ' || *ret_value < min || *ret_value > max)
		return false;
	*text = end + 1;
	return true;
}

_Noreturn static void become(const char *command, int output_fd, long long max_bytes,
			     const sigset_t *mask, pid_t launcher)
{
	const struct rlimit no_core = { 0, 0 }, file = { (rlim_t)max_bytes, (rlim_t)max_bytes };
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != launcher)
		_exit(126);
	/* The OOM killer should choose the hook before the container's own command. */
	(void)oom_score_write(OOM_SCORE_FIRST);
	setrlimit(RLIMIT_CORE, &no_core);
	if (max_bytes)
		setrlimit(RLIMIT_FSIZE, &file);
	sigprocmask(SIG_SETMASK, mask, NULL);
	/* These descriptors may themselves have the numbers 0 to 2, so they are moved first. */
	output_fd = fcntl(output_fd, F_DUPFD_CLOEXEC, 3);
	null_fd = null_fd < 0 ? -1 : fcntl(null_fd, F_DUPFD_CLOEXEC, 3);
	if (null_fd >= 0)
		dup2(null_fd, STDIN_FILENO);
	else
		close(STDIN_FILENO);
	if (dup2(output_fd, STDOUT_FILENO) < 0 || dup2(output_fd, STDERR_FILENO) < 0 ||
	    chdir("/") < 0)
		_exit(126);
	execl(SHELL, SHELL, "-c", command, (char *)NULL);
	_exit(127);
}

pid_t hooks_run(struct hooks *h, const char *order, int output_fd, const sigset_t *mask,
		int64_t now_ns, int *ret_id)
{
	long long id, seconds, max_bytes;
	struct hook *hook = hooks_find(h, 0);
	pid_t pid, launcher = getpid();

	*ret_id = -1;
	if (!take_number(&order, 0, INT32_MAX, &id))
		return -EINVAL;
	*ret_id = (int)id;
	if (!take_number(&order, 1, LAUNCH_HOOK_SECONDS_MAX, &seconds) ||
	    !take_number(&order, 0, INT64_MAX, &max_bytes) || !*order || output_fd < 0)
		return -EINVAL;
	if (!hook)
		return -EBUSY;
	pid = fork();
	if (pid == 0)
		become(order, output_fd, max_bytes, mask, launcher);
	if (pid < 0)
		return -errno;
	setpgid(pid, pid); /* parent and child both do this, because either may run first */
	*hook = (struct hook){ .pid = pid,
			       .id = (int)id,
			       .kill_at_ns = now_ns + seconds * NS_PER_SEC };
	return pid;
}

struct hook *hooks_find(struct hooks *h, pid_t pid)
{
	for (int i = 0; i < LAUNCH_HOOKS_MAX; i++)
		if (h->running[i].pid == pid)
			return &h->running[i];
	return NULL;
}

int64_t hooks_next_ns(const struct hooks *h)
{
	int64_t next = INT64_MAX;

	for (int i = 0; i < LAUNCH_HOOKS_MAX; i++)
		if (h->running[i].pid && h->running[i].kill_at_ns < next)
			next = h->running[i].kill_at_ns;
	return next;
}

void hooks_kill_overdue(struct hooks *h, int64_t now_ns)
{
	for (int i = 0; i < LAUNCH_HOOKS_MAX; i++) {
		struct hook *hook = &h->running[i];

		if (!hook->pid || hook->kill_at_ns > now_ns)
			continue;
		kill(-hook->pid, SIGKILL);
		hook->kill_at_ns = INT64_MAX;
		hook->timed_out = true;
	}
}

void hooks_kill_all(struct hooks *h)
{
	hooks_kill_overdue(h, INT64_MAX - 1);
	for (int i = 0; i < LAUNCH_HOOKS_MAX; i++)
		h->running[i].unheard = true;
}
