/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports deaths of Ray's workers, of which raylet's log tells. The core of such a worker belongs into
 * the same report. It comes first where the machine has time for all; where it has not, the search
 * for cores and the look at their headers are late, and the death waits for them.
 */
#include <stdlib.h>

#include "lib/units.h"
#include "sidecar/record/container_internal.h"
#include "sidecar/report/report_json.h"

#define CORE_WITHIN_NS (5 * NS_PER_SEC) /* of a worker that says itself which signal it got */
#define READ_WITHIN_NS (30 * NS_PER_SEC) /* of a core that has come, and may be the worker's */

static void report(struct container *c, const struct ray_said *said)
{
	struct ending e = {
		.container_lives = true,
		.container_over = container_is_over(c),
		.started_ns = c->hello.started_ns,
		.ended_ns = said->at_ns,
		.after = c->observer.last.memory,
		.after_known = true,
		.ray = said,
	};
	bool end_told = c->observer.end_told;
	struct report r;

	/* Of the history it is the end that counts: this bundle is not to be taken for its. */
	c->observer.end_told = end_told || container_is_over(c);
	postmortem_report(&c->observer, &e, c->options, c->hello.name, &r);
	container_publish(c, &r, true, 0);
	container_emit(c, "worker-died", report_json_of_worker(&r, said));
	c->observer.end_told = end_told;
}

/* Whether the kernel puts a core where the launcher finds it. */
static bool cores_are_files(void)
{
	struct core_pattern pattern;

	return core_pattern_read("/proc", &pattern) &&
	       (pattern.target == CORE_TO_RELATIVE || pattern.target == CORE_TO_ABSOLUTE);
}

/* Until when its core may come. */
static int64_t core_until_ns(const struct container *c, const struct ray_said *said)
{
	/* Others leave no core. And what an OOM kill explains is known now: its counters are forgotten soon. */
	if (!c->crashes || said->event.kind != RAY_WORKER_CRASH || c->observer.oom_seen_ns)
		return 0;
	if (c->unread_cores.n > 0)
		return said->at_ns + READ_WITHIN_NS;
	return said->signal_said[0] && cores_are_files() ? said->at_ns + CORE_WITHIN_NS : 0;
}

/* True: it is reported, by its core or by itself. */
static bool settle(struct container *c, const struct ray_said *said, int64_t now_ns)
{
	if (container_crash_of_worker(c, said))
		return true;
	/* The end is told first: container_report_other_crashes comes back. */
	if (container_is_over(c) ? !c->observer.end_told : now_ns < core_until_ns(c, said))
		return false;
	report(c, said);
	return true;
}

void container_worker_died(const struct ray_said *said, void *arg)
{
	struct container *c = arg;
	struct ray_said **place = c->dead_workers;

	while (place < c->dead_workers + DEAD_WORKERS_MAX && *place)
		place++;
	if (place == c->dead_workers + DEAD_WORKERS_MAX || !(*place = malloc(sizeof(**place)))) {
		if (!container_crash_of_worker(c, said))
			report(c, said);
		return;
	}
	**place = *said;
	container_workers_due(c, now_boottime_ns());
}

void container_workers_due(struct container *c, int64_t now_ns)
{
	for (size_t i = 0; i < DEAD_WORKERS_MAX; i++) {
		struct ray_said *said = TAKE_PTR(c->dead_workers[i]);

		if (said && !settle(c, said, now_ns))
			c->dead_workers[i] = TAKE_PTR(said);
		free(said);
	}
}

void container_report_waiting(struct container *c)
{
	container_workers_due(c, INT64_MAX);
}

void container_workers_release(struct container *c)
{
	for (size_t i = 0; i < DEAD_WORKERS_MAX; i++)
		free(TAKE_PTR(c->dead_workers[i]));
}
