/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports the cores of a container's processes, each once: as the cause of the
 * container's end, together with Ray's message about the same worker, or by itself.
 *
 * A core arrives before any other news of its process: before the launcher's
 * exit message, and a second or so (more on a busy machine) before raylet logs
 * that a worker died. So each core waits some seconds for these messages.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/crash/core_route.h"
#include "sidecar/record/container_internal.h"
#include "sidecar/record/gate.h"
#include "sidecar/sample/rootfd.h"
#include "sidecar/socket/discard.h"

/* How long a crash waits for Ray's line, which a busy machine delays, or for the container's end */
#define JOIN_NS (10 * NS_PER_SEC)
/* How long a process's own report waits for the backtrace; a later one is added to the bundle. */
#define BACKTRACE_WAIT_NS (10 * NS_PER_SEC)
/* A process that crashed at most this long before the container's end may have caused it. */
#define EXPLAINS_NS (10 * NS_PER_SEC)
/* The time of a file is that of the last tick of the kernel's clock, or of a file server's. */
#define FILE_CLOCK_NS (50 * NS_PER_MS)
#define FILE_AHEAD_NS (600 * NS_PER_SEC) /* a file server's clock is never ahead by more */
/* How long the container's report waits for a backtrace; the launcher waits 2 s in all. */
#define DEATH_WAIT_MS 1500
/*
 * The same if the launcher was asked to wait HOLD_S: the machine may be busy or the program large.
 */
#define HELD_WAIT_MS 6000
#define HOLD_S "8"

/* What is noted for each crash. */
struct note {
	int64_t seen_ns;
	bool old; /* of a previous start of the container */
	/* whose process left it, as far as that was known when it was last asked for */
	enum process_owner owner;
	bool ray_reported;
	struct ray_finding finding;
};

static int64_t to_boottime_ns(int64_t unix_ns)
{
	return now_boottime_ns() - (now_realtime_ns() - unix_ns);
}

/* Returns whether the core was written before this start of the container. */
static bool is_old(const struct container *c, int64_t unix_ns)
{
	return to_boottime_ns(unix_ns) < c->hello.started_ns - FILE_CLOCK_NS;
}

/*
 * Returns whether the core may have been written before the clock was set back, perhaps before this
 * start of the container.
 */
static bool is_of_another_clock(int64_t unix_ns)
{
	return unix_ns > now_realtime_ns() + FILE_AHEAD_NS;
}

/*
 * Returns whether the process of the core's PID is older than the core, and lives on. One of which
 * the kernel writes a core ends.
 */
static bool pid_lives(const struct container *c, const struct crash *crash)
{
	const struct note *note = crash_note(crash);

	return !note->old && c->observer.table &&
	       process_table_lives_since(c->observer.table, crash_info(crash)->pid,
					 to_boottime_ns(crash_unix_ns(crash)));
}

/* --- Whose a core is --- */

/* Returns whether a process ended as the core says, by the launcher's word. */
static bool ended_by_core(const struct container *c, const struct crash_info *info,
			  int64_t dumped_ns)
{
	const struct watched_end *end =
		worker_watch_end_of(&c->observer.workers, info->pid, dumped_ns);
	const struct ending *e = &c->ending;

	if (info->pid == c->hello.command)
		return e->status_known && WIFSIGNALED(e->wait_status) &&
		       WTERMSIG(e->wait_status) == info->signal;
	return end && end->status_known && WIFSIGNALED(end->wait_status) &&
	       WTERMSIG(end->wait_status) == info->signal;
}

/*
 * Returns whether the core lies on a volume that other pods may have as well, whose processes have
 * the same PIDs as ours, or we cannot tell: before Linux 5.8 statx(2) gives no ID of the mount.
 */
