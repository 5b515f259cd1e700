/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a child process that reads Ray's files in a container. */
#include "sidecar/watch/ray_follower.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/macros.h"
#include "lib/units.h"
#include "sidecar/ray/ray_files.h"
#include "sidecar/ray/ray_logs.h"
#include "sidecar/sample/proc_stat.h"
#include "sidecar/sample/rootfd.h"
#include "sidecar/watch/gpu_words.h"

/* A little less than the 1 s of the sampler at rest, so that no turn is missed. */
#define ASK_NS (950 * NS_PER_MS)
#define HANGS_NS (2 * NS_PER_SEC)
#define AGAIN_NS (10 * NS_PER_SEC) /* how long to wait before a child that has ended is replaced */
#define LOOKUPS_MAX 4 /* lookups of a dead worker's files in one turn */
#define WORKER_LOG_MAX (16 * 1024)
#define COMMAND_LINE_MAX (32 * 1024)

struct question {
	int64_t now_ns;
	pid_t raylet;
	bool finish;
};

struct answer {
	enum { ANSWER_FINDING, ANSWER_NODE, ANSWER_LOGS, ANSWER_SHM, ANSWER_OVER } kind;
	union {
		struct ray_finding finding;
		struct ray_node node;
	};
};

/* --- The child --- */

struct child {
	int fd, root_fd;
	struct ray_logs *logs;
	struct ray_node node;
	struct stat logs_st, shm_st; /* as they were when they were last sent */
	int64_t now_ns;
	unsigned int lookups;
};

static void tell(const struct child *c, const struct answer *a, int pass_fd)
{
	/* Without a parent the child is of no use. */
	if (!errand_send(c->fd, a, sizeof(*a), pass_fd))
		_exit(0);
}

struct lookup {
	int dir_fd;
	struct ray_finding *finding;
};

static void look_into(const char *name, void *arg)
{
	struct lookup *l = arg;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(WORKER_LOG_MAX);
	struct ray_event *e = &l->finding->event;
	char task[sizeof(e->task)] = "";

	if (strstr(name, "python-core") || !ray_file_tail(l->dir_fd, name, WORKER_LOG_MAX, &text))
		return;
	gpu_words_read(l->dir_fd, name, now_realtime_ns(), &l->finding->gpu);
	ray_worker_log_parse(strbuf_str(&text), text.len, task, sizeof(task),
			     l->finding->logged_signal, sizeof(l->finding->logged_signal));
	if (!e->task[0])
		memcpy(e->task, task, sizeof(task));
}

/* Reads what the dead worker's own files show. */
static void look_up(struct child *c, struct ray_finding *finding)
{
	struct lookup l = { ray_logs_dir(c->logs), finding };

	if (!finding->event.pid)
		return;
	finding->gone = proc_stat_gone(c->root_fd, finding->event.pid);
	if (c->lookups++ < LOOKUPS_MAX && l.dir_fd >= 0)
		ray_files_of_pid(l.dir_fd, finding->event.pid, look_into, &l);
}

static void on_event(const struct ray_event *event, const char *file, void *arg)
{
	struct child *c = arg;
	struct answer a = { .kind = ANSWER_FINDING,
			    .finding = { .event = *event, .at_ns = c->now_ns } };

	snprintf(a.finding.file, sizeof(a.finding.file), "%s", file);
	if (!IS_ONE_OF((int)event->kind, RAY_SUMMARY, RAY_ISOLATION, RAY_INFEASIBLE))
		look_up(c, &a.finding);
	tell(c, &a, -1);
}

/* Sends fd if it is another directory than before. */
static void tell_directory(const struct child *c, const struct answer *a, int fd,
			   struct stat *known)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 ||
	    (st.st_dev == known->st_dev && st.st_ino == known->st_ino))
		return;
	*known = st;
	tell(c, a, fd);
}

static void tell_shm(struct child *c)
{
	_cleanup_close_ int fd = ray_node_open_shm(c->root_fd);

	tell_directory(c, &(struct answer){ .kind = ANSWER_SHM }, fd, &c->shm_st);
}

/* With --temp-dir the session is not below /tmp/ray. */
static void find_logs(struct child *c, pid_t raylet)
{
	static const char option[] = "--log_dir=";
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(COMMAND_LINE_MAX);
	char path[40];
	const char *at, *end;

	snprintf(path, sizeof(path), "proc/%d/cmdline", (int)raylet);
	rootfd_read(c->root_fd, path, &text, NULL);
	end = strbuf_str(&text) + text.len;
	for (at = strbuf_str(&text); at < end; at += strlen(at) + 1)
		if (strncmp(at, option, sizeof(option) - 1) == 0)
			ray_logs_set_dir(c->logs, at + sizeof(option) - 1);
}

