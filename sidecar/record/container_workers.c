/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports the deaths of Ray's workers that raylet logs. The core of such a worker belongs into the
 * same report. Usually the core comes first. On a busy machine the search for cores and the reading
 * of their headers are late, and the report of the death waits for them.
 */
#include <stdlib.h>
#include <sys/wait.h>

#include "lib/units.h"
#include "sidecar/record/container_internal.h"

/* How long the core of a worker may take that logs itself which signal it got */
#define CORE_WITHIN_NS (5 * NS_PER_SEC)
/* How long it may take to read a core that has come and may be the worker's. */
#define READ_WITHIN_NS (30 * NS_PER_SEC)

static void worker_report(struct container *c, const struct ray_finding *finding)
{
	struct ending e = {
		.ended_ns = finding->at_ns,
		.ray = finding,
		.process_oom_ns = c->observer.process_oom_ns,
	};
	const struct watched_end *end =
		worker_watch_end_of(&c->observer.workers, finding->event.pid, finding->at_ns);

	container_explain_missing_core(c, end && end->status_known ? end->wait_status : 0);
	e.core_needs = c->core_needs;
	container_report_process(c, &e, NULL, "worker-died");
}

/* Returns whether the kernel writes cores to files that the launcher finds. */
static bool cores_are_files(void)
{
	struct core_pattern pattern;

	return core_pattern_read("/proc", &pattern) &&
	       (pattern.target == CORE_TO_RELATIVE || pattern.target == CORE_TO_ABSOLUTE);
}

/* The time until which the worker's core may come, CLOCK_BOOTTIME; 0: no core will come. */
static int64_t core_until_ns(const struct container *c, const struct ray_finding *finding)
{
	/*
	 * Other deaths leave no core. A death that an OOM kill explains is reported at once, before
	 * the counters become the baseline.
	 */
	if (!c->crashes || finding->event.kind != RAY_WORKER_CRASH || c->observer.oom_seen_ns)
		return 0;
	if (crashes_unread(c->crashes) > 0)
		return finding->at_ns + READ_WITHIN_NS;
	return finding->logged_signal[0] && cores_are_files() ? finding->at_ns + CORE_WITHIN_NS : 0;
}

/*
 * Joins the death with the report of its core, or reports it alone. Returns false if the death has
 * to wait.
 */
static bool settle(struct container *c, const struct ray_finding *finding, int64_t now_ns)
{
	if (container_crash_of_worker(c, finding))
		return true;
	/*
	 * The container's end is reported first; container_report_other_crashes then settles this
	 * death.
	 */
	if (container_is_over(c) ? c->state < CONTAINER_REPORTED :
				   now_ns < core_until_ns(c, finding))
		return false;
	worker_report(c, finding);
	return true;
}

void container_worker_died(const struct ray_finding *finding, void *arg)
{
	struct container *c = arg;
	struct ray_finding **place = c->dead_workers;

	if (finding->event.kind == RAY_WORKER_CRASH && container_told_oom_of(c, finding->event.pid))
		return;
	while (place < c->dead_workers + DEAD_WORKERS_MAX && *place)
		place++;
	if (place == c->dead_workers + DEAD_WORKERS_MAX || !(*place = malloc(sizeof(**place)))) {
		if (!container_crash_of_worker(c, finding))
			worker_report(c, finding);
		return;
	}
	**place = *finding;
	container_workers_due(c, now_boottime_ns());
}

void container_workers_due(struct container *c, int64_t now_ns)
{
	for (size_t i = 0; i < DEAD_WORKERS_MAX; i++) {
		struct ray_finding *finding = TAKE_PTR(c->dead_workers[i]);

		if (finding && !settle(c, finding, now_ns))
			c->dead_workers[i] = TAKE_PTR(finding);
		free(finding);
	}
}

void container_workers_release(struct container *c)
{
	for (size_t i = 0; i < DEAD_WORKERS_MAX; i++)
		free(TAKE_PTR(c->dead_workers[i]));
}
