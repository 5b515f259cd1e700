/* SPDX-License-Identifier: Apache-2.0 */
/* One container that a launcher has opened to us. */
#include "sidecar/record/container.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/record/channel.h"
#include "sidecar/record/events.h"
#include "sidecar/record/hooks.h"
#include "sidecar/record/life.h"
#include "sidecar/record/observer.h"
#include "sidecar/record/postmortem.h"
#include "sidecar/report/report_json.h"

#define HELLO_WITHIN_S 10 /* a connection that says nothing is dropped */
#define OOM_SETTLED_NS (5 * NS_PER_SEC) /* alive this long after an OOM kill: the container lives on */
#define PROCESS_REPORT_SPACING_NS (60 * NS_PER_SEC)
#define SAY_SPACING_NS (5 * NS_PER_SEC)
#define REARM 0.05 /* a threshold counts as left when usage is this much of the limit below it */

struct container {
	struct event_base *base;
	const struct recorder_options *options;
	struct container_callbacks callbacks;
	int fd, termination_fd, pidfd, inotify_fd;
	struct event *readable, *timer, *modified, *launcher_gone;
	bool attached; /* hello was said */
	bool resumed; /* with a history from before */
	bool finished;
	struct launch_message hello;
	struct observer observer;
	struct memory at_eof; /* counters when the connection ended */
	bool at_eof_known;
	int64_t eof_ns;
	int step; /* the highest threshold passed, 0: below the first */
	int64_t said_ns;
	int64_t process_reported_ns;
	bool group_ended_by_us;
	bool pod_terminating;
	bool exit_told; /* the launcher outlived the command */
	struct hooks *hooks; /* NULL: none */
	struct report *waiting; /* of its death, until the hooks are done; NULL: none */
};

const char *container_name(const struct container *c)
{
	return c->hello.name;
}

int64_t container_started_ns(const struct container *c)
{
	return c->hello.started_ns;
}

bool container_resumed(const struct container *c)
{
	return c->resumed;
}

const struct observer *container_observer(const struct container *c)
{
	return c->attached ? &c->observer : NULL;
}

void container_pod_terminating(struct container *c)
{
	c->pod_terminating = true;
}

void container_say(struct container *c, const char *text)
{
	/* Line by line as far as one message holds them. */
	while (*text) {
		char part[LAUNCH_MESSAGE_MAX - 8];
		size_t len = strlen(text);

		if (len >= sizeof(part)) {
			const char *newline = memrchr(text, '\n', sizeof(part) - 1);

			len = newline ? (size_t)(newline - text) + 1 : sizeof(part) - 1;
		}
		snprintf(part, sizeof(part), "%.*s", (int)len, text);
		if (launch_send(c->fd, "say", part, NULL) < 0)
			return;
		text += len;
	}
}

static void emit(const struct container *c, const char *event, cJSON *fields)
{
	if (c->options->events)
		event_emit(c->options->report_fd, event, c->hello.name, fields);
	else
		cJSON_Delete(fields);
}

/* The termination log */

static void write_termination_log(const struct container *c, const struct report *r, bool final)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(TERMINATION_MESSAGE_MAX);

	if (c->termination_fd < 0)
		return;
	report_to_termination_message(r, final, TERMINATION_MESSAGE_MAX, &text);
	if (pwrite(c->termination_fd, strbuf_str(&text), text.len, 0) != (ssize_t)text.len ||
	    ftruncate(c->termination_fd, (off_t)text.len) < 0)
		log_warning_limited("%s: termination message not written: %s", c->hello.name, strerror(errno));
}

static void read_counters(struct container *c, struct memory *ret_memory, bool *ret_known)
{
	if (c->observer.memcg.version && memcg_read(&c->observer.memcg, ret_memory, NULL) == 0)
		*ret_known = true;
}

/* Thresholds: the higher ones follow from the first */

static int threshold_step(double first, double fraction)
{
	const double steps[] = { first, 0.9, 0.95, 0.98 };
	int step = 0;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (steps[i] >= first && fraction >= steps[i])
			step = (int)i + 1;
	return step;
}

