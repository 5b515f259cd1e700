/* SPDX-License-Identifier: Apache-2.0 */
/* Samples a container when its timer is due, and when its memory cgroup reports an event. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/ending/life.h"
#include "sidecar/record/container_internal.h"
#include "sidecar/report/report_json.h"
#include "sidecar/verdict/oom_cause.h"
#include "sidecar/verdict/watched_ends.h"

/* A container that is alive so long after an OOM kill lives on. */
#define OOM_SETTLED_NS (5 * NS_PER_SEC)
#define DYING_LOOK_NS \
	(50 * NS_PER_MS) /* between two looks at the counters of a command that dies */

/* --- Findings in Ray's logs --- */

static void on_node_lost(const struct ray_finding *finding, void *arg)
{
	const struct container *c = arg;
	cJSON *fields = cJSON_CreateObject();

	json_set_str(fields, "log", finding->file);
	json_set_str(fields, "detail", finding->event.detail);
	container_emit(c, "node-lost", fields);
}

void container_tell_workers(const struct ray_summary *s, void *arg)
{
	struct container *c = arg;
	char text[320], line[352];

	ray_summary_format(s, c->options->id.pod, text, sizeof(text));
	container_emit(c, "workers", report_json_of_workers(s, text));
	snprintf(line, sizeof(line), "[afterglow] %s\n", text);
	container_say(c, line);
}

static void on_ray_answer(evutil_socket_t, short, void *arg);

/*
 * Takes what Ray's logs have shown and asks for more. The answer is taken when it comes, because
 * after two more samples nothing would show the memory of who has died.
 */
static void container_poll_ray(struct container *c, int64_t now_ns)
{
	event_drop(TAKE_PTR(c->ray_answer));
	int fd = ray_watch_poll(c->observer.ray, &c->observer.last, now_ns,
				&(struct ray_watch_callbacks){
					.died = container_worker_died,
					.node_lost = on_node_lost,
					.summary = container_tell_workers,
					.kills_are_shared = c->observer.cgroup_shared,
					.workers = &c->observer.workers,
					.arg = c,
				});
	if (fd < 0)
		return;
	c->ray_answer = event_new(c->base, fd, EV_READ, on_ray_answer, c);
	if (c->ray_answer)
		event_add(c->ray_answer, NULL);
}

static void on_ray_answer(evutil_socket_t, short, void *arg)
{
	struct container *c = arg;

	if (c->state == CONTAINER_RUNNING && !c->publications)
		container_poll_ray(c, now_boottime_ns());
}

/* --- Sampling --- */

static void look_after(struct container *c, int64_t delay_ns)
{
	event_add(c->timer, &(struct timeval){ .tv_sec = delay_ns / NS_PER_SEC,
					       .tv_usec = delay_ns % NS_PER_SEC / 1000 });
}

/*
 * Reads the pending events. The kernel merges unread events of one kind, so there is one at most,
 * and perhaps the end of the watch.
 */
static void forget_memory_events(int fd)
{
	char buf[2 * (sizeof(struct inotify_event) + NAME_MAX + 1)]
		__attribute__((aligned(__alignof__(struct inotify_event))));

	while (read(fd, buf, sizeof(buf)) < 0 && errno == EINTR)
		;
}

/*
 * Returns whether the limit of a cgroup below was met and a process there was killed. Its limit may
 * have been met by memory that could be freed, earlier than the container's own limit.
 */
static bool killed_below(const struct observer *o)
{
	const struct memcg_node *node = memcg_tree_ran_out(&o->cgroups.tree);
	int64_t own_limit = o->latest.own_limit > 0 ? o->latest.own_limit : o->latest.limit;

	return node && (memcg_tree_was_full(node) || !oom_peak_met(o->latest.peak, own_limit));
}

/*
 * Returns whether we have to end the rest of the container, because v1 has no memory.oom.group. As
 * with memory.oom.group, a kill at the limit of a cgroup below ends nobody else. In a cgroup that
 * others share the victim may be another container's. Each kill is decided once, in the sample that
 * shows it.
 */
