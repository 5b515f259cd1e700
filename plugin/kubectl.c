/* SPDX-License-Identifier: Apache-2.0 */
/* Runs kubectl and reads its answer from a pipe. */
#include "plugin/kubectl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/macros.h"
#include "lib/strbuf.h"

static const char *program_of(const struct kubectl *kubectl)
{
	return kubectl->program ? kubectl->program : "kubectl";
}

int kubectl_argv(const struct kubectl *kubectl, const char *const *args,
		 const char *ret_argv[static KUBECTL_ARGS_MAX + 1], struct err *err)
{
	size_t n = 0;

	ret_argv[n++] = program_of(kubectl);
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

static _Noreturn void become(const char *const *argv, int out, bool quiet)
{
	int null = quiet ? open("/dev/null", O_WRONLY) : -1;

	if (null >= 0)
		dup2(null, STDERR_FILENO);
	dup2(out, STDOUT_FILENO);
	execvp(argv[0], (char *const *)argv);
	_exit(CHILD_NOT_STARTED);
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
		return err_set(err, EIO, "%s failed", program);
	return 0;
}

static int capture(const char *const *argv, bool quiet, struct strbuf *out, struct err *err)
{
	_cleanup_close_ int from = -1;
	int pipes[2], r = pipe_open(pipes, err), end;
	pid_t pid;

	if (r < 0)
		return r;
	from = pipes[0];
	pid = fork();
	if (pid == 0)
		become(argv, pipes[1], quiet);
	close(pipes[1]);
	if (pid < 0)
		return err_set(err, errno, "start %s", argv[0]);
	r = fd_read_all(from, out, err);
	close(TAKE_FD(from));
	end = child_wait(pid, argv[0], r < 0 ? NULL : err);
	return r < 0 ? r : end;
}

int kubectl_json(const struct kubectl *kubectl, const char *const *args, bool quiet,
		 cJSON **ret_json, struct err *err)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(KUBECTL_ANSWER_MAX);
	const char *argv[KUBECTL_ARGS_MAX + 1];
	int r = kubectl_argv(kubectl, args, argv, err);

	if (r == 0)
		r = capture(argv, quiet, &out, err);
	if (r < 0)
		return r;
	r = json_parse(strbuf_str(&out), out.len, ret_json, err);
	return r < 0 ? err_wrap(err, "answer of %s", argv[0]) : 0;
}

int kubectl_exec(const struct kubectl *kubectl, const char *const *args, struct err *err)
{
	const char *argv[KUBECTL_ARGS_MAX + 1];
	int r = kubectl_argv(kubectl, args, argv, err);

	if (r < 0)
		return r;
	execvp(argv[0], (char *const *)argv);
	return err_set(err, errno, "start %s", argv[0]);
}