static bool may_be_of_another_pod(const struct container *c, int core_fd)
{
	_cleanup_strbuf_ struct strbuf mounts = STRBUF_INIT(LIMITS_MOUNTS_MAX);
	struct statx st = { .stx_mask = 0 };
	char path[48];

	snprintf(path, sizeof(path), "proc/%d/mountinfo", (int)c->hello.launcher);
	return statx(core_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st) < 0 ||
	       !(st.stx_mask & STATX_MNT_ID) ||
	       rootfd_read_no_fuse(c->observer.root_fd, path, &mounts, NULL) < 0 ||
	       limits_mount_may_be_shared(strbuf_str(&mounts), (long)st.stx_mnt_id);
}

/*
 * Returns whose process left the core. In a PID namespace that is not the container's own, other
 * jobs may leave theirs in the same directory, and other pods on a volume of several. A process of
 * ours has a parent of ours, because orphans go to the launcher. A PID that is not above the
 * launcher's may be one of a namespace that a process of ours made; in a pod, `kubectl exec` starts
 * processes beside the launcher.
 */
static enum process_owner core_owner(const struct container *c, const struct crash *crash)
{
	const struct crash_info *info = crash_info(crash);
	struct note *note = crash_note(crash);
	const struct process_table *table = c->observer.table;
	/* In a PID namespace of several, another container may leave a core with the same PIDs. */
	bool of_machine = c->observer.kernel.command > 0;

	if (note->owner != PROCESS_UNKNOWN)
		return note->owner;
	if ((c->hello.launcher <= 1 && !info->shared) ||
	    (of_machine && info->ppid == c->hello.command) ||
	    ended_by_core(c, info, to_boottime_ns(crash_unix_ns(crash))))
		note->owner = PROCESS_OURS;
	else if (table && !pid_lives(c, crash))
		note->owner = process_table_owner(table, info->pid);
	if (table && note->owner == PROCESS_UNKNOWN && of_machine)
		note->owner = process_table_owner(table, info->ppid);
	if (note->owner == PROCESS_FOREIGN &&
	    (info->pid <= c->hello.launcher || !c->options->own_launcher))
		note->owner = PROCESS_UNKNOWN;
	return note->owner;
}

/* --- Reports of processes --- */

static void report_process(struct container *c, struct crash *crash)
{
	const struct note *note = crash_note(crash);
	int64_t dumped_ns = to_boottime_ns(crash_unix_ns(crash)), now = now_boottime_ns();
	struct ending e = {
		.ended_ns = note->old || (dumped_ns > c->hello.started_ns && dumped_ns <= now) ?
				    dumped_ns :
				    note->seen_ns,
		.ray = note->ray_reported ? &note->finding : NULL,
		.core_is_old = note->old,
		.core_is_unproved = core_owner(c, crash) != PROCESS_OURS,
		.core_pid_lives = pid_lives(c, crash),
	};

	if (e.core_is_unproved)
		crash_leave_file(crash);
	container_report_process(c, &e, crash,
				 note->ray_reported ? "worker-died" : "process-crashed");
}

void container_keep_core(struct crash *crash, const struct report *r)
{
	/* In a crash loop only the core of the first crash is kept. */
	if (r->directory[0] && !r->keeping.report_only)
		crash_keep(crash, r->directory, r->backtrace_kept);
	else
		crash_drop(crash, CORE_DROP_REPORT_ONLY);
}

/* Returns whether nothing more has to be waited for. */
static bool is_due(const struct crash *crash, const void *arg)
{
	const struct note *note = crash_note(crash);
	int64_t since = *(const int64_t *)arg - note->seen_ns;

	if (!crash_is_unwound(crash) && since < BACKTRACE_WAIT_NS)
		return false;
	return note->ray_reported || note->old || since >= JOIN_NS;
}

static void on_core_wait_over(evutil_socket_t, short, void *arg)
{
	container_listen(arg);
}