static void describe_snapshot(const struct container *c, struct report *r)
{
	const struct snapshot *s = &c->observer.last;
	char usage[SIZE_TEXT_MAX], limit[SIZE_TEXT_MAX];
	int64_t now = now_boottime_ns();

	*r = (struct report){
		.id = c->options->id,
		.memory = s->memory,
		.sample_age_ns = MAX(now - s->at_ns, 0),
		.n_processes = s->n_processes,
		.n_top = s->n_top,
		.started_unix_ns = now_realtime_ns() - (now - c->hello.started_ns),
	};
	r->id.container = c->hello.name;
	memcpy(r->top, s->top, sizeof(r->top));
	snprintf(r->verdict.sentence, sizeof(r->verdict.sentence), "Container %s uses %s of its memory limit of %s (%.0f %%).",
		 c->hello.name, size_format((uint64_t)s->memory.usage, usage),
		 size_format((uint64_t)s->memory.limit, limit),
		 100.0 * (double)s->memory.usage / (double)s->memory.limit);
}

static void say_snapshot(struct container *c, const struct report *r)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(REPORT_TEXT_MAX);
	char when[TIME_TEXT_MAX];

	strbuf_addf(&text, "[afterglow] %s %s\n[afterglow]   ", time_format(now_realtime_ns(), when), r->verdict.sentence);
	report_process_table(r->top, r->n_top, "[afterglow]   ", &text);
	container_say(c, strbuf_str(&text));
}

static void check_threshold(struct container *c, int64_t now_ns)
{
	const struct memory *m = &c->observer.last.memory;
	double fraction;
	struct report r;
	int step;

	if (m->limit <= 0 || m->usage < 0)
		return;
	/* What the kernel can take back at once is no danger. */
	fraction = (double)(m->usage - MAX(m->inactive_file, 0)) / (double)m->limit;
	step = threshold_step(c->options->warn_at, fraction);
	if (step < c->step && threshold_step(c->options->warn_at, fraction + REARM) < c->step)
		c->step = step;
	if (step <= c->step)
		return;
	c->step = step;
	describe_snapshot(c, &r);
	write_termination_log(c, &r, false);
	hooks_due(c->hooks, HOOK_AT_THRESHOLD, r.n_top ? r.top[0].pid : 0, "threshold", now_ns);
	if (c->said_ns && now_ns - c->said_ns < SAY_SPACING_NS && step < 3)
		return;
	c->said_ns = now_ns;
	say_snapshot(c, &r);
	emit(c, "threshold", report_json_of_snapshot(&r));
}

/* Reports */

static void publish(struct container *c, struct report *r, bool container_lives)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(REPORT_TEXT_MAX);
	struct failure f;
	struct err err = { 0 };

	if (postmortem_keep(r, &c->observer, c->options, &err) < 0)
		log_error("%s: bundle not in the store: %s", c->hello.name, err_text(&err));
	life_reported(&c->observer);
	report_to_text(r, &text);
	failure_of_report(r, &f);
	f.container_lives = container_lives;
	c->callbacks.reported(c, &f, strbuf_str(&text), c->callbacks.arg);
}

static void finish(struct container *c)
{
	if (c->finished)
		return;
	c->finished = true;
	launch_send(c->fd, "done", NULL, NULL);
	c->callbacks.done(c, c->callbacks.arg);
}

/* Kept after a failure, for somebody to look at it. The launcher keeps it by itself: we need not be there. */
static void hold(const struct container *c)
{
	char seconds[16], until[TIME_TEXT_MAX], where[256], text[512];
	cJSON *fields = cJSON_CreateObject();

	snprintf(seconds, sizeof(seconds), "%d", c->options->hold_s);
	time_format(now_realtime_ns() + c->options->hold_s * NS_PER_SEC, until);
	if (c->options->id.pod)
		snprintf(where, sizeof(where), "kubectl exec %s -c %s -- /afterglow/bin/afterglow-launch --release",
			 c->options->id.pod, c->hello.name);
	else
		snprintf(where, sizeof(where), "afterglow-launch --release %d", (int)c->hello.launcher);
	snprintf(text, sizeof(text), "[afterglow] held until %s; end it with: %s\n", until, where);
	launch_send(c->fd, "say", text, NULL);
	launch_send(c->fd, "hold", seconds, NULL);
	json_set_str(fields, "until", until);
	json_set_str(fields, "release", where);
	emit(c, "held", fields);
}

static bool is_failure(const struct container *c, const struct report *r)
{
	return r->verdict.class != FAILURE_COMPLETED && r->verdict.class != FAILURE_POD_DELETED && !c->pod_terminating;
}

/* Its report is complete but for the bundle. May free c. */
static void conclude(struct container *c, struct report *r)
{
	publish(c, r, false);
	write_termination_log(c, r, true);
	if (c->options->hold_s > 0 && c->exit_told && is_failure(c, r) && !c->finished) {
		hold(c);
		c->finished = true;
		c->callbacks.done(c, c->callbacks.arg);
	} else
		finish(c);
}

