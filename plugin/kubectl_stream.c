/* SPDX-License-Identifier: Apache-2.0 */
/* Runs kubectl with pipes on both ends. */
#include "plugin/kubectl_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/macros.h"
#include "plugin/table.h"

#define CHUNK (64 << 10)

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	caught = number;
}

void stream_catch_signals(void)
{
	/* Without SA_RESTART a signal ends a read that waits. */
	const struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static _Noreturn void become(const char *const *argv, int in, int out, int errors, const struct stream *stream)
{
	/* Ctrl-C at a terminal sends SIGINT to the whole process group. */
	if (stream->shielded)
		setpgid(0, 0);
	signal(SIGPIPE, SIG_DFL);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(errors, STDERR_FILENO);
	execvp(argv[0], (char *const *)argv);
	_exit(CHILD_NOT_STARTED);
}

static bool is_over(const struct stream *stream)
{
	return caught && !stream->shielded;
}

/* Reads what kubectl prints, until it ends, the caller has enough or a signal comes. */
static int read_all(int from, const struct stream *stream, struct err *err)
{
	static char chunk[CHUNK];

	for (;;) {
		ssize_t n = is_over(stream) ? -1 : read(from, chunk, sizeof(chunk));

		if (is_over(stream))
			return err_set(err, EINTR, "interrupted");
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "reading what kubectl prints");
		if (n == 0)
			return 0;
		int r = stream->on_data ? stream->on_data(stream->arg, chunk, (size_t)n, err) : 0;
		if (r < 0)
			return r;
	}
}

/*
 * Writes a small input. It fits into the pipe's buffer, so writing it does not wait for kubectl to
 * read.
 */
static int write_input(int to, const struct stream *stream, struct err *err)
{
	return stream->input ? fd_write_all(to, stream->input, strlen(stream->input), err) : 0;
}

int stream_into_strbuf(void *arg, const void *data, size_t len, struct err *err)
{
	struct strbuf *out = arg;

	strbuf_add(out, data, len);
	return strbuf_failed(out) ? err_set(err, EFBIG, "what kubectl prints is too large") : 0;
}

static void print_errors(int fd)
{
	char errors[STREAM_ERRORS_MAX];
	ssize_t n = pread(fd, errors, sizeof(errors), 0);

	if (n > 0)
		stderr_note("%.*s%s", (int)n, errors, errors[n - 1] == '\n' ? "" : "\n");
}

static int run(const struct kubectl *kubectl, const char *const *args, const struct stream *stream, int errors, struct err *err)
{
	const char *argv[KUBECTL_ARGS_MAX + 1];
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, r = kubectl_argv(kubectl, args, argv, err), end;
	pid_t pid;

	if (is_over(stream))
		return err_set(err, EINTR, "interrupted");
	if (r == 0)
		r = pipe_open(in, err);
	if (r == 0 && (r = pipe_open(out, err)) < 0) {
		close(in[0]);
		close(in[1]);
	}
	if (r < 0)
		return r;
	pid = fork();
	if (pid == 0)
		become(argv, in[0], out[1], errors, stream);
	close(in[0]);
	close(out[1]);
	r = pid < 0 ? err_set(err, errno, "start %s", argv[0]) : write_input(in[1], stream, err);
	close(in[1]);
	if (r == 0)
		r = read_all(out[0], stream, err);
	close(out[0]);
	if (pid < 0)
		return r;
	if (r < 0)
		kill(pid, SIGTERM);
	end = child_wait(pid, argv[0], r < 0 ? NULL : err);
	return r < 0 ? r : end;
}

/* Makes an unnamed file with a descriptor above stderr that programs do not inherit. */
static int open_errors(struct err *err)
{
	FILE *file = tmpfile();
	int fd = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
	int r = fd < 0 ? err_set(err, errno, "a file for what kubectl prints on stderr") : fd;

	if (file)
		fclose(file);
	return r;
}

int kubectl_stream(const struct kubectl *kubectl, const char *const *args, const struct stream *stream, struct err *err)
{
	_cleanup_close_ int errors = open_errors(err);
	int r = errors < 0 ? errors : run(kubectl, args, stream, errors, err);

	if (errors >= 0)
		print_errors(errors);
	return r;
}
