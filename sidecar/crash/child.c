/* SPDX-License-Identifier: Apache-2.0 */
/* A program of ours that works for the recorder. */
#include "sidecar/crash/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/units.h"

#define ABOVE_ALL 64 /* descriptors are moved up there first, out of the way of those they become */

struct pipe_end {
	int fd;
	struct event *readable;
	struct strbuf text;
	size_t left; /* that may still be kept */
};

struct child {
	pid_t pid;
	int pidfd;
	struct event *ended, *overdue;
	struct pipe_end ends[3]; /* stdout, stderr, the extra one */
	bool timed_out;
	child_done_fn done;
	void *arg;
};

static void close_end(struct pipe_end *end)
{
	if (end->readable)
		event_free(TAKE_PTR(end->readable));
	closep(&end->fd);
	end->fd = -1;
}

static void child_free(struct child *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(c->ends); i++) {
		close_end(&c->ends[i]);
		strbuf_release(&c->ends[i].text);
	}
	if (c->ended)
		event_free(c->ended);
	if (c->overdue)
		event_free(c->overdue);
	closep(&c->pidfd);
	free(c);
}

/* What is there now. */
static void drain(struct pipe_end *end)
{
	char part[4096];
	ssize_t n;

	while (end->fd >= 0 && (n = read(end->fd, part, sizeof(part))) != 0) {
		size_t keep = n < 0 ? 0 : MIN((size_t)n, end->left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return;
		strbuf_add(&end->text, part, keep);
		end->left -= keep;
	}
	close_end(end);
}

static void on_output(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	drain(arg);
}

static void on_overdue(evutil_socket_t fd, short what, void *arg)
{
	struct child *c = arg;

	(void)fd;
	(void)what;
	c->timed_out = true;
	kill(c->pid, SIGKILL);
}

static void on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct child *c = arg;
	struct child_result r = { .timed_out = c->timed_out };

	(void)fd;
	(void)what;
	if (waitpid(c->pid, &r.status, 0) != c->pid)
		r.status = 1 << 8;
	for (size_t i = 0; i < ARRAY_SIZE(c->ends); i++)
		drain(&c->ends[i]);
	r.exited_well = WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0;
	r.output = strbuf_str(&c->ends[0].text);
	r.output_len = c->ends[0].text.len;
	r.errors = strbuf_str(&c->ends[1].text);
	r.extra = strbuf_str(&c->ends[2].text);
	c->done(&r, c->arg);
	child_free(c);
}

/* In the child */

/* To number `to`, which others of them may have now: so all have been moved above all of those before. */
static void place(int fd, int to)
{
	if (fd < 0 || dup2(fd, to) < 0)
		_exit(126);
}

/* The sidecar's own has credentials; what reads a user's file gets none of it. */
static char *const *environment(void)
{
	static char *const none[] = { NULL };

#if defined(__SANITIZE_ADDRESS__)
	return environ; /* with the sanitizer's own options */
#endif
	return none;
}

_Noreturn static void become(const char *path, const struct child_work *work, const int ends[3], pid_t recorder)
{
	char *argv[CHILD_ARGS_MAX + 2] = { (char *)work->program };
	int fds[CHILD_FDS_MAX + 4], n = 0, extra = work->extra_max ? 1 : 0;
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != recorder || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(126);
	fds[n++] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	fds[n++] = ends[0];
	fds[n++] = ends[1];
	for (size_t i = 0; i < work->n_fds; i++)
		fds[n++] = work->fds[i];
	if (extra)
		fds[n++] = ends[2];
	for (int i = 0; i < n; i++)
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, ABOVE_ALL);
	for (int i = 0; i < n; i++)
		place(fds[i], i);
	for (int i = 0; work->args[i]; i++)
		argv[i + 1] = (char *)work->args[i];
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	execve(path, argv, environment());
	_exit(127);
}

static int path_of(const char *program, char path[static PATH_MAX], struct err *err)
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	size_t room;
	char *slash;

	if (n < 0)
		return err_set(err, errno, "readlink /proc/self/exe");
	path[n] = '\0';
	slash = strrchr(path, '/');
	room = PATH_MAX - (size_t)(slash + 1 - path);
	if ((size_t)snprintf(slash + 1, room, "%s", program) >= room)
		return err_set(err, ENAMETOOLONG, "%s", program);
	if (access(path, X_OK) < 0)
		return err_set(err, errno, "%s, which belongs beside afterglow-sidecar", path);
	return 0;
}

/* The reading ends are ours and do not block. */
static int make_pipes(struct child *c, const struct child_work *work, int ret_ends[3], struct err *err)
{
	const size_t max[3] = { work->output_max, CHILD_STDERR_MAX, work->extra_max };

	for (int i = 0; i < 3; i++) {
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

static int watch(struct child *c, struct event_base *base, int64_t within_ns, struct err *err)
{
	const struct timeval within = { .tv_sec = within_ns / NS_PER_SEC, .tv_usec = within_ns % NS_PER_SEC / 1000 };
	bool ok;

	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0)
		return err_set(err, errno, "pidfd_open");
	c->ended = event_new(base, c->pidfd, EV_READ, on_ended, c);
	c->overdue = evtimer_new(base, on_overdue, c);
	ok = c->ended && c->overdue && event_add(c->ended, NULL) == 0 && event_add(c->overdue, &within) == 0;
	for (int i = 0; i < 3 && ok; i++) {
		struct pipe_end *end = &c->ends[i];

		if (end->fd < 0)
			continue;
		end->readable = event_new(base, end->fd, EV_READ | EV_PERSIST, on_output, end);
		ok = end->readable && event_add(end->readable, NULL) == 0;
	}
	return ok ? 0 : err_set(err, ENOMEM, "child's events");
}

int child_start(struct event_base *base, const struct child_work *work, child_done_fn done, void *arg,
		struct child **ret_child, struct err *err)
{
	struct child *c = calloc(1, sizeof(*c));
	int ends[3] = { -1, -1, -1 }, rc;
	char path[PATH_MAX];
	pid_t recorder = getpid();

	if (!c)
		return err_set(err, ENOMEM, "child");
	c->pidfd = -1;
	c->done = done;
	c->arg = arg;
	for (size_t i = 0; i < ARRAY_SIZE(c->ends); i++)
		c->ends[i].fd = -1;
	rc = path_of(work->program, path, err);
	if (rc >= 0)
		rc = make_pipes(c, work, ends, err);
	if (rc >= 0) {
		c->pid = fork();
		if (c->pid == 0)
			become(path, work, ends, recorder);
		if (c->pid < 0)
			rc = err_set(err, errno, "fork");
	}
	for (int i = 0; i < 3; i++)
		closep(&ends[i]);
	if (rc >= 0) {
		rc = watch(c, base, work->within_ns, err);
		if (rc < 0) {
			child_cancel(c);
			return rc;
		}
	} else
		child_free(c);
	if (rc >= 0)
		*ret_child = c;
	return rc;
}

void child_cancel(struct child *c)
{
	if (!c)
		return;
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	child_free(c);
}
