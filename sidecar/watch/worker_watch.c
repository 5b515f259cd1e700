/* SPDX-License-Identifier: Apache-2.0 */
/* Finds Ray's workers and other programs in a container, and keeps how the latest of them ended. */
#include "sidecar/watch/worker_watch.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/units.h"
#include "sidecar/sample/components.h"
#include "sidecar/sample/proc_parse.h"
#include "sidecar/sample/proc_stat.h"

#define LAUNCHER_COMM "afterglow-launc" /* as much of it as the kernel keeps */
/* A launcher reports a process that is gone within this time, or never. */
#define REPORTED_WITHIN_NS (2 * NS_PER_SEC)
/* Raylet notices and logs a worker's end within this time, and the log is read a second later. */
#define LOGGED_WITHIN_NS (60 * NS_PER_SEC)

_Static_assert(WORKER_WATCH_MAX + PROCESS_WATCH_MAX <= LAUNCH_WATCHED_MAX,
	       "the launcher has places for all of them");

static struct watched_worker *worker_find(struct worker_watch *w, pid_t pid)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->list[i].pid == pid)
			return &w->list[i];
	return NULL;
}

static void worker_forget(struct worker_watch *w, struct watched_worker *p)
{
	*p = w->list[--w->n];
}

/*
 * Returns whether a program that got that signal may have failed by it; what asks it to end is no
 * failure.
 */
static bool is_telling(int status)
{
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	return signal && !IS_ONE_OF(signal, SIGTERM, SIGINT, SIGHUP, SIGPIPE);
}

void worker_watch_ended(struct worker_watch *w, pid_t pid, bool status_known, int wait_status,
			int64_t ended_ns)
{
	struct watched_worker *p = worker_find(w, pid);
	struct watched_end *end;

	if (p && !p->worker && status_known && !is_telling(wait_status))
		return;
	end = p && !p->worker && !status_known ? &w->unread :
						 &w->ends[w->n_ends++ % WORKER_ENDS_MAX];
	*end = (struct watched_end){
		.pid = pid,
		.status_known = status_known,
		.wait_status = status_known ? wait_status : 0,
		.ended_ns = ended_ns,
		.worker = p && p->worker,
	};
	if (p)
		memcpy(end->name, p->name, sizeof(end->name));
	if (end->worker)
		worker_forget(w, p);
}

const struct watched_end *worker_watch_end_of(const struct worker_watch *w, pid_t pid,
					      int64_t at_ns)
{
	const struct watched_end *nearest = NULL;

	for (size_t i = 0; i < WORKER_ENDS_MAX; i++) {
		const struct watched_end *e = &w->ends[i];

		if (pid <= 0 || e->pid != pid || llabs(at_ns - e->ended_ns) > LOGGED_WITHIN_NS)
			continue;
		if (!nearest || llabs(at_ns - e->ended_ns) < llabs(at_ns - nearest->ended_ns))
			nearest = e;
	}
	return nearest;
}

/* --- New processes --- */

struct worker_look {
	struct worker_watch *w;
	int root_fd;
	pid_t command;
	process_watch_order_fn order;
	void *arg;
	size_t others; /* places in use by them */
};

static bool is_worker(const struct process *p)
{
	char label[PROCESS_NAME_MAX];
	enum component_kind kind = component_of(p->name, p->command, label);

	/*
	 * A name that was not read yet is the kernel's, which is cut. Until it sets its title, a
	 * worker has its script's name.
	 */
	return ((kind == COMPONENT_TASK || kind == COMPONENT_IDLE) &&
		ray_process_of_comm(p->name) == RAY_PROCESS_NONE) ||
	       strstr(p->command, "/ray/_private/workers/default_worker.py");
}

/*
 * Returns whether it is neither a worker nor watched by others: Ray's own process, the command, or
 * our launcher.
 */
static bool is_other(const struct worker_look *l, const struct process *p)
{
	return p->pid != l->command && ray_process_of(p->name, p->command) == RAY_PROCESS_NONE &&
	       ray_process_of_comm(p->name) == RAY_PROCESS_NONE &&
	       strncmp(p->name, LAUNCHER_COMM, strlen(LAUNCHER_COMM)) != 0;
}

static void known_worker_look_at(struct watched_worker *known, const struct process *p)
{
	known->seen = true;
	if (strcmp(known->name, p->name) == 0)
		return;
	memcpy(known->name, p->name, sizeof(known->name));
	known->worker = is_worker(p);
}

static void worker_look_at(const struct process *p, void *arg)
{
	struct worker_look *l = arg;
	struct watched_worker *known = worker_find(l->w, p->pid),
			      new = { .pid = p->pid, .seen = true, .worker = is_worker(p) };
	char text[PROC_STAT_MAX];

	if (known) {
		known_worker_look_at(known, p);
		return;
	}
	if (!new.worker && (l->others >= OTHERS_MAX || !is_other(l, p)))
		return;
	if (l->w->n == WORKER_WATCH_MAX || !proc_stat_read(l->root_fd, p->pid, text) ||
	    !proc_parse_start(text, &new.start))
		return;
	l->others += !new.worker;
	memcpy(new.name, p->name, sizeof(new.name));
	l->w->list[l->w->n++] = new;
	l->order(new.pid, new.start, l->arg);
}

/*
 * Forgets processes that are gone: workers of whose end the launcher says nothing, and all others.
 */
static void workers_miss(struct worker_watch *w, int64_t now_ns)
{
	for (size_t i = w->n; i > 0; i--) {
		struct watched_worker *p = &w->list[i - 1];

		if (p->seen) {
			p->seen = false;
			p->gone_ns = 0;
		} else if (!p->gone_ns)
			p->gone_ns = now_ns;
		else if (now_ns - p->gone_ns >= REPORTED_WITHIN_NS)
			worker_forget(w, p);
	}
}

void worker_watch_look(struct worker_watch *w, int root_fd, const struct process_table *t,
		       pid_t command, int64_t swept_ns, process_watch_order_fn order, void *arg)
{
	struct worker_look l = { w, root_fd, command, order, arg, 0 };

	if (!t || swept_ns == w->looked_ns)
		return;
	w->looked_ns = swept_ns;
	for (size_t i = 0; i < w->n; i++)
		l.others += !w->list[i].worker;
	process_table_each(t, worker_look_at, &l);
	workers_miss(w, swept_ns);
}
