/* SPDX-License-Identifier: Apache-2.0 */
/* Finds Ray's own processes in a container, and keeps what is known of their ends. */
#include "sidecar/watch/process_watch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/units.h"
#include "sidecar/sample/components.h"
#include "sidecar/sample/proc_parse.h"
#include "sidecar/sample/proc_stat.h"
#include "sidecar/socket/channel.h"

/* A launcher reports a process that is gone within this time, or never. */
#define REPORTED_WITHIN_NS (2 * NS_PER_SEC)
/* Of supervisors and drivers together; the other places are for the processes of the node. */
#define JOBS_MAX 12
#define STOPS_WITHIN_NS \
	(10 * NS_PER_SEC) /* when Ray is stopped, between the ends of its processes */
#define ANCESTORS_MAX 3 /* how far a driver is from its job's supervisor: a shell is between them */

static struct watched_ray_process *find(struct process_watch *w, pid_t pid)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->list[i].pid == pid)
			return &w->list[i];
	return NULL;
}

static void forget(struct process_watch *w, struct watched_ray_process *p)
{
	*p = w->list[--w->n];
}

/* --- Ends --- */

/* When the list is full, the oldest end is dropped. */
static void add_end(struct process_watch *w, const struct ray_process_end *end)
{
	size_t at;

	if (w->n_ends == PROCESS_ENDS_MAX)
		memmove(w->ends, w->ends + 1, --w->n_ends * sizeof(w->ends[0]));
	for (at = w->n_ends; at > 0 && w->ends[at - 1].ended_ns > end->ended_ns; at--)
		w->ends[at] = w->ends[at - 1];
	w->ends[at] = *end;
	w->n_ends++;
}

/* Returns the start as CLOCK_BOOTTIME; 0 if /proc shows a time that no kernel can. */
static int64_t start_ns(const struct watched_ray_process *p)
{
	int64_t tick_ns = NS_PER_SEC / sysconf(_SC_CLK_TCK);

	return p->start < (unsigned long long)(INT64_MAX / tick_ns) ? (int64_t)p->start * tick_ns :
								      0;
}

static void end_of(struct process_watch *w, struct watched_ray_process *p, bool status_known,
		   int wait_status, int64_t ended_ns)
{
	const struct ray_process_end end = {
		.kind = p->kind,
		.pid = p->pid,
		.status_known = status_known,
		.wait_status = status_known ? wait_status : 0,
		.started_ns = start_ns(p),
		.ended_ns = ended_ns,
	};

	if (p->kind != RAY_PROCESS_NONE)
		add_end(w, &end);
	forget(w, p);
}

void process_watch_ended(struct process_watch *w, pid_t pid, bool status_known, int wait_status,
			 int64_t ended_ns)
{
	struct watched_ray_process *p = find(w, pid);

	if (p)
		end_of(w, p, status_known, wait_status, ended_ns);
}

void process_watch_set_unwatched(struct process_watch *w, pid_t pid)
{
	struct watched_ray_process *p = find(w, pid);

	if (p)
		p->unwatched = true;
}

static void miss(struct process_watch *w, int64_t now_ns)
{
	for (size_t i = w->n; i > 0; i--) {
		struct watched_ray_process *p = &w->list[i - 1];

		if (p->seen) {
			p->seen = false;
			p->gone_ns = 0;
			continue;
		}
		if (!p->gone_ns)
			p->gone_ns = now_ns;
		if (p->unwatched || p->kind == RAY_PROCESS_NONE ||
		    now_ns - p->gone_ns >= REPORTED_WITHIN_NS)
			end_of(w, p, false, 0, p->gone_ns);
	}
}

void process_watch_finish(struct process_watch *w)
{
	for (size_t i = w->n; i > 0; i--)
		if (w->list[i - 1].gone_ns)
			end_of(w, &w->list[i - 1], false, 0, w->list[i - 1].gone_ns);
}

/* --- New processes --- */

struct look {
	struct process_watch *w;
	int root_fd;
	process_watch_order_fn order;
	void *arg;
	size_t jobs; /* places in use by supervisors and drivers */
};