static void look_at_raylet(struct child *c, pid_t raylet)
{
	struct answer a = { .kind = ANSWER_NODE };

	if (!ray_node_read_raylet(&c->node, c->root_fd, raylet))
		return;
	find_logs(c, raylet);
	a.node = c->node;
	tell(c, &a, -1);
}

/* Memory and raylet are read first, because they are on the kernel's own filesystems. */
static void answer(struct child *c, const struct question *q)
{
	c->now_ns = q->now_ns;
	c->lookups = 0;
	if (!q->finish) {
		tell_shm(c);
		look_at_raylet(c, q->raylet);
	}
	if (q->finish)
		ray_logs_finish(c->logs, q->now_ns, on_event, c);
	else
		ray_logs_poll(c->logs, q->now_ns, on_event, c);
	tell_directory(c, &(struct answer){ .kind = ANSWER_LOGS }, ray_logs_dir(c->logs),
		       &c->logs_st);
	tell(c, &(struct answer){ .kind = ANSWER_OVER }, -1);
}

/*
 * The child lives as long as its container, so it must not keep the descriptors of other containers
 * open.
 */
static void close_all_but(int *first, int *second)
{
	const int above = MAX(*first, *second) + 1;

	*first = fcntl(*first, F_DUPFD_CLOEXEC, above);
	*second = fcntl(*second, F_DUPFD_CLOEXEC, above);
	if (*first < 0 || *second < 0)
		_exit(1);
	close_range(STDERR_FILENO + 1, (unsigned int)MIN(*first, *second) - 1, 0);
	close_range((unsigned int)MAX(*first, *second) + 1, ~0u, 0);
}

static void run(int fd, void *arg)
{
	const struct ray_follower *f = arg;
	struct child c = { .fd = fd, .root_fd = f->root_fd, .node = RAY_NODE_UNKNOWN };
	struct question q;

	close_all_but(&c.fd, &c.root_fd);
	c.logs = ray_logs_new(c.root_fd);
	while (c.logs && errand_receive(c.fd, &q, sizeof(q)) == sizeof(q))
		answer(&c, &q);
}

/* --- The parent --- */

void ray_follower_init(struct ray_follower *f, int root_fd, ray_finding_fn on_finding, void *arg)
{
	*f = (struct ray_follower){ .root_fd = root_fd,
				    .on_finding = on_finding,
				    .arg = arg,
				    .logs_fd = -1,
				    .shm_fd = -1,
				    .child = ERRAND_NONE,
				    .node = RAY_NODE_UNKNOWN };
	errand_start(&f->child, run, f, NULL);
}

void ray_follower_close(struct ray_follower *f)
{
	errand_cancel(&f->child);
	closep(&f->logs_fd);
	closep(&f->shm_fd);
}

static void replace(int *fd, int with)
{
	closep(fd);
	*fd = with;
}

static void on_answer(const void *data, size_t len, int *passed_fd, void *arg)
{
	struct ray_follower *f = arg;
	struct answer a;

	if (len != sizeof(a))
		return;
	memcpy(&a, data, sizeof(a));
	f->heard_ns = MAX(f->heard_ns, f->now_ns);
	if (a.kind == ANSWER_LOGS)
		replace(&f->logs_fd, TAKE_FD(*passed_fd));
	else if (a.kind == ANSWER_SHM)
		replace(&f->shm_fd, TAKE_FD(*passed_fd));
	else if (a.kind == ANSWER_NODE)
		f->node = a.node;
	else if (a.kind == ANSWER_FINDING)
		f->on_finding(&a.finding, f->arg);
	else
		f->asked = false;
}

/* Takes what the child has sent. */
static void follower_listen(struct ray_follower *f, int64_t now_ns)
{
	f->now_ns = now_ns;
	if (f->asked && errand_listen(&f->child, on_answer, f))
		f->asked = false;
	f->late = f->asked && now_ns - MAX(f->asked_ns, f->heard_ns) >= HANGS_NS;
}

static void follower_ask(struct ray_follower *f, const struct question *q)
{
	if (!errand_busy(&f->child) && q->now_ns - f->asked_ns >= AGAIN_NS)
		errand_start(&f->child, run, f, NULL);
	if (!f->child.pid || !errand_send(f->child.fd, q, sizeof(*q), -1))
		return;
	f->asked = true;
	f->asked_ns = q->now_ns;
}

void ray_follower_poll(struct ray_follower *f, pid_t raylet, int64_t now_ns)
{
	follower_listen(f, now_ns);
	if (!f->asked && (!f->asked_ns || now_ns - f->asked_ns >= ASK_NS))
		follower_ask(f, &(struct question){ .now_ns = now_ns, .raylet = raylet });
}

bool ray_follower_finish(struct ray_follower *f, int64_t now_ns)
{
	follower_listen(f, now_ns);
	if (!f->asked && !f->finishing) {
		f->finishing = true;
		follower_ask(f, &(struct question){ .now_ns = now_ns, .finish = true });
	}
	return !f->asked;
}
