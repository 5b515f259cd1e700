/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports processes that crashed without a core: the node pipes cores away, or the limit is 0.
 * Their parent may go on, or end in order. The launcher read how they ended.
 */
#include <stdio.h>
#include <sys/wait.h>

#include "lib/units.h"
#include "sidecar/record/container_internal.h"
#include "sidecar/verdict/watched_ends.h"

/* A core comes within this time, and the container ends if the crash ends it. */
#define CRASH_SETTLED_NS (10 * NS_PER_SEC)
#define CRASH_SPACING_NS \
	(60 * NS_PER_SEC) /* between two reports: a program may crash again and again */

/* What a core would show, as far as the wait status shows it. */
static struct crash_info crash_of_end(const struct watched_end *e)
{
	struct crash_info info = { .pid = e->pid, .signal = WTERMSIG(e->wait_status) };

	snprintf(info.comm, sizeof(info.comm), "%s", e->name);
	return info;
}

static bool has_other_report(struct container *c, const struct watched_end *e)
{
	const struct process_watch *w = &c->observer.processes;

	for (size_t i = 0; i < w->n_ends; i++)
		if (w->ends[i].pid == e->pid)
			return true;
	return e->worker || container_crash_of_process(c, e->pid);
}

static void report_child(struct container *c, const struct watched_end *child)
{
	const struct crash_info info = crash_of_end(child);
	struct ending e = { .ended_ns = child->ended_ns, .crash = &info };

	container_explain_missing_core(c, child->wait_status);
	e.core_needs = c->core_needs;
	container_report_process(c, &e, NULL, "process-crashed");
}

bool container_child_crashed(struct container *c, const struct ending *e)
{
	const struct watched_end *first = NULL;

	/* What ends a Ray node is one of Ray's own processes. */
	if (c->observer.node.raylet > 0)
		return false;
	for (size_t i = 0; i < WORKER_ENDS_MAX; i++) {
		const struct watched_end *end = &c->observer.workers.ends[i];

		if (end->told || !watched_end_is_crash_before(end, e->ended_ns) ||
		    has_other_report(c, end) || (first && first->ended_ns <= end->ended_ns))
			continue;
		first = end;
	}
	if (!first || !e->status_known || !WIFEXITED(e->wait_status) ||
	    WEXITSTATUS(e->wait_status) == 0)
		return false;
	c->child_crash = crash_of_end(first);
	container_explain_missing_core(c, first->wait_status);
	return true;
}

void container_children_due(struct container *c, int64_t now_ns)
{
	for (size_t i = 0; i < WORKER_ENDS_MAX; i++) {
		struct watched_end *e = &c->observer.workers.ends[i];

		if (e->told || !watched_end_is_crash(e))
			continue;
		e->told = has_other_report(c, e);
		if (e->told || now_ns - e->ended_ns < CRASH_SETTLED_NS)
			continue;
		e->told = true;
		if (c->child_reported_ns && e->ended_ns - c->child_reported_ns < CRASH_SPACING_NS)
			continue;
		c->child_reported_ns = e->ended_ns;
		report_child(c, e);
	}
}