static void on_looked(struct crash *crash, const struct err *err, void *arg)
{
	struct container *c = arg;
	struct note *note = crash ? calloc(1, sizeof(*note)) : NULL;

	if (err->code)
		log_warning_limited("%s: core: %s", c->hello.name, err_text(err));
	if (note) {
		note->seen_ns = now_boottime_ns();
		note->old = is_old(c, crash_unix_ns(crash));
		note->owner = crash_info(crash)->by_node ? PROCESS_OURS : PROCESS_UNKNOWN;
		crash_set_note(crash, note);
	}
	/*
	 * If the list of processed cores is not in a file, a core of a previous start may have been
	 * reported already.
	 */
	if (crash && (!note || (note->old && !taken_remembers(c->callbacks.taken)) ||
		      is_of_another_clock(crash_unix_ns(crash))))
		crash_drop(crash, CORE_DROP_STALE);
	else if (crash && core_owner(c, crash) == PROCESS_FOREIGN)
		crash_drop(crash, CORE_DROP_NO_CORE);
	if (evtimer_pending(c->core_wait, NULL)) {
		event_del(c->core_wait);
		container_listen(c);
	}
	container_core_came(c);
}

/*
 * Returns whether the process goes on. A process at a breakpoint, or one that handles its signal,
 * has a signal that a debugger notes in the core that it writes.
 */
static bool lives_on(const struct container *c, const struct crash *crash)
{
	const struct note *note = crash_note(crash);

	return crash_info(crash)->by_debugger && !note->ray_reported && pid_lives(c, crash);
}

static void settle(struct container *c, struct crash *crash)
{
	if (lives_on(c, crash) || core_owner(c, crash) == PROCESS_FOREIGN)
		crash_drop(crash, CORE_DROP_NO_CORE);
	else
		report_process(c, crash);
}

void container_crashes_due(struct container *c, int64_t now_ns)
{
	struct crash *crash;

	if (container_is_over(c) || c->publications)
		return;
	while ((crash = crashes_find(c->crashes, is_due, &now_ns)))
		settle(c, crash);
}

static bool is_of_pid(const struct crash *crash, const void *arg)
{
	const struct note *note = crash_note(crash);

	return crash_info(crash)->pid == *(const pid_t *)arg && !note->old && !note->ray_reported;
}

bool container_crash_of_worker(struct container *c, const struct ray_finding *finding)
{
	struct crash *crash = finding->event.pid > 0 ?
				      crashes_find(c->crashes, is_of_pid, &finding->event.pid) :
				      NULL;
	struct note *note = crash ? crash_note(crash) : NULL;

	if (!note)
		return false;
	note->ray_reported = true;
	note->owner = PROCESS_OURS;
	note->finding = *finding;
	container_crashes_due(c, now_boottime_ns());
	return true;
}

struct crash *container_crash_of_process(struct container *c, pid_t pid)
{
	return crashes_find(c->crashes, is_of_pid, &pid);
}

static bool is_of_kind(const struct crash *crash, const void *arg)
{
	const enum ray_process_kind *kind = arg;
	const struct note *note = crash_note(crash);

	return crash_info(crash)->known && note->owner == PROCESS_OURS && !note->old &&
	       !note->ray_reported && ray_process_of_comm(crash_info(crash)->comm) == *kind;
}

struct crash *container_crash_of_comm(struct container *c, enum ray_process_kind kind)
{
	return kind == RAY_PROCESS_NONE ? NULL : crashes_find(c->crashes, is_of_kind, &kind);
}

/* --- The end of the container --- */

struct end {
	const struct container *c;
	const struct ending *e;
	int signal; /* 0: the command exited */
	bool must_match;
};

static bool explains(const struct crash *crash, const void *arg)
{
	const struct end *end = arg;
	const struct note *note = crash_note(crash);
	const struct crash_info *info = crash_info(crash);

	if (note->old || note->ray_reported || end->e->ended_ns - note->seen_ns > EXPLAINS_NS ||
	    core_owner(end->c, crash) != PROCESS_OURS || lives_on(end->c, crash))
		return false;
	return !end->must_match || info->pid == end->c->hello.command ||
	       (end->signal && info->signal == end->signal);
}

/*
 * Returns the crash that caused the end: that of the command itself or, if a shell passed a signal
 * on, one with that signal; after another failure, any.
 */
static struct crash *crash_of_end(const struct container *c, const struct ending *e)
{
	struct end end = { .c = c, .e = e, .must_match = true };