/* Whether the report waits for hooks: then r is kept. */
static bool run_hooks_at_death(struct container *c, const struct ending *e, struct report *r)
{
	if (!c->options->hooks.commands[HOOK_AT_DEATH][0] || !is_failure(c, r))
		return false;
	if (!e->status_known) {
		verdict_add_missing(&r->verdict, "the hooks at death",
				    "a launcher that outlives the end: it was killed with its container");
		return false;
	}
	c->waiting = malloc(sizeof(*c->waiting));
	if (!c->waiting)
		return false;
	*c->waiting = *r;
	if (hooks_due(c->hooks, HOOK_AT_DEATH, r->n_top ? r->top[0].pid : 0, failure_class_name(r->verdict.class),
		      now_boottime_ns()))
		return true;
	free(TAKE_PTR(c->waiting));
	return false;
}

static void on_hooks_done(void *arg)
{
	struct container *c = arg;
	_cleanup_free_ struct report *r = TAKE_PTR(c->waiting);

	if (r)
		conclude(c, r);
}

static int64_t headroom(void *arg)
{
	struct container *c = arg;
	struct memory m;
	bool known = false;

	read_counters(c, &m, &known);
	if (!known || m.limit <= 0 || m.usage < 0)
		return -1;
	return MAX(m.limit - (m.usage - MAX(m.inactive_file, 0)), 0);
}

static void died(struct container *c, struct ending *e)
{
	struct report r;

	e->started_ns = c->hello.started_ns;
	e->group_ended_by_us = c->group_ended_by_us;
	e->pod_terminating = c->pod_terminating;
	life_ended(&c->observer, e);
	ray_watch_finish(c->observer.ray, e->ended_ns);
	postmortem_report(&c->observer, e, c->options, c->hello.name, &r);
	emit(c, "ended", report_json_of_verdict(&r));
	if (r.verdict.class != FAILURE_COMPLETED || c->options->record_success) {
		/* The message first: the kubelet reads it as soon as the container is gone. */
		write_termination_log(c, &r, true);
		if (!run_hooks_at_death(c, e, &r))
			conclude(c, &r);
	} else
		finish(c);
}

/* The container lives, one of its processes does not. */
static void process_died(struct container *c, int64_t now_ns)
{
	struct ending e = {
		.container_lives = true,
		.started_ns = c->hello.started_ns,
		.ended_ns = c->observer.oom_seen_ns,
		.after = c->observer.last.memory,
		.after_known = true,
	};
	struct report r;

	if (!c->process_reported_ns || now_ns - c->process_reported_ns >= PROCESS_REPORT_SPACING_NS) {
		c->process_reported_ns = now_ns;
		postmortem_report(&c->observer, &e, c->options, c->hello.name, &r);
		emit(c, "process-killed", report_json_of_verdict(&r));
		publish(c, &r, true);
	}
	observer_forget_oom(&c->observer);
	life_note(&c->observer);
}

/* Ray says that one of its workers died. */
static void on_worker_died(const struct ray_said *said, void *arg)
{
	struct container *c = arg;
	struct ending e = {
		.container_lives = true,
		.started_ns = c->hello.started_ns,
		.ended_ns = said->at_ns,
		.after = c->observer.last.memory,
		.after_known = true,
		.ray = said,
	};
	struct report r;

	postmortem_report(&c->observer, &e, c->options, c->hello.name, &r);
	publish(c, &r, true);
	emit(c, "worker-died", report_json_of_worker(&r, said));
}

static void on_node_lost(const struct ray_said *said, void *arg)
{
	const struct container *c = arg;
	cJSON *fields = cJSON_CreateObject();

	json_set_str(fields, "log", said->file);
	json_set_str(fields, "detail", said->event.detail);
	emit(c, "node-lost", fields);
}

static void on_ray_summary(const struct ray_summary *s, void *arg)
{
	struct container *c = arg;
	char text[320], line[352];

	ray_summary_format(s, c->options->id.pod, text, sizeof(text));
	emit(c, "workers", report_json_of_workers(s, text));
	snprintf(line, sizeof(line), "[afterglow] %s\n", text);
	container_say(c, line);
}

/* Sampling */

