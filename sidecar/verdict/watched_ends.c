/* SPDX-License-Identifier: Apache-2.0 */
/* What the ends of the container's other processes show. */
#include "sidecar/verdict/watched_ends.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "lib/units.h"
#include "sidecar/verdict/oom_cause.h"
#include "sidecar/verdict/stop_request.h"

/*
 * The sampler looks up to this long after the kill; then the victim takes as long to give its
 * memory back.
 */
#define OOM_SEEN_WITHIN_NS (3 * NS_PER_SEC)
/* A process that ended at most this long before the container may have been the reason. */
#define ENDED_NEAR_NS (10 * NS_PER_SEC)
#define ENDS_SHOWN 3

static int signal_of_end(const struct watched_end *e)
{
	return e->pid > 0 && e->status_known && WIFSIGNALED(e->wait_status) ?
		       WTERMSIG(e->wait_status) :
		       0;
}

/*
 * Whether it ended when the OOM killer took its victim, at kill_ns, or less than within_ns later.
 */
static bool ended_with_kill(const struct watched_end *e, int64_t kill_ns, int64_t within_ns)
{
	return e->name[0] && e->ended_ns >= kill_ns - OOM_SEEN_WITHIN_NS &&
	       e->ended_ns <= kill_ns + within_ns;
}

const struct watched_end *watched_ends_killed_at(const struct watched_end *ends, size_t n,
						 int64_t kill_ns)
{
	const struct watched_end *first = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct watched_end *e = &ends[i];

		if (signal_of_end(e) == SIGKILL &&
		    ended_with_kill(e, kill_ns, OOM_DIES_WITHIN_NS) &&
		    (!first || e->ended_ns < first->ended_ns))
			first = e;
	}
	return first;
}

const struct watched_end *watched_ends_oom_victim(const struct observation *o)
{
	int64_t kill_ns = o->ended_ns - MAX(o->oom_age_ns, (int64_t)0);
	const struct watched_end *killed;

	if (!o->cgroup_shared || o->group_ended_by_us || o->kernel.oom || o->kernel.rules_out ||
	    o->kernel.others || o->n_signals ||
	    (o->oom_age_ns < 0 && oom_rise(o->before.oom_kill, o->after.oom_kill) <= 0))
		return NULL;
	killed = watched_ends_killed_at(o->watched_ends, o->n_watched_ends, kill_ns);
	/*
	 * The kernel takes the largest. Before Linux 6.15 nobody but its parent learns how that
	 * ended, and one that ends later may end for a reason of its own. Where Ray runs, its
	 * workers go first by their oom_score_adj, whatever they hold, and a driver may end because
	 * one is gone.
	 */
	if (!killed && !o->has_raylet && oom_is_of_largest(o, o->unread_held) &&
	    ended_with_kill(&o->unread_end, kill_ns, OOM_SEEN_WITHIN_NS))
		killed = &o->unread_end;
	return killed;
}

bool watched_end_is_crash(const struct watched_end *e)
{
	return e->name[0] && signal_is_of_crash(signal_of_end(e));
}

bool watched_end_is_crash_before(const struct watched_end *e, int64_t ended_ns)
{
	return watched_end_is_crash(e) && e->ended_ns <= ended_ns &&
	       ended_ns - e->ended_ns <= ENDED_NEAR_NS;
}

/*
 * The latest that ended before `before`, and not long before the container, or after it. Workers
 * are raylet's, which logs how they end.
 */
static const struct watched_end *end_before(const struct observation *o, int64_t before_ns)
{
	const struct watched_end *latest = NULL;

	for (size_t i = 0; i < o->n_watched_ends; i++) {
		const struct watched_end *e = &o->watched_ends[i];

		if (!signal_of_end(e) || !e->name[0] || e->worker || e->ended_ns >= before_ns ||
		    llabs(o->ended_ns - e->ended_ns) > ENDED_NEAR_NS ||
		    (o->crash && o->crash->pid == e->pid) || e == watched_ends_oom_victim(o))
			continue;
		if (!latest || e->ended_ns > latest->ended_ns)
			latest = e;
	}
	return latest;
}

/* The command's own exit code may follow an end that only its parent knows. */
static void unread_end_missing(const struct observation *o, struct verdict *v)
{
	const struct watched_end *e = &o->unread_end;
	char what[160];

	if (v->class != FAILURE_APPLICATION_ERROR || e->pid <= 0 || e->ended_ns > o->ended_ns ||
	    o->ended_ns - e->ended_ns > ENDED_NEAR_NS)
		return;
	snprintf(what, sizeof(what), "how %s (PID %d) ended, %s before", e->name, (int)e->pid,
		 DURATION_TEXT(o->ended_ns - e->ended_ns));
	verdict_add_missing(
		v, what,
		"Linux 6.15 or newer, where a wait status can be read after the parent has reaped the process");
}

void watched_ends_evidence(const struct observation *o, struct verdict *v)
{
	const struct watched_end *e = NULL;

	/* What is asked to stop ends its children by signals. */
	if (o->container_lives || v->class == FAILURE_COMPLETED || o->pod_terminating ||
	    o->group_ended_by_us || stop_request_explains(&o->asked, o->ended_ns))
		return;
	unread_end_missing(o, v);
	for (int i = 0; i < ENDS_SHOWN && (e = end_before(o, e ? e->ended_ns : INT64_MAX)); i++) {
		/*
		 * What ended when the command had ended may be its consequence; the launcher may
		 * have found both at once.
		 */
		bool before = e->ended_ns <= o->ended_ns;
		const char *signal = signal_name(signal_of_end(e));

		verdict_add_evidence(v, "launcher", "%s (PID %d) was ended by %s, %s%s", e->name,
				     (int)e->pid, signal ? signal : "a signal",
				     before ? "before the container by " :
					      "as the container ended or later",
				     before ? DURATION_TEXT(o->ended_ns - e->ended_ns) : "");
	}
}
