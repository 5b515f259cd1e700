/* SPDX-License-Identifier: Apache-2.0 */
/* Follows Ray's logs, and decides which of their events are reported. */
#include "sidecar/watch/ray_watch.h"

#include <stdlib.h>
#include <string.h>

#include "sidecar/watch/ray_follower.h"

#define HIGH_NS (10 * NS_PER_SEC) /* how long the fullest snapshot is remembered */
#define INFEASIBLE_NS \
	(60 * NS_PER_SEC) /* a request that no node can have for so long is worth a warning */
#define INFEASIBLE_AGAIN_NS \
	(90 * NS_PER_SEC) /* the autoscaler repeats its message each half minute */
#define ISOLATION_NS (60 * NS_PER_SEC) /* raylet repeats its message about its resource isolation */
#define LAST_WORDS_NS (30 * NS_PER_SEC)
/* A container that is alive so long after raylet ran out of descriptors lives on. */
#define SETTLED_NS (5 * NS_PER_SEC)

struct ray_watch {
	struct ray_follower follower;
	struct ray_tally tally;
	/* The snapshot with the most memory in the last seconds, which still has the victim. */
	struct snapshot high;
	struct ray_process_words words;
	/* The event of the last seconds that explains most; at_ns 0: there is none. */
	struct ray_finding last;
	/* raylet's last message about its resource isolation */
	char isolation[sizeof(((struct ray_event *)NULL)->detail)];
	int64_t isolation_ns; /* 0: there was no message */
	char infeasible[sizeof(
		((struct ray_event *)NULL)->detail)]; /* the last request that no node can have */
	int64_t infeasible_since_ns, infeasible_ns; /* 0: there was none */
	struct ray_finding pending; /* a report that waits for the container's end; at_ns 0: none */
	/* During a poll: */
	const struct ray_watch_callbacks *callbacks; /* NULL: only remember */
	int64_t now_ns;
	const struct ray_finding *subject; /* while it is reported */
	pid_t raylet; /* its PID at the last sweep, 0: there was none */
	/* What Ray logs is nothing of the container's, as far as is known. */
	bool of_others;
};

void ray_watch_of_others(struct ray_watch *w, bool of_others)
{
	if (w)
		w->of_others = of_others;
}

void ray_watch_free(struct ray_watch *w)
{
	if (!w)
		return;
	ray_follower_close(&w->follower);
	free(w);
}

int ray_watch_logs_dir(const struct ray_watch *w)
{
	return w && !w->of_others ? w->follower.logs_fd : -1;
}

void ray_watch_node(struct ray_watch *w, pid_t raylet, struct ray_node *n)
{
	if (!w)
		return;
	w->raylet = raylet;
	if (w->follower.node.raylet)
		*n = w->follower.node;
	ray_node_read_shm(n, w->follower.shm_fd);
}

bool ray_watch_hangs(const struct ray_watch *w)
{
	return w && w->follower.late;
}

const struct ray_finding *ray_watch_last_words(const struct ray_watch *w, int64_t now_ns)
{
	return w && w->last.at_ns && now_ns - w->last.at_ns <= LAST_WORDS_NS ? &w->last : NULL;
}

const char *ray_watch_isolation(const struct ray_watch *w, int64_t now_ns)
{
	return w && w->isolation_ns && now_ns - w->isolation_ns <= ISOLATION_NS ? w->isolation :
										  NULL;
}

const char *ray_watch_infeasible(const struct ray_watch *w)
{
	bool lasts = w && w->infeasible_ns - w->infeasible_since_ns >= INFEASIBLE_NS;

	return lasts && w->now_ns - w->infeasible_ns <= INFEASIBLE_AGAIN_NS ? w->infeasible : NULL;
}

/* Nodes that are about to join make a request infeasible for a moment. */
static void note_infeasible(struct ray_watch *w, const struct ray_event *event)
{
	if (!w->infeasible_ns || w->now_ns - w->infeasible_ns > INFEASIBLE_AGAIN_NS)
		w->infeasible_since_ns = w->now_ns;
	w->infeasible_ns = w->now_ns;
	memcpy(w->infeasible, event->detail, sizeof(w->infeasible));
}

const struct ray_process_words *ray_watch_process_words(const struct ray_watch *w)
{
	return w ? &w->words : NULL;
}

const struct ray_finding *ray_watch_subject(const struct ray_watch *w, int64_t now_ns)
{
	return w && w->subject ? w->subject : ray_watch_last_words(w, now_ns);
}

const struct snapshot *ray_watch_snapshot(const struct ray_watch *w, const struct snapshot *last,
					  const struct snapshot *previous, pid_t pid)
{
	const struct snapshot *const candidates[] = { last, previous, w ? &w->high : last };

	for (size_t i = 0; pid && i < ARRAY_SIZE(candidates); i++)
		if (snapshot_has(candidates[i], pid))
			return candidates[i];
	return last;
}