static void sample(struct container *c)
{
	int64_t now = now_boottime_ns();
	int64_t delay = observer_sample(&c->observer, now);
	const struct timeval tv = { .tv_sec = delay / NS_PER_SEC, .tv_usec = delay % NS_PER_SEC / 1000 };

	event_add(c->timer, &tv);
	life_note(&c->observer);
	check_threshold(c, now);
	ray_watch_poll(c->observer.ray, &c->observer, now,
		       &(struct ray_watch_callbacks){ .died = on_worker_died, .node_lost = on_node_lost, .summary = on_ray_summary, .arg = c });
	if (!c->observer.oom_seen_ns)
		return;
	if (c->options->oom_group && c->observer.memcg.version == 1 && !c->group_ended_by_us) {
		c->group_ended_by_us = true;
		launch_send(c->fd, "kill", NULL, NULL);
	} else if (now - c->observer.oom_seen_ns >= OOM_SETTLED_NS)
		process_died(c, now);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct container *c = arg;

	(void)fd;
	(void)what;
	if (!c->attached)
		finish(c); /* HELLO_WITHIN_S passed */
	else
		sample(c);
}

static void on_memory_events(evutil_socket_t fd, short what, void *arg)
{
	char buf[sizeof(struct inotify_event) + NAME_MAX + 1];

	(void)what;
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	sample(arg);
}

