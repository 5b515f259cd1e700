/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the end of a container, and OOM kills of its processes. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/fileio.h"
#include "lib/log.h"
#include "lib/outlet.h"
#include "lib/printable.h"
#include "lib/units.h"
#include "sidecar/ending/life.h"
#include "sidecar/record/container_internal.h"
#include "sidecar/report/report_json.h"

#define PROCESS_REPORT_SPACING_NS (60 * NS_PER_SEC)
/* For two answers at most: a local filesystem takes one or two milliseconds for each. */
#define LAST_LOGS_WITHIN_MS 600
#define LIMITS_WITHIN_NS (300 * NS_PER_MS)

/* The launcher of this machine, as the operator puts it into the pod. */
#if defined(__aarch64__)
#define LAUNCHER "/afterglow/bin/afterglow-launch-aarch64"
#else
#define LAUNCHER "/afterglow/bin/afterglow-launch"
#endif

static void tell_of_hold(const struct container *c)
{
	char until[TIME_TEXT_MAX], where[256], text[512];
	cJSON *fields = cJSON_CreateObject();

	time_format(c->held_until_unix_ns, until);
	if (c->options->id.pod)
		snprintf(where, sizeof(where), "kubectl exec %s -c %s -- " LAUNCHER " --release",
			 c->options->id.pod, c->hello.name);
	else
		snprintf(where, sizeof(where), "afterglow-launch --release %d",
			 (int)c->hello.launcher);
	snprintf(text, sizeof(text), "[afterglow] held until %s; end it with: %s\n", until, where);
	launch_send(c->fd, "say", text, NULL);
	json_set_str(fields, "until", until);
	json_set_str(fields, "release", where);
	container_emit(c, "held", fields);
}

static bool is_failure(const struct container *c, const struct report *r)
{
	return r->verdict.class != FAILURE_COMPLETED && r->verdict.class != FAILURE_POD_DELETED &&
	       !c->terminating_ns;
}

/*
 * Keeps a failed container, so that somebody can look at it. The launcher does the waiting, so the
 * sidecar may end. The order is sent now, because the launcher waits for it no longer than 2 s, and
 * committing a bundle to a slow disk takes longer.
 */
static void container_hold(struct container *c)
{
	/*
	 * If a process outside the container asked for its end, it kills the container after the
	 * grace period.
	 */
	bool asked = c->asked.signal && (!c->asked.sender || c->options->own_launcher);
	char seconds[16];

	if (c->held_until_unix_ns || c->options->hold_s <= 0 || !c->exit_reported ||
	    !is_failure(c, c->report) || asked)
		return;
	snprintf(seconds, sizeof(seconds), "%d", c->options->hold_s);
	if (launch_send(c->fd, "hold", seconds, NULL) == 0)
		c->held_until_unix_ns = now_realtime_ns() + c->options->hold_s * NS_PER_SEC;
}

/*
 * Writes the termination message before the bundle is committed. The kubelet reads the message when
 * the launcher has gone; the launcher waits no longer than 2 s, and committing to a slow disk takes
 * longer. If we die before the commit, the next sidecar writes the bundle under the same name.
 */
static void on_named(const struct report *r, void *arg)
{
	const struct publication *p = arg;
	struct container *c = p->container;
	struct crash *crash = p == c->end ? c->death_crash : p->crash;

	if (!p->container_over)
		life_reporting(&c->observer, r->directory);
	if (r->directory[0] && crash)
		crash_will_be_in(crash, r->directory);
	if (r->directory[0] && p == c->end)
		container_write_message(c, r, true);
}

/* Publishes the report: log, journal, container's stderr. */
static void publication_tell(const struct publication *p)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(REPORT_TEXT_MAX);
	_cleanup_failure_ struct failure f = { 0 };
	struct container *c = p->container;

	report_to_notice(&p->report, &text);
	failure_of_report(&p->report, p != c->end, &f);
	f.held_until_unix_ns = p == c->end ? c->held_until_unix_ns : 0;
	c->callbacks.reported(c, &f, strbuf_str(&text), c->callbacks.arg);
	if (c->options->say_reports && !p->said)
		container_say(c, strbuf_str(&text));
	/*
	 * This is noted last: a sidecar that dies before it reports the failure again under the
	 * same id, so no failure is lost.
	 */
	if (!p->container_over)
		life_reported(&c->observer);
}