/*
 * Remembers the snapshot with the most memory. A large process takes a while to die, and its pages
 * still count when it is no longer among the processes. In that time the snapshot that lists it
 * remains the fullest.
 */
static void remember_high(struct ray_watch *w, const struct snapshot *s, int64_t now_ns)
{
	bool stale = now_ns - w->high.at_ns > HIGH_NS;

	if (!stale && (s->memory.usage < w->high.memory.usage ||
		       (w->high.n_top && !snapshot_has(s, w->high.top[0].pid))))
		return;
	w->high = *s;
}

/* Ranks events by how much they explain of a container's end. */
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

static void report(struct ray_watch *w, const struct ray_finding *finding)
{
	w->subject = finding;
	w->callbacks->died(finding, w->callbacks->arg);
	w->subject = NULL;
}

static void on_finding(const struct ray_finding *heard, void *arg)
{
	struct ray_watch *w = arg;
	const struct ray_event *event = &heard->event;
	const struct watched_end *end = NULL;
	struct ray_finding finding = *heard;
	enum ray_outcome outcome;

	if (w->of_others)
		return;
	/* The child was asked at that time; one that hung may have read it much later. */
	finding.at_ns = MAX(heard->at_ns, w->now_ns - NS_PER_SEC);
	ray_process_words_note(&w->words, event, finding.file, w->now_ns);
	if (event->kind == RAY_SUMMARY)
		return; /* our own record covers what Ray's does not see */
	if (event->kind == RAY_ISOLATION) {
		memcpy(w->isolation, event->detail, sizeof(w->isolation));
		w->isolation_ns = w->now_ns;
		return;
	}
	if (event->kind == RAY_INFEASIBLE) {
		note_infeasible(w, event);
		return;
	}
	if (w->callbacks && w->callbacks->workers)
		end = worker_watch_end_of(w->callbacks->workers, event->pid, finding.at_ns);
	outcome = ray_tally_event(&w->tally, w->now_ns, &finding.event,
				  end && end->status_known ? end->wait_status : -1,
				  &finding.left_out);
	if (outcome == RAY_KNOWN && event->kind != RAY_NODE_LOST && event->kind != RAY_DAEMON_CRASH)
		return;
	if (!ray_watch_last_words(w, w->now_ns) ||
	    weight(event->kind) >= weight(w->last.event.kind))
		w->last = finding;
	if (outcome != RAY_REPORT || !w->callbacks)
		return;
	if (event->kind == RAY_NODE_LOST)
		w->callbacks->node_lost(&finding, w->callbacks->arg);
	else if (event->kind == RAY_FDS_EXHAUSTED && !event->pid)
		/* This is one of Ray's own processes, so the container may end because of it. */
		w->pending = finding;
	else
		report(w, &finding);
}

struct ray_watch *ray_watch_new(int root_fd, int64_t now_ns)
{
	struct ray_watch *w = root_fd >= 0 ? calloc(1, sizeof(*w)) : NULL;

	if (!w)
		return NULL;
	ray_tally_init(&w->tally, now_ns);
	ray_follower_init(&w->follower, root_fd, on_finding, w);
	return w;
}

static void report_pending(struct ray_watch *w)
{
	struct ray_finding finding = w->pending;

	if (!finding.at_ns || w->now_ns - finding.at_ns < SETTLED_NS)
		return;
	w->pending.at_ns = 0;
	report(w, &finding);
}

int ray_watch_poll(struct ray_watch *w, const struct snapshot *last, int64_t now_ns,
		   const struct ray_watch_callbacks *callbacks)
{
	struct ray_summary summary;

	if (!w)
		return -1;
	remember_high(w, last, now_ns);
	if (!callbacks->kills_are_shared)
		ray_tally_kernel(&w->tally, now_ns, last->memory.oom_kill);
	w->now_ns = now_ns;
	w->callbacks = callbacks;
	ray_follower_poll(&w->follower, w->raylet, now_ns);
	report_pending(w);
	if (ray_tally_summary(&w->tally, now_ns, false, &summary))
		callbacks->summary(&summary, callbacks->arg);
	return w->follower.asked ? w->follower.child.fd : -1;
}

bool ray_watch_last_summary(struct ray_watch *w, struct ray_summary *ret_summary)
{
	return w && ray_tally_summary(&w->tally, w->now_ns, true, ret_summary);
}

bool ray_watch_finish(struct ray_watch *w, int64_t now_ns, int *ret_fd)
{
	if (!w)
		return true;
	w->now_ns = now_ns;
	w->callbacks = NULL;
	bool finished = ray_follower_finish(&w->follower, now_ns);
	*ret_fd = w->follower.child.fd;
	return finished || w->follower.late;
}
