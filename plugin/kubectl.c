/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the command line of kubectl, pipes, and waits for children. */
#include "plugin/kubectl.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/macros.h"

int kubectl_argv(const struct kubectl *kubectl, const char *const *args,
		 const char *ret_argv[static KUBECTL_ARGS_MAX + 1], struct err *err)
{
	size_t n = 0;

	ret_argv[n++] = kubectl->program ? kubectl->program : "kubectl";
	if (kubectl->kubeconfig) {
		ret_argv[n++] = "--kubeconfig";
		ret_argv[n++] = kubectl->kubeconfig;
	}
	if (kubectl->context) {
		ret_argv[n++] = "--context";
		ret_argv[n++] = kubectl->context;
	}
	for (; *args; args++) {
		if (n >= KUBECTL_ARGS_MAX)
			return err_set(err, E2BIG, "too many arguments for kubectl");
		ret_argv[n++] = *args;
	}
	ret_argv[n] = NULL;
	return 0;
}

int pipe_open(int ret_ends[2], struct err *err)
{
	_cleanup_close_ int from = -1, to = -1;
	int ends[2];

	if (pipe(ends) < 0)
		return err_set(err, errno, "pipe");
	from = fcntl(ends[0], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	to = fcntl(ends[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(ends[0]);
	close(ends[1]);
	if (from < 0 || to < 0)
		return err_set(err, EMFILE, "pipe");
	ret_ends[0] = TAKE_FD(from);
	ret_ends[1] = TAKE_FD(to);
	return 0;
}

int child_wait(pid_t pid, const char *program, struct err *err)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_set(err, errno, "wait for %s", program);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_NOT_STARTED)
		return err_set(err, ENOENT,
			       "%s cannot be started; it has to be in PATH, or $KUBECTL names it",
			       program);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(err, EPROTO, "%s failed", program);
	return 0;
}