static void publication_finish_process(struct publication *p)
{
	struct container *c = p->container;

	if (p->event)
		container_emit(c, p->event,
			       p->ray_reported ? report_json_of_worker(&p->report, &p->finding) :
						 report_json_of_verdict(&p->report));
	if (p->crash)
		container_keep_core(p->crash, &p->report);
	if (p->forgets_oom) {
		observer_forget_oom(&c->observer, &p->after);
		life_note(&c->observer);
	}
	free(p);
	container_go_on(c);
}

static void on_kept(const struct err *err, void *arg)
{
	struct publication *p = arg;

	if (err->code)
		log_error("%s: the bundle was not written: %s", p->container->hello.name,
			  err_text(err));
	publication_tell(p);
	p->container->publications--;
	if (p == p->container->end)
		container_event(p->container, CONTAINER_KEPT);
	else
		publication_finish_process(p);
}

/* Writes the report into a bundle when it is made, and publishes it then. */
static void container_publish(struct container *c, struct publication *p, bool made)
{
	c->publications++;
	p->kept = (struct kept){ &p->report, &c->observer, on_named, on_kept, p, !made, NULL };
	if (!container_is_over(c))
		event_del(c->readable);
	keeper_keep(c->keeper, &p->kept);
}

static void on_report_made(void *arg)
{
	struct publication *p = arg;
	struct container *c = p->container;

	p->kept.waits = false;
	if (p == c->end)
		container_event(c, CONTAINER_JUDGED);
	else
		keeper_go_on(c->keeper);
}

/* Sets what the report is made of. */
static void publication_init(struct publication *p, struct container *c, const struct ending *e)
{
	p->container = c;
	p->making = (struct postmortem){
		.base = c->base,
		.observer = &c->observer,
		.ending = e,
		.options = c->options,
		.container = c->hello.name,
		.report = &p->report,
		.done = on_report_made,
		.arg = p,
	};
}

bool container_publishes(const struct container *c)
{
	return c->publications > 0 || c->state == CONTAINER_JUDGING || container_writes_message(c);
}

void container_listen(struct container *c)
{
	if (!c->publications && !(c->core_wait && evtimer_pending(c->core_wait, NULL)))
		event_add(c->readable, NULL);
}

void container_go_on(struct container *c)
{
	if (c->publications)
		return;
	if (c->state == CONTAINER_DISCONNECTED)
		event_add(c->launcher_gone, NULL);
	if (c->state == CONTAINER_RUNNING) {
		container_listen(c);
		container_sample(c);
	} else if (c->concluded)
		container_dismiss(c);
	else
		container_crashes_due(c, now_boottime_ns());
}

/* Its bundle has its place, or has got another one after all, or there is none. */
static void finish_end(struct container *c)
{
	container_write_message(c, c->report, true);
	if (c->death_crash)
		container_keep_core(TAKE_PTR(c->death_crash), c->report);
	container_report_other_crashes(c);
}

static void pass_over_end(struct container *c)
{
	/* A warning of memory says nothing about a success. */
	const struct message_place *warning = &history_life(c->observer.history)->message;

	if (container_writes_message(c) || warning->end > warning->begin)
		container_write_message(c, NULL, true);
	if (c->death_crash)
		crash_drop(TAKE_PTR(c->death_crash), CORE_DROP_NO_FAILURE);
	container_report_other_crashes(c);
}

/*
 * `afterglow run` ends with its command. Returns whether what the command left of Ray behind is
 * watched further.
 */
static bool survivors_hand_over(const struct container *c)
{
	_cleanup_strbuf_ struct strbuf who = STRBUF_INIT(512), text = STRBUF_INIT(1024);
	bool is_watched;

	process_watch_add_survivors(&c->observer.processes, c->observer.root_fd, &who);
	if (!who.len)
		return false;
	is_watched = c->options->hand_over && c->options->hand_over(c->fd, &c->observer.processes,
								    c->options->hand_over_arg);
	strbuf_addf(&text, "afterglow: the command has ended, but Ray goes on, and %s: %s. %s\n",
		    is_watched ? "is watched until it ends" : "nobody watches it any more",
		    strbuf_str(&who),
		    is_watched ?
			    "`afterglow list` lists its deaths." :
			    "`ray start --block` stays until Ray ends, and is watched until then.");
	outlet_write(c->options->report_fd, strbuf_str(&text), text.len);
	return is_watched;
}