static void watch_memory_events(struct container *c)
{
	int events_fd = memcg_events_fd(&c->observer.memcg);
	char path[40];

	if (events_fd < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", events_fd);
	c->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (c->inotify_fd < 0 || inotify_add_watch(c->inotify_fd, path, IN_MODIFY) < 0) {
		log_warning_limited("%s: sampling only, no events of its cgroup: %s", c->hello.name, strerror(errno));
		return;
	}
	c->modified = event_new(c->base, c->inotify_fd, EV_READ | EV_PERSIST, on_memory_events, c);
	if (c->modified)
		event_add(c->modified, NULL);
}

/* The connection */

static bool is_type(int fd, mode_t type)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

/* Takes what the letters promise and what really is of that kind; the rest is closed. */
static int take_descriptors(struct container *c, const int *fds, size_t n_fds)
{
	int root_fd = -1;

	for (size_t i = 0; i < n_fds; i++) {
		char letter = i < strlen(c->hello.fd_letters) ? c->hello.fd_letters[i] : '\0';

		if (letter == LAUNCH_FD_ROOT && root_fd < 0 && is_type(fds[i], S_IFDIR))
			root_fd = fds[i];
		else if (letter == LAUNCH_FD_TERMINATION_LOG && c->termination_fd < 0 && is_type(fds[i], S_IFREG))
			c->termination_fd = fds[i];
		else if (letter == LAUNCH_FD_PIDFD && c->pidfd < 0)
			c->pidfd = fds[i];
		else
			close(fds[i]);
	}
	return root_fd;
}

static void emit_attached(const struct container *c)
{
	cJSON *fields = cJSON_CreateObject();

	json_set_int(fields, "launcherPID", c->hello.launcher);
	if (c->resumed)
		json_set(fields, "resumed", cJSON_CreateTrue());
	json_set(fields, "cgroupVersion", report_json_number(c->observer.memcg.version ? c->observer.memcg.version : -1));
	json_set(fields, "limitBytes", report_json_number(c->observer.baseline.limit));
	emit(c, "attached", fields);
}

static void take_history(struct container *c)
{
	struct history *history;
	struct life life;

	life_begin(&life, c->hello.name, c->hello.started_ns, c->hello.launcher);
	history = c->callbacks.history(c, &life, c->callbacks.arg);
	c->resumed = history && history_last(history);
	/* A launcher may meet us only when its command is dead already. */
	if (c->hello.launcher == 1 && !c->resumed)
		observer_count_from_start(&c->observer);
	if (history)
		life_adopt(&c->observer, history);
}

static void attach(struct container *c, const struct launch_message *hello, const int *fds, size_t n_fds)
{
	struct err err = { 0 };
	int root_fd;

	c->hello = *hello;
	c->attached = true;
	root_fd = take_descriptors(c, fds, n_fds);
	if (root_fd < 0)
		log_warning_limited("%s: its launcher sent no root directory: nothing to see but its exit", c->hello.name);
	if (observer_open(&c->observer, root_fd, c->hello.launcher, &err) < 0) {
		log_error("%s: %s", c->hello.name, err_text(&err));
		finish(c);
		return;
	}
	if (err.code)
		log_warning_limited("%s: %s", c->hello.name, err_text(&err));
	kernel_log_open(&c->observer.kernel, c->observer.root_fd, hello->launcher, hello->command, hello->started_ns,
			c->options->id.pod_uid, &c->options->kernel_log);
	c->observer.collect = c->options->collect;
	c->hooks = hooks_new(c->base, c->fd, &c->options->hooks,
			     &(struct hooks_callbacks){ .headroom = headroom, .done = on_hooks_done, .arg = c });
	c->observer.hooks = c->hooks;
	take_history(c);
	watch_memory_events(c);
	emit_attached(c);
	c->callbacks.attached(c, c->callbacks.arg);
	sample(c);
}

static void died_without_a_word(struct container *c)
{
	struct ending e = { .ended_ns = c->eof_ns, .after = c->at_eof, .after_known = c->at_eof_known };

	died(c, &e);
}

static void on_launcher_gone(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	died_without_a_word(arg);
}

/*
 * End of file comes about a millisecond after the launcher's death, and the
 * cgroup is gone some milliseconds later: read the counters now. Whether it was
 * a death the pidfd tells; a launcher that only closed its socket will be back
 * on another connection.
 */
static void on_eof(struct container *c)
{
	event_del(c->readable);
	if (!c->attached) {
		finish(c);
		return;
	}
	hooks_abandon(c->hooks);
	if (c->waiting) {
		on_hooks_done(c);
		return;
	}
	c->eof_ns = now_boottime_ns();
	read_counters(c, &c->at_eof, &c->at_eof_known);
	/* No sample any more: what is left of the cgroup would pass for the last one before the death. */
	event_del(c->timer);
	if (c->modified)
		event_del(c->modified);
	if (c->pidfd < 0) {
		died_without_a_word(c);
		return;
	}
	c->launcher_gone = event_new(c->base, c->pidfd, EV_READ, on_launcher_gone, c);
	if (!c->launcher_gone || event_add(c->launcher_gone, NULL) < 0)
		died_without_a_word(c);
}

static void on_exit_message(struct container *c, const struct launch_message *m)
{
	struct ending e = { .status_known = true, .wait_status = m->wait_status, .ended_ns = m->ended_ns };

	/* A time outside the container's life is a forgery or a bug; ours is right within a millisecond. */
	if (e.ended_ns < c->hello.started_ns || e.ended_ns > now_boottime_ns())
		e.ended_ns = now_boottime_ns();
	read_counters(c, &e.after, &e.after_known);
	limits_read(c->observer.root_fd, c->hello.launcher, &e.limits);
	c->exit_told = true;
	event_del(c->timer);
	died(c, &e);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct container *c = arg;
	char text[LAUNCH_MESSAGE_MAX];
	int fds[LAUNCH_FDS_MAX];
	size_t len, n_fds = 0;
	struct launch_message m;
	struct err err = { 0 };
	int r = launch_receive((int)fd, text, &len, fds, &n_fds, &err);

	(void)what;
	if (r == -EAGAIN)
		return;
	if (r <= 0) {
		on_eof(c);
		return;
	}
	if (launch_message_parse(text, len, &m, &err) < 0) {
		log_warning_limited("%s", err_text(&err));
		m.verb = LAUNCH_OTHER;
	}
	if (m.verb == LAUNCH_HELLO && !c->attached) {
		attach(c, &m, fds, n_fds);
		return;
	}
	while (n_fds > 0)
		close(fds[--n_fds]);
	if (!c->attached)
		return;
	if (m.verb == LAUNCH_EXIT && !c->waiting)
		on_exit_message(c, &m);
	else
		hooks_message(c->hooks, &m);
}

struct container *container_new(struct event_base *base, int fd, const struct recorder_options *options,
				const struct container_callbacks *callbacks, struct err *err)
{
	const struct timeval hello_within = { .tv_sec = HELLO_WITHIN_S };
	struct container *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		err_set(err, ENOMEM, "container");
		return NULL;
	}
	c->base = base;
	c->options = options;
	c->callbacks = *callbacks;
	c->fd = fd;
	c->observer.root_fd = -1;
	c->termination_fd = c->pidfd = c->inotify_fd = -1;
	c->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, c);
	c->timer = event_new(base, -1, 0, on_timer, c);
	if (!c->readable || !c->timer || event_add(c->readable, NULL) < 0 || event_add(c->timer, &hello_within) < 0) {
		container_free(c);
		err_set(err, ENOMEM, "container events");
		return NULL;
	}
	return c;
}

static void event_freep(struct event *e)
{
	if (e)
		event_free(e);
}

void container_free(struct container *c)
{
	if (!c)
		return;
	event_freep(c->readable);
	event_freep(c->timer);
	event_freep(c->modified);
	event_freep(c->launcher_gone);
	hooks_free(c->hooks);
	free(c->waiting);
	observer_close(&c->observer);
	closep(&c->fd);
	closep(&c->termination_fd);
	closep(&c->pidfd);
	closep(&c->inotify_fd);
	free(c);
}