static bool read_stat(int root_fd, pid_t pid, pid_t *ret_parent, unsigned long long *ret_start)
{
	char text[PROC_STAT_MAX], name[PROCESS_NAME_MAX];

	return proc_stat_read(root_fd, pid, text) && proc_parse_stat(text, ret_parent, name) &&
	       proc_parse_start(text, ret_start);
}

static bool is_of_job(const struct look *l, pid_t parent)
{
	unsigned long long start;

	for (int i = 0; i < ANCESTORS_MAX && parent > 1; i++) {
		const struct watched_ray_process *p = find(l->w, parent);

		if (p && p->kind == RAY_PROCESS_JOB_SUPERVISOR)
			return true;
		if (p || !read_stat(l->root_fd, parent, &parent, &start))
			return false;
	}
	return false;
}

/*
 * Drivers are looked for only where there is a supervisor of a job, because most containers have
 * none and there are many Python programs.
 */
static bool may_be_driver(const struct look *l, const struct process *p)
{
	char label[PROCESS_NAME_MAX];

	return process_watch_lives(l->w, RAY_PROCESS_JOB_SUPERVISOR) &&
	       component_of(p->name, p->command, label) == COMPONENT_DRIVER;
}

static bool is_of_job_kind(enum ray_process_kind kind)
{
	return kind == RAY_PROCESS_JOB_SUPERVISOR || kind == RAY_PROCESS_DRIVER;
}

/* `looks` is the kind by the command line. For a driver it only says that it may be one. */
static void take(struct look *l, const struct process *p, enum ray_process_kind looks)
{
	struct process_watch *w = l->w;
	struct watched_ray_process new = {
		.pid = p->pid, .kind = looks, .looks = looks, .seen = true
	};
	pid_t ppid;

	if (w->n == PROCESS_WATCH_MAX || (is_of_job_kind(looks) && l->jobs >= JOBS_MAX) ||
	    !read_stat(l->root_fd, p->pid, &ppid, &new.start) ||
	    (looks == RAY_PROCESS_DRIVER && !is_of_job(l, ppid)))
		return;
	const struct watched_ray_process *parent = find(w, ppid);
	if (parent && parent->looks == looks)
		new.kind = RAY_PROCESS_NONE;
	l->jobs += is_of_job_kind(new.kind);
	w->list[w->n++] = new;
	if (new.kind != RAY_PROCESS_NONE)
		l->order(new.pid, new.start, l->arg);
}

static void look_at(const struct process *p, void *arg)
{
	struct look *l = arg;
	struct watched_ray_process *known = find(l->w, p->pid);
	enum ray_process_kind looks = ray_process_of(p->name, p->command);

	if (looks == RAY_PROCESS_NONE && may_be_driver(l, p))
		looks = RAY_PROCESS_DRIVER;
	/*
	 * While it ends, it has no command line any more; nor has one whose name was not read yet.
	 */
	if (known && (known->looks == looks || !p->command[0])) {
		known->seen = true;
		return;
	}
	/* It runs another program by now: when it was first seen, it had just been forked. */
	if (known)
		forget(l->w, known);
	if (looks != RAY_PROCESS_NONE)
		take(l, p, looks);
}

void process_watch_look(struct process_watch *w, int root_fd, const struct process_table *t,
			int64_t swept_ns, process_watch_order_fn order, void *arg)
{
	struct look l = { w, root_fd, order, arg, 0 };

	if (!t || swept_ns == w->looked_ns)
		return;
	w->looked_ns = swept_ns;
	for (size_t i = 0; i < w->n; i++)
		l.jobs += is_of_job_kind(w->list[i].kind);
	process_table_each(t, look_at, &l);
	miss(w, swept_ns);
}

bool process_watch_lives(const struct process_watch *w, enum ray_process_kind kind)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->list[i].kind == kind && !w->list[i].gone_ns)
			return true;
	return false;
}

bool process_watch_lived_until(const struct process_watch *w, enum ray_process_kind kind,
			       int64_t ended_ns)
{
	for (size_t i = 0; i < w->n_ends; i++)
		if (w->ends[i].kind == kind && ended_ns - w->ends[i].ended_ns <= NS_PER_SEC)
			return true;
	return process_watch_lives(w, kind);
}