void container_keep(struct container *c)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(REPORT_TEXT_MAX);

	/* A driver that was killed leaves its Ray behind for seconds only. */
	c->handed_over = c->options->own_launcher && !c->options->left_behind &&
			 c->ending.status_known && c->ending.wait_status == 0 &&
			 survivors_hand_over(c);
	if (!c->to_report) {
		container_event(c, CONTAINER_KEPT);
		return;
	}
	container_hold(c);
	/* The launcher may not wait until the bundle of another container is written. */
	if (c->options->say_reports && keeper_is_keeping(c->keeper) && !c->publications) {
		report_to_text(c->report, &text);
		container_say(c, strbuf_str(&text));
		c->end->said = true;
	}
	container_publish(c, c->end, true);
}

void container_conclude(struct container *c)
{
	if (c->to_report)
		finish_end(c);
	else
		pass_over_end(c);
	c->concluded = true;
	crashes_hurry(c->crashes);
	container_dismiss(c);
}

void container_dismiss(struct container *c)
{
	if (container_publishes(c))
		return;
	if (!c->dismissed && c->held_until_unix_ns)
		tell_of_hold(c);
	else if (!c->dismissed) {
		crashes_let_go(c->crashes);
		if (!c->handed_over)
			launch_send(c->fd, "done", NULL, NULL);
	}
	c->dismissed = true;
	container_cores_changed(c);
}

/* Returns whether the report waits for the hooks. */
static bool run_hooks_at_death(struct container *c, struct report *r)
{
	if (!c->options->hooks.commands[HOOK_AT_DEATH][0] || !is_failure(c, r))
		return false;
	if (!c->ending.status_known) {
		verdict_add_missing(
			&r->verdict, "the hooks at death",
			"a launcher that outlives the end: it was killed with its container");
		return false;
	}
	return hooks_due(c->hooks, HOOK_AT_DEATH, r->n_top ? r->top[0].pid : 0,
			 failure_class_name(r->verdict.class), now_boottime_ns());
}

void container_hooks_done(void *arg)
{
	container_event(arg, CONTAINER_HOOKS_DONE);
}

static bool is_time_for_process_report(const struct container *c, int64_t now_ns)
{
	return !c->process_reported_ns ||
	       now_ns - c->process_reported_ns >= PROCESS_REPORT_SPACING_NS;
}

bool container_told_oom_of(const struct container *c, int pid)
{
	return pid > 0 && pid == c->oom_told_pid &&
	       !is_time_for_process_report(c, now_boottime_ns());
}

static bool has_unreported_oom(const struct container *c, const struct ending *e)
{
	const struct observer *o = &c->observer;

	return o->oom_seen_ns || (e->after_known && o->baseline.oom_kill >= 0 &&
				  e->after.oom_kill > o->baseline.oom_kill);
}

static void note_told_oom(struct container *c, const struct report *r)
{
	if (r->verdict.class != FAILURE_KERNEL_OOM_PROCESS)
		return;
	c->process_reported_ns = now_boottime_ns();
	c->oom_told_pid = r->verdict.process.pid;
}

/* Returns NULL if there is no memory, which is logged. */
static struct publication *publication_new(const struct container *c)
{
	struct publication *p = calloc(1, sizeof(*p));

	if (!p)
		log_error("%s: no memory for the report of a process", c->hello.name);
	return p;
}

void container_report_process(struct container *c, struct ending *e, struct crash *crash,
			      const char *event)
{
	struct publication *p = publication_new(c);

	if (!p) {
		if (crash)
			crash_drop(crash, CORE_DROP_FAILED);
		return;
	}
	p->event = event;
	e->container_lives = e->after_known = true;
	/*
	 * The history keeps the state of the end, so that this bundle is not taken for the bundle
	 * of the end.
	 */
	p->container_over = e->container_over = container_is_over(c);
	e->started_ns = c->hello.started_ns;
	e->after = c->observer.last.memory;
	if (crash) {
		p->crash = crash;
		crash_claim(crash);
		e->crash = crash_info(crash);
		e->backtrace = crash_backtrace(crash);
	}
	if (e->ray) {
		p->ray_reported = true;
		p->finding = *e->ray;
	}
	/*
	 * At the container's end its processes are gone. The ends of Ray's own are explained
	 * without limits.
	 */
	publication_init(p, c, e);
	if (!e->container_over && !e->process && c->observer.root_fd >= 0)
		p->making.limits_of = c->hello.launcher;
	bool is_read = postmortem_report(&p->making);
	if (!e->process)
		note_told_oom(c, &p->report);
	container_publish(c, p, !is_read);
}

