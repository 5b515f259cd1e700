/* SPDX-License-Identifier: Apache-2.0 */
/* Notes in a container's history, for the next sidecar, how far this sidecar has come with it. */
#include "sidecar/ending/life.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lib/fileio.h"
#include "lib/units.h"

static void read_boot_id(char id[static LIFE_BOOT_ID_MAX])
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(LIFE_BOOT_ID_MAX - 1);

	file_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", &text, NULL);
	snprintf(id, LIFE_BOOT_ID_MAX, "%.*s", (int)strcspn(strbuf_str(&text), "\n"),
		 strbuf_str(&text));
}

void life_begin(struct life *ret_life, const char *name, int64_t started_ns, pid_t launcher)
{
	*ret_life = (struct life){
		.started_ns = started_ns,
		.unix_offset_ns = now_realtime_ns() - now_boottime_ns(),
		.launcher = launcher,
		.phase = LIFE_RUNS,
		.baseline = MEMORY_ABSENT,
		.after = MEMORY_ABSENT,
	};
	snprintf(ret_life->name, sizeof(ret_life->name), "%s", name);
	read_boot_id(ret_life->boot_id);
}

bool life_same(const struct life *a, const struct life *b)
{
	return a->started_ns == b->started_ns && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->boot_id, b->boot_id) == 0;
}

static struct snapshot snapshot_of(const struct sample *s)
{
	struct snapshot snapshot = {
		.at_ns = s->at_ns,
		.memory = s->memory,
		.n_top = s->n_top,
		.n_processes = s->n_processes,
		.ends = -1,
		.shm_used = -1,
	};

	for (uint32_t i = 0; i < s->n_top; i++) {
		snapshot.top[i].pid = s->top[i].pid;
		snapshot.top[i].rss = s->top[i].rss;
		snapshot.top[i].shared = s->top[i].shared;
		snapshot.top[i].growth = GROWTH_UNKNOWN;
		memcpy(snapshot.top[i].name, s->top[i].name, sizeof(snapshot.top[i].name));
	}
	return snapshot;
}

static void add_snapshot(const struct sample *s, void *arg)
{
	struct observer *o = arg;

	observer_note_peak(o, &s->memory, s->at_ns);
	o->latest = s->memory;
	o->latest_ns = s->at_ns;
	o->previous = o->last;
	o->last = snapshot_of(s);
	if (!o->oom_seen_ns || s->at_ns < o->oom_seen_ns)
		o->before_oom = o->last;
}

/* Restores the last sample, and what was known about OOM kills. */
static void restore(struct observer *o)
{
	const struct life *l = history_life(o->history);

	o->baseline = l->baseline;
	o->shmem_at_start = l->shmem_at_start;
	o->command = l->command_pid;
	o->oom_seen_ns = l->oom_seen_ns;
	o->oom_last_ns = l->oom_last_ns;
	o->victim_pid = l->victim_pid;
	o->victim_rss = l->victim_rss;
	memcpy(o->victim, l->victim, sizeof(o->victim));
	o->kernel.since_us = l->log_since_us;
	process_watch_restore(&o->processes, &l->ray);
	o->process_oom_ns = l->ray.oom_ns;
	history_each(o->history, add_snapshot, o);
}

void life_adopt(struct observer *o, struct history *h)
{
	history_free(o->history);
	o->history = h;
	/* Nothing has been noted yet for a new container. */
	if (history_life(h)->cgroup_version || history_last(h))
		restore(o);
	observer_resume_counters(o, now_boottime_ns());
	life_note(o);
}

static void note_ray(const struct observer *o, struct life_ray *r)
{
	process_watch_save(&o->processes, r);
	r->oom_ns = o->process_oom_ns;
}

