/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports the ends of Ray's own processes while the container lives on. An end that leads to the
 * container's end is part of the container's report. But raylet or the GCS server may also exit in
 * an orderly way while the container lives on: because an agent of raylet was killed, or because of
 * `ray stop`. Without this report, users see that only when a probe fails, minutes later.
 */
#include <stdio.h>
#include <sys/wait.h>

#include "lib/units.h"
#include "sidecar/ending/life.h"
#include "sidecar/record/container_internal.h"
#include "sidecar/verdict/stop_request.h"

/* If `ray start` ends the container because of this, it does so within this time */
#define SETTLED_NS (5 * NS_PER_SEC)
/*
 * `ray start --block` that has seen the end first stops the other processes, one after the other.
 * The end of the container then has the only report; one that runs on for this long may have been
 * started without --block.
 */
#define START_STOPS_NS (10 * NS_PER_SEC)
/* If raylet ends, the GCS server follows after a minute, and the reverse; `ray stop` ends both. */
#define FOLLOWS_NS (90 * NS_PER_SEC)
/*
 * After an orderly end, the container may end within its grace period, or Ray may be started anew.
 */
#define STOPPED_NS (30 * NS_PER_SEC)

/* Of workers it is not kept that the launcher does not watch them. */
static void watch_order(pid_t pid, unsigned long long start, void *arg)
{
	struct container *c = arg;
	char text[48];

	snprintf(text, sizeof(text), "%d %llu", (int)pid, start);
	if (launch_send(c->fd, "watch", text, NULL) < 0)
		process_watch_set_unwatched(&c->observer.processes, pid);
}

void container_ray_message(struct container *c, const struct launch_message *m)
{
	int64_t now = now_boottime_ns();
	/* An impossible time is forged or wrong. Our own time is right to a millisecond. */
	int64_t ended_ns =
		m->ended_ns > c->hello.started_ns && m->ended_ns <= now ? m->ended_ns : now;

	if (m->verb == LAUNCH_UNWATCHED)
		process_watch_set_unwatched(&c->observer.processes, m->process);
	else {
		process_watch_ended(&c->observer.processes, m->process, m->status_known,
				    m->wait_status, ended_ns);
		worker_watch_ended(&c->observer.workers, m->process, m->status_known,
				   m->wait_status, ended_ns);
	}
	/*
	 * This may be the last that we learn before the next sidecar has to explain the container's
	 * end.
	 */
	life_note(&c->observer);
}

/*
 * Returns whether the container is useless without the process. The other processes end the
 * container, or it works without them.
 */
static bool is_vital(const struct ray_process_end *end)
{
	return end->kind == RAY_PROCESS_RAYLET || end->kind == RAY_PROCESS_GCS_SERVER;
}

static bool has_failed(const struct ray_process_end *end)
{
	return end->status_known && !ray_process_ended_in_order(end->wait_status);
}

/*
 * Returns whether the end is that of a job that failed: its driver or supervisor was killed, or
 * exited with a code other than 0.
 */
static bool is_of_failed_job(const struct ray_process_end *end)
{
	return end->kind == RAY_PROCESS_DRIVER && has_failed(end);
}

static bool has_words_of_agent(const struct container *c, const struct ray_process_end *end)
{
	const struct ray_process_words *w = ray_watch_process_words(c->observer.ray);

	return w && w->agent_failed.at_ns >= end->ended_ns - NS_PER_SEC;
}

static bool is_due(const struct container *c, const struct ray_process_end *end, int64_t now_ns)
{
	const struct process_watch *w = &c->observer.processes;
	bool raylet_lives =
		end->kind != RAY_PROCESS_GCS_SERVER && process_watch_lives(w, RAY_PROCESS_RAYLET);

	if (is_of_failed_job(end))
		return now_ns - end->ended_ns >= SETTLED_NS;
	if (end->status_known && !has_failed(end) && !has_words_of_agent(c, end))
		return now_ns - end->ended_ns >= STOPPED_NS;
	/* Where all of Ray is being stopped, that raylet ends in this time, too. */
	return now_ns - end->ended_ns >=
	       (raylet_lives || process_watch_lives(w, RAY_PROCESS_START) ? START_STOPS_NS :
									    SETTLED_NS);
}

/*
 * Who stops Ray kills a raylet that takes longer than a second, but that raylet has logged the
 * request. Of several that are stopped together, the last request is known.
 */
static bool was_asked_to_stop(const struct container *c, const struct ray_process_end *raylet)
{
	const struct process_watch *w = &c->observer.processes;
	const struct ray_process_words *words = ray_watch_process_words(c->observer.ray);
	const struct ray_process_end *e = w->ends;

	while (words && e < w->ends + w->n_ends &&
	       (e->kind != RAY_PROCESS_RAYLET || e->pid != words->stopped.pid))
		e++;
	return words &&
	       (words->stopped.pid == raylet->pid ||
		(e < w->ends + w->n_ends && llabs(e->ended_ns - raylet->ended_ns) <= STOPPED_NS));
}