/* Returns whether it is published, and with forgets_oom the OOM kill is forgotten then. */
static bool report_killed_process(struct container *c, const struct ending *e, bool forgets_oom)
{
	struct publication *p = publication_new(c);

	if (!p)
		return false;
	publication_init(p, c, e);
	bool is_read = postmortem_report(&p->making);
	/* Writing the bundle takes seconds on a slow disk, and the next kill may come meanwhile. */
	if (!e->container_over)
		memcg_tree_forget(&c->observer.cgroups.tree);
	/*
	 * In a cgroup that others share, the kernel log or the launcher shows that the victim was
	 * ours.
	 */
	if (p->report.verdict.class != FAILURE_KERNEL_OOM_PROCESS) {
		background_cancel(&p->making.child);
		free(p);
		return false;
	}
	note_told_oom(c, &p->report);
	container_emit(c, "process-killed", report_json_of_verdict(&p->report));
	p->container_over = e->container_over;
	p->forgets_oom = forgets_oom;
	p->after = e->after;
	container_publish(c, p, !is_read);
	return true;
}

/* Reports an OOM kill of a process that was not reported before the command ended successfully. */
static void tell_of_killed_process(struct container *c, const struct ending *end)
{
	struct ending e = *end;

	e.container_lives = e.container_over = true;
	e.status_known = false;
	if (c->observer.oom_seen_ns)
		e.ended_ns = c->observer.oom_seen_ns;
	if (!e.after_known)
		e.after = c->observer.last.memory;
	e.after_known = true;
	report_killed_process(c, &e, false);
}

bool container_wait(struct container *c, int fd, event_callback_fn fn, int within_ms)
{
	const struct timeval within = { .tv_sec = within_ms / 1000,
					.tv_usec = within_ms % 1000 * 1000 };

	event_drop(c->wait);
	/* A loop may count from when this callback began, which may be longer ago than the wait. */
	event_base_update_cache_time(c->base);
	c->wait_until_ns = now_boottime_ns() + within_ms * NS_PER_MS;
	c->wait = event_new(c->base, fd, fd < 0 ? 0 : EV_READ | EV_PERSIST, fn, c);
	return c->wait && event_add(c->wait, &within) == 0;
}

/* Goes on with the end when the rest of Ray's logs was read. */
static void end_with_logs(struct container *c)
{
	struct ray_summary summary;

	container_workers_due(c, INT64_MAX);
	if (ray_watch_last_summary(c->observer.ray, &summary))
		container_tell_workers(&summary, c);
	if (container_death_waits(c) || container_awaits_sender(c))
		return;
	container_event(c, CONTAINER_UNWOUND);
}

static void on_last_logs(evutil_socket_t, short what, void *arg)
{
	struct container *c = arg;
	/* libevent begins its own time limit anew with each answer. */
	bool late = what & EV_TIMEOUT || now_boottime_ns() >= c->wait_until_ns;
	int fd;

	if (!ray_watch_finish(c->observer.ray, c->ending.ended_ns, &fd) && !late)
		return;
	event_free(TAKE_PTR(c->wait));
	if (c->exit_reported)
		event_add(c->readable, NULL);
	end_with_logs(c);
}

bool container_awaits_logs(const struct container *c)
{
	return c->wait && event_get_callback(c->wait) == on_last_logs;
}

static void verdict_make(struct container *c)
{
	if (!postmortem_report(&c->end->making))
		container_event(c, CONTAINER_JUDGED);
}

static void on_late_line(evutil_socket_t, short, void *arg)
{
	struct container *c = arg;

	event_free(TAKE_PTR(c->wait));
	verdict_make(c);
}

void container_judge(struct container *c)
{
	struct ending *e = &c->ending;

	event_drop(TAKE_PTR(c->wait));
	/* on_limits then calls this again. */
	if (c->limits.event)
		return;
	if (e->status_known && e->wait_status == 0 && has_unreported_oom(c, e) &&
	    is_time_for_process_report(c, now_boottime_ns()))
		tell_of_killed_process(c, e);
	container_add_crash(c, e);
	publication_init(c->end, c, e);
	if (!postmortem_look(&c->end->making) ||
	    !container_wait(c, -1, on_late_line, POSTMORTEM_LINE_MS))
		verdict_make(c);
}

void container_report(struct container *c)
{
	struct report *r = c->report;

	container_emit(c, "ended", report_json_of_verdict(r));
	c->succeeded = r->verdict.class == FAILURE_COMPLETED;
	c->to_report = !c->succeeded || c->options->record_success;
	/*
	 * The termination message is written first: the kubelet reads it as soon as the container
	 * is gone.
	 */
	if (c->to_report)
		container_write_message(c, r, true);
	if (!c->to_report || !run_hooks_at_death(c, r))
		container_event(c, CONTAINER_HOOKS_DONE);
}

