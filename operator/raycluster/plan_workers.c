/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the pods of one worker group. */
#include "operator/raycluster/plan_internal.h"

#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "operator/podspec/notes.h"
#include "operator/raycluster/autoscaler.h"
#include "operator/raycluster/pod_state.h"

static int64_t desired_replicas(const cJSON *group)
{
	int64_t min = json_int(group, "minReplicas", 0),
		max = json_int(group, "maxReplicas", INT32_MAX);

	return MIN(MAX(json_int(group, "replicas", 0), min), max);
}

static void delete_named(struct planner *p, const cJSON *group, const char *name)
{
	json_each(item, json_get(group, "scaleStrategy.workersToDelete")) {
		size_t i;

		if (cJSON_IsString(item) && pod_index_find(&p->index, item->valuestring, &i) &&
		    !p->leaving[i] && planner_in_group(p, i, RAY_WORKER, name))
			planner_delete_pod(p, i);
	}
}

/* A pod that may be deleted, and the facts that decide it. */
struct candidate {
	size_t at;
	bool running, ready;
	const char *created, *name;
};

/*
 * Orders pods for deletion if there are too many: first those not running, then those not ready,
 * then the youngest.
 */
static int plan_workers_compare_worth(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;
	int order = a->running - b->running;

	if (!order)
		order = a->ready - b->ready;
	if (!order)
		order = strcmp(b->created, a->created);
	return order ? order : strcmp(a->name, b->name);
}

static size_t plan_workers_find_candidates(const struct planner *p, const struct pod_list *workers,
					   struct candidate *candidates)
{
	size_t n = 0;

	for (size_t i = 0; i < workers->n; i++) {
		size_t at = workers->at[i];
		const cJSON *pod = p->pods[at];

		if (!p->leaving[at] && !pod_is_dead(pod))
			candidates[n++] = (struct candidate){
				.at = at,
				.running = pod_is_running(pod),
				.ready = pod_is_ready(pod),
				.created = json_str_or(pod, "metadata.creationTimestamp", ""),
				.name = json_str_or(pod, "metadata.name", ""),
			};
	}
	return n;
}

static void plan_workers_delete_surplus(struct planner *p, const char *name, int64_t n)
{
	const struct pod_list *workers = pod_index_workers(&p->index, name);
	_cleanup_free_ struct candidate *candidates =
		n > 0 ? calloc(workers->n + 1, sizeof(*candidates)) : NULL;

	if (n <= 0)
		return;
	if (!candidates) {
		p->failed = true;
		return;
	}
	size_t n_candidates = plan_workers_find_candidates(p, workers, candidates);
	qsort(candidates, n_candidates, sizeof(*candidates), plan_workers_compare_worth);
	for (size_t i = 0; i < n_candidates && (int64_t)i < n; i++)
		planner_delete_pod(p, candidates[i].at);
}

struct count {
	int64_t alive, running, ready;
	int64_t dead; /* dead pods that still exist, so they count */
};

static struct count count_workers(const struct planner *p, const char *name)
{
	const struct pod_list *workers = pod_index_workers(&p->index, name);
	struct count c = { 0 };

	for (size_t k = 0; k < workers->n; k++) {
		size_t i = workers->at[k];

		if (pod_is_dead(p->pods[i])) {
			/*
			 * A pod that this plan deletes still exists. One that was deleted earlier
			 * counts as gone.
			 */
			c.dead += !pod_is_terminating(p->pods[i]);
			continue;
		}
		if (p->leaving[i])
			continue;
		c.alive++;
		c.running += pod_is_running(p->pods[i]);
		c.ready += pod_is_ready(p->pods[i]);
	}
	return c;
}

/* Each replica is one pod. */
static void plan_single(struct planner *p, const cJSON *template, const char *name, int64_t desired,
			int64_t alive, int64_t dead)
{
	if (alive <= desired)
		planner_create_replicas(p, template, name, desired - alive - dead);
	/* Ray's autoscaler names the pods that should be deleted. */
	else if (!autoscaler_enabled(p->in->cluster) ||
		 json_bool(p->in->cluster, "spec.suspend", false))
		plan_workers_delete_surplus(p, name, alive - desired);
}

/* Replicas of a suspended group do not count. */
static void add_bounds(struct planner *p, const cJSON *group, int64_t desired, int64_t hosts)
{
	p->view.desired_workers += desired * hosts;
	p->view.min_workers += json_int(group, "minReplicas", 0) * hosts;
	p->view.max_workers = MIN(
		p->view.max_workers + json_int(group, "maxReplicas", INT32_MAX) * hosts, INT32_MAX);
}

/*
 * Delays new pods. Only the operator replaces pods that end (restartPolicy Never, which version 2
 * of the autoscaler requires). The note's text stays the same until the next death, because each
 * change of it is an Event.
 */
static void hold_crash_loop(struct planner *p, const char *name)
{
	size_t n;
	const struct crash *crashes = planner_crashes(p, name, &n);
	struct crash_loop loop = crash_loop_of_group(crashes, n, name, p->in->now_ns);

	p->hold_ns = loop.next_ns;
	if (crash_loop_is(&loop))
		notes_addf(
			p->notes, NOTE_WORKERS_STABLE, "WorkerCrashLoop",
			"group %s: %u pods in a row died young within an hour, the last at %s (%s, RayFailure %s); no other is made "
			"before %s",
			name, loop.n, TIME_TEXT(MIN(loop.last->at_ns, p->in->now_ns)),
			loop.last->class ? loop.last->class : "?", loop.last->failure,
			TIME_TEXT(loop.next_ns));
}

int plan_workers(struct planner *p, const cJSON *group, struct err *err)
{
	const char *name = group_name(RAY_WORKER, group);
	bool suspended = json_bool(group, "suspend", false);
	int64_t hosts = json_int(group, "numOfHosts", 1),
		desired = suspended || !hosts ? 0 : desired_replicas(group);
	_cleanup_json_ cJSON *template = NULL;
	int r = planner_build(p, RAY_WORKER, group, &template, err);

	if (r < 0)
		return r;
	status_add_resources(&p->view, template, desired * hosts);
	if (!suspended)
		add_bounds(p, group, desired, hosts);
	delete_named(p, group, name);
	struct count c = count_workers(p, name);
	p->view.running_workers += c.running;
	p->view.ready_workers += c.ready;
	p->workers_ready = p->workers_ready && c.ready >= desired * hosts;
	if (!suspended)
		hold_crash_loop(p, name);
	if (suspended)
		plan_workers_delete_surplus(p, name, c.alive);
	else if (hosts > 1)
		plan_hosts(p, group, template, desired, hosts);
	else
		plan_single(p, template, name, desired, c.alive, c.dead);
	p->hold_ns = 0;
	return 0;
}
