/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program that works for us. */
#include "lib/loop/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/loop/child_internal.h"
#include "lib/loop/timer.h"
#include "lib/units.h"

/* How often to check whether it has ended, if the kernel has no pidfds (before Linux 5.3). */
#define LOOK_NS (20 * NS_PER_MS)
#define LEFT_MAX 64 /* killed programs that have not ended, because they hang in the kernel */

struct pipe_end {
	int fd;
	struct event *readable;
	struct strbuf text;
	size_t left; /* bytes of output that may still be kept */
};

struct child {
	pid_t pid;
	int pidfd; /* -1: the kernel has no pidfds */
	struct event *ended, *overdue;
	struct pipe_end ends[CHILD_ENDS];
	child_line_fn on_line;
	char *line;
	size_t line_len, line_max;
	bool line_too_long, timed_out;
	child_done_fn done;
	void *arg;
};

/* Processes that were killed and for which nobody waits */

static pid_t left_behind[LEFT_MAX];

static void reap_left(void)
{
	for (size_t i = 0; i < LEFT_MAX; i++)
		if (left_behind[i] && waitpid(left_behind[i], NULL, WNOHANG) != 0)
			left_behind[i] = 0;
}

static void child_leave(pid_t pid)
{
	reap_left();
	if (waitpid(pid, NULL, WNOHANG) != 0)
		return;
	for (size_t i = 0; i < LEFT_MAX; i++)
		if (!left_behind[i]) {
			left_behind[i] = pid;
			return;
		}
}

/* --- The end of a child --- */

static void close_end(struct pipe_end *end)
{
	event_drop(TAKE_PTR(end->readable));
	closep(&end->fd);
	end->fd = -1;
}

/* The output may contain a password, so it is overwritten. */
static void release_text(struct strbuf *text)
{
	if (text->data)
		explicit_bzero(text->data, text->len);
	strbuf_release(text);
}

static void child_free(struct child *c)
{
	for (size_t i = 0; i < CHILD_ENDS; i++) {
		close_end(&c->ends[i]);
		release_text(&c->ends[i].text);
	}
	event_drop(c->ended);
	event_drop(c->overdue);
	closep(&c->pidfd);
	free(c->line);
	free(c);
}

void child_cancel(struct child *c)
{
	if (!c)
		return;
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		child_leave(c->pid);
	}
	child_free(c);
}

/* --- The output of a child --- */

static void take_lines(struct child *c, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '\n') {
			if (!c->line_too_long)
				c->on_line(c->line, c->line_len, c->arg);
			c->line_len = 0;
			c->line_too_long = false;
		} else if (c->line_len == c->line_max)
			c->line_too_long = true;
		else
			c->line[c->line_len++] = bytes[i];
	}
}