	if (e->status_known && WIFSIGNALED(e->wait_status))
		end.signal = WTERMSIG(e->wait_status);
	else if (e->status_known && WEXITSTATUS(e->wait_status) > 128)
		end.signal = WEXITSTATUS(e->wait_status) - 128;
	struct crash *crash = crashes_find(c->crashes, explains, &end);
	/*
	 * `ray start` exits after one of Ray's processes has crashed. The first such process is
	 * taken.
	 */
	const struct process_watch *w = &c->observer.processes;
	bool succeeded = e->status_known && e->wait_status == 0;

	for (const struct ray_process_end *of_ray = w->ends;
	     !crash && !end.signal && of_ray < w->ends + w->n_ends; of_ray++)
		/* After a success, that of a raylet which has a report of its own stays for it. */
		if (e->ended_ns - of_ray->ended_ns <= EXPLAINS_NS &&
		    !(succeeded && container_failed_before_stop(c, of_ray)))
			crash = crashes_find(c->crashes, is_of_pid, &of_ray->pid);
	end.must_match = false;
	if (!crash && !end.signal && e->status_known && e->wait_status != 0)
		crash = crashes_find(c->crashes, explains, &end);
	return crash;
}

void container_find_death_crash(struct container *c)
{
	container_children_due(c, 0); /* those that left a core are told with it */
	c->death_crash = crash_of_end(c, &c->ending);
}

static void on_death_wait_over(evutil_socket_t, short, void *arg)
{
	container_event(arg, CONTAINER_UNWOUND);
}

static bool is_being_unwound(const struct crash *crash, const void *)
{
	const struct note *note = crash_note(crash);

	return !crash_is_unwound(crash) && !note->old;
}

static bool ended_in_order(const struct container *c)
{
	return c->ending.status_known && c->ending.wait_status == 0;
}

/*
 * Returns whether the command ended in order while the backtrace of a child is being made, which
 * then has a report.
 */
static bool child_is_unwound_at_success(const struct container *c)
{
	return ended_in_order(c) && crashes_find(c->crashes, is_being_unwound, NULL);
}

/*
 * Returns how long to wait. A pod that is being deleted is not held for it, nor is a success for
 * the backtrace of a child.
 */
static int death_wait_ms(const struct container *c)
{
	bool held = c->exit_reported && !c->terminating_ns && !child_is_unwound_at_success(c);

	if (held)
		launch_send(c->fd, "hold", HOLD_S, NULL);
	return held ? HELD_WAIT_MS : DEATH_WAIT_MS;
}

bool container_death_waits(struct container *c)
{
	/* A core explains neither a success nor an end in which the launcher was killed as well. */
	bool failed = c->ending.status_known && c->ending.wait_status != 0;

	container_find_death_crash(c);
	if (c->death_crash ? crash_is_unwound(c->death_crash) :
			     !container_awaits_node_core(c) &&
				     (!failed || crashes_unread(c->crashes) == 0) &&
				     !child_is_unwound_at_success(c))
		return false;
	return container_wait(c, -1, on_death_wait_over, death_wait_ms(c));
}

/* It is called when the process is dead, because the node's settings may have changed before. */
void container_explain_missing_core(struct container *c, int wait_status)
{
	struct core_pattern pattern;
	bool read = core_pattern_read("/proc", &pattern), signaled = WIFSIGNALED(wait_status);

	core_route_needs(read ? &pattern : NULL, c->crashes != NULL, signaled,
			 signaled && WCOREDUMP(wait_status), c->core_needs, sizeof(c->core_needs));
}

void container_add_crash(struct container *c, struct ending *e)
{
	if (c->death_crash) {
		e->crash = crash_info(c->death_crash);
		e->backtrace = crash_backtrace(c->death_crash);
		return;
	}
	if (container_child_crashed(c, e))
		e->crash = &c->child_crash;
	else
		container_explain_missing_core(c, e->status_known ? e->wait_status : 0);
	e->core_needs = c->core_needs;
}