void life_note(const struct observer *o)
{
	const struct life *known = history_life(o->history);
	struct life l = *known;

	if (!l.started_ns || l.phase != LIFE_RUNS)
		return;
	l.cgroup_version = o->memcg.version;
	l.cgroup_shared = o->cgroup_shared;
	l.command_pid = o->command;
	l.command = o->kernel.command;
	l.log_since_us = o->kernel.since_us;
	l.log_shared = o->kernel.shared;
	snprintf(l.cgroup, sizeof(l.cgroup), "%s", o->kernel.cgroup);
	l.baseline = o->baseline;
	l.shmem_at_start = o->shmem_at_start;
	l.oom_seen_ns = o->oom_seen_ns;
	l.oom_last_ns = o->oom_last_ns;
	l.victim_pid = o->victim_pid;
	l.victim_rss = o->victim_rss;
	memcpy(l.victim, o->victim, sizeof(l.victim));
	note_ray(o, &l.ray);
	/* NOLINTNEXTLINE: different padding causes one needless write and nothing more. */
	if (memcmp(&l, known, sizeof(l)) != 0)
		history_set_life(o->history, &l);
}

void life_ended(const struct observer *o, const struct ending *e)
{
	struct life l = *history_life(o->history);

	if (!l.started_ns)
		return;
	l.phase = LIFE_ENDED;
	l.ended_ns = e->ended_ns;
	note_ray(o, &l.ray);
	l.status_known = e->status_known;
	l.wait_status = e->wait_status;
	l.after_known = e->after_known;
	l.after = e->after;
	l.group_ended_by_us = e->group_ended_by_us;
	l.pod_terminating = e->pod_terminating;
	l.asked_signal = e->asked.signal;
	l.asked_by = e->asked.sender;
	l.asked_ns = e->asked.at_ns;
	if (e->gap) {
		l.lost_from_unix_ns = e->gap->from_unix_ns;
		l.lost_until_unix_ns = e->gap->until_unix_ns;
	}
	history_set_life(o->history, &l);
}

void life_reporting(const struct observer *o, const char *path)
{
	struct life l = *history_life(o->history);

	if (!l.started_ns)
		return;
	l.phase = LIFE_REPORTING;
	snprintf(l.bundle, sizeof(l.bundle), "%s", path);
	/* The container lives on. With its report this OOM kill is finished. */
	if (!l.ended_ns)
		l.after = o->oom_seen_ns ? o->last.memory : o->baseline;
	history_set_life(o->history, &l);
}

void life_reported(const struct observer *o)
{
	struct life l = *history_life(o->history);

	if (!l.started_ns)
		return;
	if (l.ended_ns)
		l.phase = LIFE_REPORTED;
	else {
		/* If the bundle could not be written, the next sidecar tries again. */
		if (l.phase == LIFE_REPORTING)
			l.baseline = l.after;
		l.phase = LIFE_RUNS;
		l.bundle[0] = '\0';
	}
	history_set_life(o->history, &l);
}

void life_revive(struct observer *o, struct history *h, const struct record_options *options)
{
	const struct life *l = history_life(h);

	*o = (struct observer){ .root_fd = -1,
				.history = h,
				.latest = MEMORY_ABSENT,
				.last.memory = MEMORY_ABSENT,
				.last.shm_used = -1,
				.node = RAY_NODE_UNKNOWN };
	for (size_t i = 0; i < MEMCG_FILES_MAX; i++)
		o->memcg.fds[i] = -1;
	o->memcg.version = l->cgroup_version;
	o->cgroup_shared = l->cgroup_shared != 0;
	o->kernel.options = options->kernel_log;
	o->kernel.pod_uid = options->id.pod_uid;
	o->kernel.command = l->command;
	o->kernel.shared = l->log_shared != 0;
	/*
	 * The log may be that of a later start of the machine. Nothing in it is older than what was
	 * noted.
	 */
	o->kernel.named_since_us = o->kernel.begin_us = l->log_since_us;
	snprintf(o->kernel.cgroup, sizeof(o->kernel.cgroup), "%s", l->cgroup);
	restore(o);
}

void life_ending(const struct life *l, struct ending *ret_ending)
{
	*ret_ending = (struct ending){
		.started_ns = l->started_ns,
		.ended_ns = l->ended_ns,
		.status_known = l->status_known != 0,
		.wait_status = l->wait_status,
		.after_known = l->after_known != 0,
		.after = l->after,
		.group_ended_by_us = l->group_ended_by_us != 0,
		.pod_terminating = l->pod_terminating != 0,
		.process_oom_ns = l->ray.oom_ns,
		.asked = { .signal = l->asked_signal, .sender = l->asked_by, .at_ns = l->asked_ns },
	};
}
