/* SPDX-License-Identifier: Apache-2.0 */
/* Ray's own voice. */
#include "sidecar/record/ray_watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/ray/ray_files.h"
#include "sidecar/ray/ray_logs.h"
#include "sidecar/record/gpu_words.h"
#include "sidecar/record/observer.h"
#include "sidecar/sample/rootfd.h"

#define HIGH_NS (10 * NS_PER_SEC) /* how long the fullest snapshot is remembered */
#define ISOLATION_NS (60 * NS_PER_SEC) /* raylet repeats what it says of its resource isolation */
#define LAST_WORDS_NS (30 * NS_PER_SEC)
#define SETTLED_NS (5 * NS_PER_SEC) /* alive this long after raylet ran out of descriptors: the container lives on */
#define LOOKUPS_MAX 4 /* of a dead worker's files, in one poll */
#define WORKER_LOG_MAX (16 * 1024)
#define COMMAND_LINE_MAX (32 * 1024)

struct ray_watch {
	int root_fd;
	struct ray_logs *logs;
	struct ray_tally tally;
	struct snapshot high; /* the fullest of the last seconds: the victim is still in it */
	struct ray_process_words words;
	struct ray_said last; /* that tells most of the last seconds; at_ns 0: none */
	char isolation[sizeof(((struct ray_event *)NULL)->detail)]; /* what raylet said last of its resource isolation */
	int64_t isolation_ns; /* 0: nothing */
	struct ray_said pending; /* a report that waits for the container's end; at_ns 0: none */
	/* During a poll: */
	const struct ray_watch_callbacks *callbacks; /* NULL: only remember */
	int64_t now_ns;
	const struct ray_said *subject; /* while it is reported */
	unsigned int lookups;
	pid_t raylet; /* whose command line was read */
};

struct ray_watch *ray_watch_new(int root_fd, int64_t now_ns)
{
	struct ray_watch *w = root_fd >= 0 ? calloc(1, sizeof(*w)) : NULL;

	if (!w)
		return NULL;
	w->root_fd = root_fd;
	ray_tally_init(&w->tally, now_ns);
	w->logs = ray_logs_new(root_fd);
	if (!w->logs) {
		free(w);
		return NULL;
	}
	return w;
}

void ray_watch_free(struct ray_watch *w)
{
	if (!w)
		return;
	ray_logs_free(w->logs);
	free(w);
}

int ray_watch_logs_dir(const struct ray_watch *w)
{
	return w ? ray_logs_dir(w->logs) : -1;
}

const struct ray_said *ray_watch_last_words(const struct ray_watch *w, int64_t now_ns)
{
	return w && w->last.at_ns && now_ns - w->last.at_ns <= LAST_WORDS_NS ? &w->last : NULL;
}

const char *ray_watch_isolation(const struct ray_watch *w, int64_t now_ns)
{
	return w && w->isolation_ns && now_ns - w->isolation_ns <= ISOLATION_NS ? w->isolation : NULL;
}

const struct ray_process_words *ray_watch_process_words(const struct ray_watch *w)
{
	return w ? &w->words : NULL;
}

const struct ray_said *ray_watch_subject(const struct ray_watch *w, int64_t now_ns)
{
	return w && w->subject ? w->subject : ray_watch_last_words(w, now_ns);
}

static bool holds(const struct snapshot *s, pid_t pid)
{
	for (size_t i = 0; i < s->n_top; i++)
		if (s->top[i].pid == pid)
			return true;
	return false;
}

const struct snapshot *ray_watch_snapshot(const struct ray_watch *w, const struct observer *o, pid_t pid)
{
	const struct snapshot *const candidates[] = { &o->last, &o->previous, w ? &w->high : &o->last };

	for (size_t i = 0; pid && i < ARRAY_SIZE(candidates); i++)
		if (holds(candidates[i], pid))
			return candidates[i];
	return &o->last;
}

/*
 * A large process takes a while to die: its pages are still counted when it is no longer among the processes. The
 * snapshot that has it stays the fullest then.
 */
static void remember_high(struct ray_watch *w, const struct snapshot *s, int64_t now_ns)
{
	bool stale = now_ns - w->high.at_ns > HIGH_NS;

	if (!stale && (s->memory.usage < w->high.memory.usage || (w->high.n_top && !holds(s, w->high.top[0].pid))))
		return;
	w->high = *s;
}

/* What the dead worker's own files tell */

struct lookup {
	int dir_fd;
	struct ray_said *said;
};

static void look_into(const char *name, void *arg)
{
	struct lookup *l = arg;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(WORKER_LOG_MAX);
	struct ray_event *e = &l->said->event;
	char task[sizeof(e->task)] = "";

	if (strstr(name, "python-core") || !ray_file_tail(l->dir_fd, name, WORKER_LOG_MAX, &text))
		return;
	gpu_words_read(l->dir_fd, name, now_realtime_ns(), &l->said->gpu);
	ray_worker_log_parse(strbuf_str(&text), text.len, task, sizeof(task), l->said->signal_said,
			     sizeof(l->said->signal_said));
	if (!e->task[0])
		memcpy(e->task, task, sizeof(task));
}