bool container_failed_before_stop(const struct container *c, const struct ray_process_end *end)
{
	const struct process_watch *w = &c->observer.processes;

	if (end->kind != RAY_PROCESS_RAYLET || !has_failed(end) || was_asked_to_stop(c, end))
		return false;
	/* The launcher may have seen both at once. */
	for (const struct ray_process_end *e = w->ends; e < w->ends + w->n_ends; e++)
		if (e->kind == RAY_PROCESS_GCS_SERVER && e->ended_ns > end->ended_ns - NS_PER_SEC)
			return e->status_known && ray_process_ended_in_order(e->wait_status);
	return false;
}

/*
 * Returns whether something that still runs needs the process, or Ray goes on without it. When a
 * driver that started Ray itself ends, all of Ray ends; after `ray stop` a driver may start Ray
 * again.
 */
static bool is_missed(const struct container *c, const struct ray_process_end *end)
{
	const struct process_watch *w = &c->observer.processes;

	if (is_of_failed_job(end))
		return true;
	if (w->vital_ns && end->ended_ns - w->vital_ns <= FOLLOWS_NS)
		return false;
	/* Several nodes of a test may run here, each with a raylet. */
	if (ray_process_is_of_start(end->kind) &&
	    (!is_vital(end) || process_watch_lives(w, end->kind)))
		return has_failed(end) && process_watch_goes_on(w, end);
	/* No command ends because of it where Ray was left behind. */
	return is_vital(end) && !process_watch_lives(w, end->kind) &&
	       (process_watch_any_lives(w) || (c->options->left_behind && has_failed(end)) ||
		container_failed_before_stop(c, end));
}

/* Returns the core of the process, or that of the agent with which it ended. */
static struct crash *core_of(struct container *c, const struct ray_process_end *end)
{
	const struct process_watch *w = &c->observer.processes;
	struct crash *crash = container_crash_of_process(c, end->pid);

	for (const struct ray_process_end *e = w->ends; !crash && e < w->ends + w->n_ends; e++)
		if (end->kind == RAY_PROCESS_RAYLET && ray_process_is_agent(e->kind) &&
		    end->ended_ns - e->ended_ns <= SETTLED_NS)
			crash = container_crash_of_process(c, e->pid);
	if (!crash && end->kind == RAY_PROCESS_RAYLET && has_words_of_agent(c, end))
		crash = container_crash_of_comm(
			c, ray_watch_process_words(c->observer.ray)->agent_failed.process);
	return crash;
}

static void ray_end_report(struct container *c, const struct ray_process_end *end)
{
	struct ending e = {
		.ended_ns = end->ended_ns,
		.process = end,
		.process_oom_ns = MAX(c->observer.process_oom_ns, c->observer.oom_seen_ns),
	};

	container_report_process(c, &e, core_of(c, end), "process-ended");
}

static const struct ray_process_end *next_unreported(const struct container *c)
{
	const struct process_watch *w = &c->observer.processes;

	for (size_t i = 0; i < w->n_ends; i++)
		if (w->ends[i].ended_ns > w->reported_ns)
			return &w->ends[i];
	return NULL;
}

/*
 * Returns whether the end is part of the container's, which is stopping. That of a job that had
 * failed before is not: KubeRay stops the pods some seconds after it.
 */
static bool is_part_of_stop(const struct container *c, const struct ray_process_end *end,
			    int64_t now_ns)
{
	int64_t at_ns = is_of_failed_job(end) ? end->ended_ns : now_ns;

	return (c->terminating_ns && at_ns >= c->terminating_ns) ||
	       stop_request_explains(&c->asked, at_ns);
}

void container_ray_due(struct container *c, int64_t now_ns)
{
	struct observer *o = &c->observer;
	const struct ray_process_end *end;

	process_watch_look(&o->processes, o->root_fd, o->table, o->swept_ns, watch_order, c);
	worker_watch_look(&o->workers, o->root_fd, o->table, o->command, o->swept_ns, watch_order,
			  c);
	while ((!container_is_over(c) || c->succeeded) && (end = next_unreported(c)) &&
	       !is_part_of_stop(c, end, now_ns)) {
		bool missed =
			c->succeeded ? container_failed_before_stop(c, end) : is_missed(c, end);

		if (missed && !c->succeeded && !is_due(c, end, now_ns))
			return;
		o->processes.reported_ns = end->ended_ns;
		o->processes.vital_ns =
			missed && is_vital(end) ? end->ended_ns : o->processes.vital_ns;
		if (missed)
			ray_end_report(c, end);
	}
	/*
	 * The launcher ends, and this container with it. Before that, it says how each process
	 * ended that is missing.
	 */
	if (c->options->left_behind && o->swept_ns && !o->processes.n)
		launch_send(c->fd, "done", NULL, NULL);
}