bool process_watch_goes_on(const struct process_watch *w, const struct ray_process_end *end)
{
	bool lives = false;

	for (const struct ray_process_end *e = w->ends; e < w->ends + w->n_ends; e++)
		if (e->kind == RAY_PROCESS_GCS_SERVER &&
		    llabs(e->ended_ns - end->ended_ns) <= STOPS_WITHIN_NS)
			return false;
	for (const struct watched_ray_process *p = w->list; p < w->list + w->n; p++)
		lives |=
			p->kind == RAY_PROCESS_RAYLET && !p->gone_ns && start_ns(p) < end->ended_ns;
	return lives && !process_watch_lives(w, RAY_PROCESS_START);
}

bool process_watch_any_lives(const struct process_watch *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (!w->list[i].gone_ns && (w->list[i].kind == RAY_PROCESS_START ||
					    ray_process_is_of_start(w->list[i].kind)))
			return true;
	return false;
}

void process_watch_add_survivors(const struct process_watch *w, int root_fd, struct strbuf *out)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct watched_ray_process *p = &w->list[i];
		unsigned long long start;
		pid_t parent;

		if ((p->kind == RAY_PROCESS_RAYLET || p->kind == RAY_PROCESS_GCS_SERVER) &&
		    !p->gone_ns && read_stat(root_fd, p->pid, &parent, &start) && start == p->start)
			strbuf_addf(out, "%s%s (PID %d)", out->len ? ", " : "",
				    ray_process_title(p->kind), (int)p->pid);
	}
}

/* --- The history --- */

_Static_assert(PROCESS_WATCH_MAX == LIFE_RAY_WATCHED_MAX && PROCESS_ENDS_MAX == LIFE_RAY_ENDS_MAX,
	       "all of them have room there");

void process_watch_save(const struct process_watch *w, struct life_ray *r)
{
	/*
	 * Entries beyond n stay as they were, because bytes that do not change need not be written.
	 */
	r->n_watched = (int32_t)w->n;
	r->n_ends = (int32_t)w->n_ends;
	r->reported_ns = w->reported_ns;
	r->vital_ns = w->vital_ns;
	for (size_t i = 0; i < w->n; i++) {
		const struct watched_ray_process *p = &w->list[i];

		r->watched[i].start = p->start;
		r->watched[i].gone_ns = p->gone_ns;
		r->watched[i].pid = p->pid;
		r->watched[i].kind = p->kind;
		r->watched[i].looks = p->looks;
		r->watched[i].unwatched = p->unwatched;
	}
	for (size_t i = 0; i < w->n_ends; i++) {
		const struct ray_process_end *e = &w->ends[i];

		r->ends[i].ended_ns = e->ended_ns;
		r->ends[i].pid = e->pid;
		r->ends[i].kind = e->kind;
		r->ends[i].status_known = e->status_known;
		r->ends[i].wait_status = e->wait_status;
	}
}

static bool is_kind(int32_t kind)
{
	return kind >= RAY_PROCESS_NONE && kind < RAY_PROCESS_KINDS;
}

void process_watch_restore(struct process_watch *w, const struct life_ray *r)
{
	*w = (struct process_watch){ .reported_ns = r->reported_ns, .vital_ns = r->vital_ns };
	for (int32_t i = 0; i < r->n_watched; i++)
		if (r->watched[i].pid > 0 && is_kind(r->watched[i].kind) &&
		    is_kind(r->watched[i].looks))
			w->list[w->n++] = (struct watched_ray_process){
				.pid = r->watched[i].pid,
				.start = r->watched[i].start,
				.kind = (enum ray_process_kind)r->watched[i].kind,
				.looks = (enum ray_process_kind)r->watched[i].looks,
				.unwatched = r->watched[i].unwatched != 0,
				.gone_ns = r->watched[i].gone_ns,
			};
	for (int32_t i = 0; i < r->n_ends; i++)
		if (r->ends[i].kind != RAY_PROCESS_NONE && is_kind(r->ends[i].kind) &&
		    wait_status_is_end(r->ends[i].wait_status))
			add_end(w, &(struct ray_process_end){
					   .kind = (enum ray_process_kind)r->ends[i].kind,
					   .pid = r->ends[i].pid,
					   .status_known = r->ends[i].status_known != 0,
					   .wait_status = r->ends[i].wait_status,
					   .ended_ns = r->ends[i].ended_ns,
				   });
}