static bool is_gone(int root_fd, pid_t pid)
{
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "proc/%d", (int)pid);
	fd = rootfd_open(root_fd, path, O_PATH, NULL);
	if (fd < 0)
		return true;
	close(fd);
	return false;
}

static void look_up(struct ray_watch *w, struct ray_said *said)
{
	struct lookup l = { ray_logs_dir(w->logs), said };

	if (!said->event.pid)
		return;
	said->gone = is_gone(w->root_fd, said->event.pid);
	if (w->lookups++ < LOOKUPS_MAX && l.dir_fd >= 0)
		ray_files_of_pid(l.dir_fd, said->event.pid, look_into, &l);
}

/* What tells more of the end of a container. */
static int weight(enum ray_kind kind)
{
	switch (kind) {
	case RAY_FDS_EXHAUSTED:
		return 3;
	case RAY_DAEMON_CRASH:
		return 2;
	case RAY_NODE_LOST:
		return 0;
	default:
		return 1;
	}
}

static void report(struct ray_watch *w, const struct ray_said *said)
{
	w->subject = said;
	w->callbacks->died(said, w->callbacks->arg);
	w->subject = NULL;
}

static void on_event(const struct ray_event *event, const char *file, void *arg)
{
	struct ray_watch *w = arg;
	struct ray_said said = { .event = *event, .at_ns = w->now_ns };
	enum ray_outcome outcome;

	ray_process_words_note(&w->words, event, file, w->now_ns);
	if (event->kind == RAY_SUMMARY)
		return; /* ours counts what Ray's does not see */
	if (event->kind == RAY_ISOLATION) {
		memcpy(w->isolation, event->detail, sizeof(w->isolation));
		w->isolation_ns = w->now_ns;
		return;
	}
	snprintf(said.file, sizeof(said.file), "%s", file);
	look_up(w, &said);
	outcome = ray_tally_event(&w->tally, w->now_ns, &said.event, &said.left_out);
	if (outcome == RAY_KNOWN && event->kind != RAY_NODE_LOST && event->kind != RAY_DAEMON_CRASH)
		return;
	if (!ray_watch_last_words(w, w->now_ns) || weight(event->kind) >= weight(w->last.event.kind))
		w->last = said;
	if (outcome != RAY_REPORT || !w->callbacks)
		return;
	if (event->kind == RAY_NODE_LOST)
		w->callbacks->node_lost(&said, w->callbacks->arg);
	else if (event->kind == RAY_FDS_EXHAUSTED && !event->pid)
		w->pending = said; /* it is one of Ray's own processes: the container may end of it */
	else
		report(w, &said);
}

static void report_pending(struct ray_watch *w)
{
	struct ray_said said = w->pending;

	if (!said.at_ns || w->now_ns - said.at_ns < SETTLED_NS)
		return;
	w->pending.at_ns = 0;
	report(w, &said);
}

/* --temp-dir puts the session elsewhere than below /tmp/ray. */
static void ask_raylet(struct ray_watch *w, pid_t raylet)
{
	static const char option[] = "--log_dir=";
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(COMMAND_LINE_MAX);
	char path[40];
	const char *at, *end;

	w->raylet = raylet;
	snprintf(path, sizeof(path), "proc/%d/cmdline", (int)raylet);
	rootfd_read(w->root_fd, path, &text, NULL);
	end = strbuf_str(&text) + text.len;
	for (at = strbuf_str(&text); at < end; at += strlen(at) + 1)
		if (strncmp(at, option, sizeof(option) - 1) == 0)
			ray_logs_set_dir(w->logs, at + sizeof(option) - 1);
}

void ray_watch_poll(struct ray_watch *w, const struct observer *o, int64_t now_ns, const struct ray_watch_callbacks *callbacks)
{
	struct ray_summary summary;

	if (!w)
		return;
	remember_high(w, &o->last, now_ns);
	ray_tally_kernel(&w->tally, now_ns, o->last.memory.oom_kill);
	w->now_ns = now_ns;
	w->callbacks = callbacks;
	w->lookups = 0;
	if (o->node.raylet != w->raylet)
		ask_raylet(w, o->node.raylet);
	ray_logs_poll(w->logs, now_ns, on_event, w);
	report_pending(w);
	if (ray_tally_summary(&w->tally, now_ns, &summary))
		callbacks->summary(&summary, callbacks->arg);
}

void ray_watch_finish(struct ray_watch *w, int64_t now_ns)
{
	if (!w)
		return;
	w->now_ns = now_ns;
	w->callbacks = NULL;
	w->lookups = 0;
	ray_logs_finish(w->logs, now_ns, on_event, w);
}