static bool ends_the_group(struct container *c)
{
	const struct observer *o = &c->observer;

	if (!c->options->oom_group || o->memcg.version != 1 || o->cgroup_shared ||
	    c->group_ended_by_us || o->oom_last_ns == c->group_spared_ns)
		return false;
	if (!killed_below(o))
		return true;
	c->group_spared_ns = o->oom_last_ns;
	return false;
}

/* In a cgroup that others share, only the end of a process shows that it was the victim. */
static bool oom_is_settled(const struct container *c, int64_t now_ns)
{
	const struct observer *o = &c->observer;
	int64_t age_ns = now_ns - o->oom_seen_ns;

	return age_ns >= OOM_SETTLED_NS &&
	       (!o->cgroup_shared || age_ns >= OOM_DIES_WITHIN_NS ||
		watched_ends_killed_at(o->workers.ends, WORKER_ENDS_MAX, o->oom_seen_ns));
}

/* Takes a sample if it is due, and does nothing else. Returns the ns until the next. */
static int64_t sample_alone(struct container *c, int64_t now_ns)
{
	struct observer *o = &c->observer;

	if (now_ns - o->latest_ns < o->delay_ns)
		return o->delay_ns - (now_ns - o->latest_ns);
	/*
	 * The end has not been processed yet. A sample of the dying container would look like the
	 * last one before the death.
	 */
	if (observer_command_dies(o)) {
		container_read_counters(c, &c->at_eof, &c->at_eof_known);
		return DYING_LOOK_NS;
	}
	observer_sample(o, now_ns);
	life_note(o);
	return o->delay_ns;
}

void container_sample(struct container *c)
{
	int64_t now = now_boottime_ns();

	/* An ended container may still exist, because of its cores. */
	if (c->state != CONTAINER_RUNNING)
		return;
	/*
	 * The counters show what has happened so far, so pending events are dropped; later events
	 * are news.
	 */
	if (c->modified) {
		forget_memory_events(c->inotify_fd);
		event_add(c->modified, NULL);
	}
	/* What may be reported waits, because the history tells of one report at a time. */
	if (c->publications) {
		look_after(c, sample_alone(c, now));
		return;
	}
	look_after(c, observer_sample(&c->observer, now));
	life_note(&c->observer);
	container_check_threshold(c, now);
	container_check_request(c, now);
	container_check_stop(c, now);
	container_check_driver(c, now);
	container_check_probe(c, now);
	container_check_spill(c, now);
	container_check_growth(c, now);
	container_poll_ray(c, now);
	container_ray_due(c, now);
	container_crashes_due(c, now);
	container_workers_due(c, now);
	container_children_due(c, now);
	if (!c->observer.oom_seen_ns)
		return;
	if (ends_the_group(c)) {
		c->group_ended_by_us = c->observer.others_end = true;
		launch_send(c->fd, "kill", NULL, NULL);
	} else if (oom_is_settled(c, now) && !observer_command_dies(&c->observer))
		container_process_died(c, now);
}

static void on_memory_events(evutil_socket_t, short, void *arg)
{
	struct container *c = arg;
	int64_t delay = c->state != CONTAINER_RUNNING ?
				0 :
				sampler_hurry(&c->observer.sampler, now_boottime_ns());

	if (delay == 0) {
		container_sample(c);
		return;
	}
	/* Further events, however many, do not wake the sidecar until then. */
	look_after(c, delay);
}

void container_watch_memory_events(struct container *c)
{
	int events_fd = memcg_events_fd(&c->observer.memcg);
	char path[40];

	if (events_fd < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", events_fd);
	c->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (c->inotify_fd < 0 || inotify_add_watch(c->inotify_fd, path, IN_MODIFY) < 0) {
		log_warning_limited(
			"%s: the kernel sends no events of its cgroup, so its memory is only sampled: %s",
			c->hello.name, strerror(errno));
		return;
	}
	c->modified = event_new(c->base, c->inotify_fd, EV_READ, on_memory_events, c);
	if (c->modified)
		event_add(c->modified, NULL);
}
