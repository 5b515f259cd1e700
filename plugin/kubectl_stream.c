/* SPDX-License-Identifier: Apache-2.0 */
/* Runs kubectl with pipes on both ends. */
#include "plugin/kubectl_stream.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/macros.h"
#include "plugin/terminal.h"

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

/*
 * The pipes to kubectl's stdin and from its stdout and stderr: a reading and a writing end of each;
 * -1: it has ours, or the end is closed.
 */
typedef int pipe_ends[STDERR_FILENO + 1][2];

static int *kubectls_end(pipe_ends ends, int fd)
{
	return &ends[fd][fd != STDIN_FILENO];
}

static void end_close(int *end)
{
	if (*end >= 0)
		close(TAKE_FD(*end));
}

static _Noreturn void kubectl_exec(const char *const *argv, pipe_ends ends,
				   const struct stream *stream)
{
	/* Ctrl-C at a terminal sends SIGINT to the whole process group. */
	if (stream->shielded)
		setpgid(0, 0);
	signal(SIGPIPE, SIG_DFL);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (*kubectls_end(ends, fd) >= 0)
			dup2(*kubectls_end(ends, fd), fd);
	execvp(argv[0], (char *const *)argv);
	_exit(CHILD_NOT_STARTED);
}

static bool is_over(const struct stream *stream)
{
	return caught && !stream->shielded;
}

/* Passes on a piece of kubectl's stdout, or prints one of its stderr. Returns 0 at the end. */
static ssize_t piece_pass(int fd, int from, const struct stream *stream, struct err *err)
{
	static char chunk[CHUNK];
	ssize_t n = read(from, chunk, sizeof(chunk));
	int r = 0;

	if (n < 0)
		return errno == EINTR ? 1 : err_set(err, errno, "reading what kubectl prints");
	if (n && fd == STDERR_FILENO && !stream->quiet)
		/* who does not read it must not stop kubectl */
		terminal_write(STDERR_FILENO, chunk, (size_t)n, NULL);
	else if (n && fd == STDOUT_FILENO && stream->on_data)
		r = stream->on_data(stream->arg, chunk, (size_t)n, err);
	return r < 0 ? r : n;
}

/*
 * Reads what kubectl prints, until its output ends, the caller has enough or a signal comes. Its
 * stderr may stay open afterwards: a helper of an exec plugin, such as a browser, has it, too.
 */
static int read_all(pipe_ends ends, const struct stream *stream, struct err *err)
{
	struct pollfd from[2] = { { .fd = ends[STDERR_FILENO][0], .events = POLLIN },
				  { .fd = ends[STDOUT_FILENO][0], .events = POLLIN } };
	ssize_t n = 1;
	int ready;

	while (!is_over(stream) &&
	       ((ready = poll(from, 2, n ? -1 : 0)) > 0 || (ready < 0 && errno == EINTR))) {
		if (ready > 0 && from[0].revents &&
		    piece_pass(STDERR_FILENO, from[0].fd, stream, NULL) <= 0)
			from[0].fd = -1;
		if (ready > 0 && from[1].revents &&
		    (n = piece_pass(STDOUT_FILENO, from[1].fd, stream, err)) < 0)
			return (int)n;
		if (n == 0)
			from[1].fd = -1;
	}
	return is_over(stream) ? err_set(err, EINTR, "interrupted") : 0;
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

static int kubectl_run(const char *const *argv, pipe_ends ends, const struct stream *stream,
		       struct err *err)
{
	pid_t pid = fork();

	if (pid < 0)
		return err_set(err, errno, "start %s", argv[0]);
	if (pid == 0)
		kubectl_exec(argv, ends, stream);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		end_close(kubectls_end(ends, fd));
	int r = write_input(ends[STDIN_FILENO][1], stream, err);
	end_close(&ends[STDIN_FILENO][1]);
	if (r == 0)
		r = read_all(ends, stream, err);
	end_close(&ends[STDOUT_FILENO][0]);
	if (r < 0)
		kill(pid, SIGTERM);
	int end = child_wait(pid, argv[0], r < 0 ? NULL : err);
	return r < 0 ? r : end;
}

int kubectl_stream(const struct kubectl *kubectl, const char *const *args,
		   const struct stream *stream, struct err *err)
{
	pipe_ends ends = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	const char *argv[KUBECTL_ARGS_MAX + 1];
	int r = is_over(stream) ? err_set(err, EINTR, "interrupted") :
				  kubectl_argv(kubectl, args, argv, err);

	for (int fd = stream->asks && !stream->input ? STDOUT_FILENO : STDIN_FILENO;
	     r == 0 && fd <= STDERR_FILENO; fd++)
		r = pipe_open(ends[fd], err);
	if (r == 0)
		r = kubectl_run(argv, ends, stream, err);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		end_close(&ends[fd][0]);
		end_close(&ends[fd][1]);
	}
	return r;
}

int kubectl_json(const struct kubectl *kubectl, const char *const *args, bool quiet,
		 cJSON **ret_json, struct err *err)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(KUBECTL_ANSWER_MAX);
	const struct stream stream = {
		.on_data = stream_into_strbuf, .arg = &out, .asks = true, .quiet = quiet
	};
	int r = kubectl_stream(kubectl, args, &stream, err);

	if (r < 0)
		return r;
	r = json_parse(strbuf_str(&out), out.len, ret_json, err);
	return r < 0 ? err_wrap(err, "answer of kubectl") : 0;
}

/* Writes whole lines, because a piece may end within a character. */
static int lines_take(void *arg, const void *data, size_t len, struct err *err)
{
	struct strbuf *text = arg;
	int r = stream_into_strbuf(text, data, len, err);
	size_t whole = text->len;

	while (whole && text->data[whole - 1] != '\n')
		whole--;
	if (r == 0 && whole)
		r = terminal_write(STDOUT_FILENO, text->data, whole, err);
	strbuf_consume(text, whole);
	return r;
}

int kubectl_print(const struct kubectl *kubectl, const char *const *args, struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(KUBECTL_ANSWER_MAX);
	const struct stream stream = { .on_data = lines_take, .arg = &text, .asks = true };

	stream_catch_signals();
	signal(SIGPIPE, SIG_DFL);
	int r = kubectl_stream(kubectl, args, &stream, err);
	if (text.len)
		terminal_write(STDOUT_FILENO, text.data, text.len, NULL);
	if (caught) {
		signal(caught, SIG_DFL);
		raise(caught);
	}
	return r;
}