/* Reads the data that has arrived. */
static void child_drain(struct child *c, struct pipe_end *end)
{
	bool lines = c->on_line && end == &c->ends[CHILD_OUTPUT];
	char part[4096];
	ssize_t n = -1;

	while (end->fd >= 0 && (n = read(end->fd, part, sizeof(part))) != 0) {
		size_t keep = n < 0 ? 0 : MIN((size_t)n, end->left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		if (lines)
			take_lines(c, part, (size_t)n);
		else
			strbuf_add(&end->text, part, keep);
		end->left -= keep;
	}
	explicit_bzero(part, sizeof(part));
	if (n == 0)
		close_end(end);
}

static void child_on_output(evutil_socket_t fd, short, void *arg)
{
	struct child *c = arg;

	for (size_t i = 0; i < CHILD_ENDS; i++)
		if (c->ends[i].fd == fd)
			child_drain(c, &c->ends[i]);
}

static void child_on_overdue(evutil_socket_t, short, void *arg)
{
	struct child *c = arg;

	c->timed_out = true;
	kill(c->pid, SIGKILL);
}

static void child_finish(struct child *c, int status)
{
	struct child_result r = { .timed_out = c->timed_out, .status = status };
	struct strbuf texts[CHILD_ENDS];

	c->pid = 0;
	for (size_t i = 0; i < CHILD_ENDS; i++) {
		child_drain(c, &c->ends[i]);
		texts[i] = c->ends[i].text;
		c->ends[i].text = STRBUF_INIT(0);
	}
	r.exited_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	r.output = strbuf_str(&texts[CHILD_OUTPUT]);
	r.output_len = texts[CHILD_OUTPUT].len;
	r.errors = strbuf_str(&texts[CHILD_ERRORS]);
	r.extra = strbuf_str(&texts[CHILD_EXTRA]);
	child_done_fn done = c->done;
	void *arg = c->arg;

	child_free(c);
	done(&r, arg);
	for (size_t i = 0; i < CHILD_ENDS; i++)
		release_text(&texts[i]);
}

static void on_ended(evutil_socket_t, short, void *arg)
{
	struct child *c = arg;
	int status;
	pid_t pid = waitpid(c->pid, &status, WNOHANG);

	if (pid != 0)
		child_finish(c, pid == c->pid ? status : 1 << 8);
}

/* --- The start of a child --- */

int child_beside(const char *program, char ret_path[static PATH_MAX], struct err *err)
{
	ssize_t n = readlink("/proc/self/exe", ret_path, PATH_MAX - 1);

	if (n < 0)
		return err_set(err, errno, "readlink /proc/self/exe");
	ret_path[n] = '\0';
	char *slash = strrchr(ret_path, '/');
	size_t room = PATH_MAX - (size_t)(slash + 1 - ret_path);
	if ((size_t)snprintf(slash + 1, room, "%s", program) >= room)
		return err_set(err, ENAMETOOLONG, "%s", program);
	return 0;
}

/* Makes the pipes. The reading ends are for us and do not block. */
static int make_pipes(struct child *c, const struct child_work *work, int ret_ends[CHILD_ENDS],
		      struct err *err)
{
	const size_t max[CHILD_ENDS] = { MAX(work->output_max, (size_t)1), work->errors_max,
					 work->extra_max };

	for (int i = 0; i < CHILD_ENDS; i++) {
		int ends[2];

		if (!max[i])
			continue;
		if (pipe2(ends, O_CLOEXEC) < 0)
			return err_set(err, errno, "pipe");
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		c->ends[i].fd = ends[0];
		c->ends[i].text = STRBUF_INIT(max[i]);
		c->ends[i].left = max[i];
		ret_ends[i] = ends[1];
	}
	return 0;
}

void child_extend(struct child *c, int64_t within_ns)
{
	const struct timeval within = { .tv_sec = within_ns / NS_PER_SEC,
					.tv_usec = within_ns % NS_PER_SEC / 1000 };

	if (!c->timed_out)
		event_add(c->overdue, &within);
}

static bool watch_end(struct child *c, struct event_base *base)
{
	const struct timeval look = { .tv_usec = LOOK_NS / 1000 };

	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	c->ended =
		event_new(base, c->pidfd, (c->pidfd < 0 ? 0 : EV_READ) | EV_PERSIST, on_ended, c);
	return c->ended && event_add(c->ended, c->pidfd < 0 ? &look : NULL) == 0;
}

static int child_watch(struct child *c, struct event_base *base, int64_t within_ns, struct err *err)
{
	bool ok = watch_end(c, base);

	c->overdue = evtimer_new(base, child_on_overdue, c);
	for (int i = 0; i < CHILD_ENDS && ok; i++) {
		struct pipe_end *end = &c->ends[i];

		if (end->fd < 0)
			continue;
		end->readable = event_new(base, end->fd, EV_READ | EV_PERSIST, child_on_output, c);
		ok = end->readable && event_add(end->readable, NULL) == 0;
	}
	if (!ok || !c->overdue)
		return err_set(err, ENOMEM, "child's events");
	child_extend(c, within_ns);
	return 0;
}

static struct child *new_child(const struct child_work *work, child_done_fn done, void *arg)
{
	struct child *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->pidfd = -1;
	c->done = done;
	c->arg = arg;
	for (size_t i = 0; i < CHILD_ENDS; i++)
		c->ends[i].fd = -1;
	c->on_line = work->on_line;
	c->line_max = work->line_max;
	c->line = work->on_line ? malloc(work->line_max + 1) : NULL;
	if (work->on_line && !c->line) {
		free(c);
		return NULL;
	}
	return c;
}

int child_start(struct event_base *base, const struct child_work *work, child_done_fn done,
		void *arg, struct child **ret_child, struct err *err)
{
	struct child *c = new_child(work, done, arg);
	int ends[CHILD_ENDS] = { -1, -1, -1 }, rc;

	reap_left();
	if (!c)
		return err_set(err, ENOMEM, "child");
	rc = make_pipes(c, work, ends, err);
	if (rc >= 0)
		rc = child_fork(work, ends, &c->pid, err);
	for (int i = 0; i < CHILD_ENDS; i++)
		closep(&ends[i]);
	if (rc >= 0)
		rc = child_watch(c, base, work->within_ns, err);
	if (rc < 0) {
		child_cancel(c);
		return rc;
	}
	*ret_child = c;
	return 0;
}