static bool is_other(const struct crash *crash, const void *arg)
{
	return crash != arg;
}

void container_report_other_crashes(struct container *c)
{
	struct crash *crash;

	container_workers_due(c, INT64_MAX);
	/* Where the container failed, its report has these ends as evidence. */
	if (c->succeeded)
		container_children_due(c, INT64_MAX);
	container_ray_due(c, now_boottime_ns());
	while ((crash = crashes_find(c->crashes, is_other, c->death_crash)))
		settle(c, crash);
}

/* --- Callbacks of the crashes --- */

static void on_unwound(struct crash *crash, void *arg)
{
	struct container *c = arg;

	if (c->state == CONTAINER_ENDED && !container_awaits_logs(c) &&
	    (crash == c->death_crash || (ended_in_order(c) && !child_is_unwound_at_success(c))))
		container_event(c, CONTAINER_UNWOUND);
	else
		container_crashes_due(c, now_boottime_ns());
}

static void on_added(void *arg)
{
	struct container *c = arg;

	keeper_changed(c->keeper);
}

/*
 * The core is in the bundle, or is not wanted. If the kernel wrote it only because of us, the file
 * is removed.
 */
static void on_over(const struct core_key *key, bool known, void *arg)
{
	const struct container *c = arg;
	char text[96];

	/*
	 * A core from before the container's start is not ours, and beside other jobs it may be
	 * theirs: it stays.
	 */
	if (is_old(c, key->mtime_ns) || is_of_another_clock(key->mtime_ns) ||
	    (!known && c->hello.launcher > 1))
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 " %" PRId64, key->dev, key->ino,
		 key->mtime_ns);
	launch_send(c->fd, "remove", text, NULL);
}

static int64_t room(void *arg)
{
	return keeper_room(((struct container *)arg)->keeper);
}

static void on_idle(void *arg)
{
	container_cores_changed(arg);
}

void container_cores_changed(struct container *c)
{
	if (c->concluded && !container_publishes(c) && !container_keeps_core(c))
		container_event(c, CONTAINER_CORES_KEPT);
}

bool container_keeps_core(const struct container *c)
{
	return crashes_busy(c->crashes) || crashes_unread(c->crashes) > 0 ||
	       container_awaits_node_core(c);
}

void container_watch_crashes(struct container *c)
{
	const struct crashes_callbacks callbacks = { .looked = on_looked,
						     .discard = discard,
						     .unwound = on_unwound,
						     .added = on_added,
						     .over = on_over,
						     .idle = on_idle,
						     .room = room,
						     .arg = c };

	if (c->options->cores == CORES_OFF ||
	    !(c->core_wait = evtimer_new(c->base, on_core_wait_over, c)))
		return;
	c->crashes = crashes_new(c->base, c->options->cores, c->observer.root_fd,
				 c->callbacks.taken, c->callbacks.core_stats, &callbacks);
}

bool container_core(struct container *c, const struct launch_message *m, int core_fd)
{
	const struct timeval within = { .tv_sec = CORE_LOOK_NS / NS_PER_SEC,
					.tv_usec = CORE_LOOK_NS % NS_PER_SEC / 1000 };
	const struct core_hint hint = { .pid = m->core_pid,
					.tid = m->core_tid,
					.signal = m->core_signal,
					.comm = m->core_comm,
					.shared = may_be_of_another_pod(c, core_fd) };
	struct err err = { 0 };

	if (!c->crashes || container_is_over(c))
		return false;
	if (gate_admit(core_fd, GATE_CORE, &err) < 0) {
		log_warning_limited("%s: %s", c->hello.name, err_text(&err));
		return false;
	}
	if (!crashes_take(c->crashes, core_fd, &hint))
		return false;
	/*
	 * The launcher's next message, perhaps about the end, comes after what its core shows.
	 * Behind a core that is late nothing waits.
	 */
	if (crashes_unread(c->crashes) == 1 && event_add(c->core_wait, &within) == 0)
		event_del(c->readable);
	return true;
}