/* --- Limits, which the container's filesystems may not answer --- */

static void limits_send(int fd, void *arg)
{
	const struct container *c = arg;
	struct limits limits;

	limits_read(c->observer.root_fd, c->hello.launcher, &c->observer.limits, &limits);
	errand_send(fd, &limits, sizeof(limits), -1);
}

static void on_limits(bool in_time, void *arg)
{
	struct container *c = arg;

	if (c->limits.answered && c->limits_place)
		*c->limits_place = c->limits_read;
	if (!in_time)
		observer_leave_errand(&c->observer, &c->limits.errand);
	c->ending.limits_are_late = !in_time && c->limits_place;
	if (c->limits_again) {
		c->limits_again = false;
		container_read_limits(c, &c->ending.limits);
	}
	if (c->state == CONTAINER_JUDGING)
		container_judge(c);
}

void container_read_limits(struct container *c, struct limits *place)
{
	if (c->limits.event)
		c->limits_again = true;
	else if (c->observer.root_fd >= 0 && !errand_busy(&c->observer.files)) {
		c->limits_place = place;
		background_start(&c->limits, c->base, limits_send, c, LIMITS_WITHIN_NS, NULL,
				 on_limits, c, NULL);
	}
}

void container_drop_limits(struct container *c)
{
	c->limits_again = false;
	if (c->limits_place == &c->ending.limits)
		c->limits_place = NULL;
}

/* Outside of a pod the sender is a process that we see, such as slurmstepd. */
static void sender_name_read(struct stop_request *asked)
{
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT(sizeof(asked->sender_name));
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)asked->sender);
	/* The kernel ends it with a line feed. */
	if (file_read(AT_FDCWD, path, &name, NULL) >= 0 && name.len > 1)
		copy_printable(asked->sender_name, sizeof(asked->sender_name), name.data,
			       name.len - 1);
}

void container_asked(struct container *c, const struct launch_message *m)
{
	int64_t now = now_boottime_ns();

	/* If it is killed in the end, its cgroup is gone at once. It may say this without end. */
	if (c->state == CONTAINER_RUNNING && now - c->limits_at_ns >= NS_PER_SEC) {
		c->limits_at_ns = now;
		container_read_limits(c, &c->ending.limits);
	}
	c->asked = m->asked;
	/* An impossible time is forged or wrong. Our own time is right to a millisecond. */
	if (c->asked.at_ns < c->hello.started_ns || c->asked.at_ns > now)
		c->asked.at_ns = now;
	if (c->options->own_launcher && c->asked.sender > 0)
		sender_name_read(&c->asked);
}

void container_end(struct container *c)
{
	struct ending *e = &c->ending;
	int fd;

	e->started_ns = c->hello.started_ns;
	e->group_ended_by_us = c->group_ended_by_us;
	e->pod_terminating = c->terminating_ns > 0;
	e->asked = c->asked;
	container_add_stacks(c, e);
	e->process_oom_ns = c->observer.process_oom_ns;
	/* Each report covers the kills up to its own time. */
	e->process_oom_reported = e->process_oom_ns && c->process_reported_ns >= e->process_oom_ns;
	process_watch_finish(&c->observer.processes);
	life_ended(&c->observer, e);
	event_drop(TAKE_PTR(c->ray_answer));
	if (ray_watch_finish(c->observer.ray, e->ended_ns, &fd) ||
	    !container_wait(c, fd, on_last_logs, LAST_LOGS_WITHIN_MS))
		end_with_logs(c);
	else
		/* A launcher that hangs up meanwhile is seen to have done so after the logs. */
		event_del(c->readable);
}

/* Called when one of its processes ended and the container lives on. */
void container_process_died(struct container *c, int64_t now_ns)
{
	struct ending e = {
		.container_lives = true,
		.started_ns = c->hello.started_ns,
		.ended_ns = c->observer.oom_seen_ns,
		.after = c->observer.last.memory,
		.after_known = true,
	};

	c->observer.process_oom_ns = c->observer.oom_seen_ns;
	if (!is_time_for_process_report(c, now_ns))
		memcg_tree_forget(&c->observer.cgroups.tree);
	else if (report_killed_process(c, &e, true))
		return;
	observer_forget_oom(&c->observer, &e.after);
	life_note(&c->observer);
}
