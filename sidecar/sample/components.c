/* SPDX-License-Identifier: Apache-2.0 */
/* Sums up memory by the kind of process. */
#include "sidecar/sample/components.h"

#include <stdio.h>
#include <string.h>

#include "lib/macros.h"

const char *component_kind_name(enum component_kind kind)
{
	static const char *const names[] = {
		[COMPONENT_TASK] = "task",
		[COMPONENT_IDLE] = "idle",
		[COMPONENT_DRIVER] = "driver",
		[COMPONENT_RAYLET] = "raylet",
		[COMPONENT_GCS] = "gcs_server",
		[COMPONENT_DASHBOARD] = "dashboard",
		[COMPONENT_JOB_SUPERVISOR] = "helper",
		[COMPONENT_HELPER] = "helper",
		[COMPONENT_OTHER] = "other",
	};

	return names[kind];
}

/*
 * Processes as Ray 2.x names them. The first rule that fits decides. Without a label the process's
 * own name is kept.
 */
static const struct {
	const char *name; /* the beginning of the process's name; "" fits any */
	const char *command; /* a text anywhere in its command line */
	enum component_kind kind;
	const char *label;
} rules[] = {
	{ "ray::IDLE_SpillWorker", "", COMPONENT_HELPER, COMPONENTS_SPILLING },
	{ "ray::IDLE_RestoreWorker", "", COMPONENT_HELPER, COMPONENTS_SPILLING },
	{ "ray::IDLE", "", COMPONENT_IDLE, "ray::IDLE" },
	{ "ray::SPILL_", "", COMPONENT_HELPER, COMPONENTS_SPILLING },
	{ "ray::RESTORE_", "", COMPONENT_HELPER, COMPONENTS_SPILLING },
	{ "ray::DELETE_", "", COMPONENT_HELPER, COMPONENTS_SPILLING },
	{ "ray::JobSupervisor", "", COMPONENT_JOB_SUPERVISOR, "ray::JobSupervisor" },
	{ "ray::_ray_internal_job_actor_", "", COMPONENT_JOB_SUPERVISOR, "ray::JobSupervisor" },
	{ "ray::ServeController", "", COMPONENT_HELPER, "ray::ServeController" },
	{ "ray::ProxyActor", "", COMPONENT_HELPER, "ray::ProxyActor" },
	{ "ray::DashboardAgent", "", COMPONENT_DASHBOARD, "Ray's dashboard" },
	{ "ray::RuntimeEnvAgent", "", COMPONENT_HELPER, "Ray's helpers" },
	{ "ray::", "", COMPONENT_TASK, NULL },
	{ "ray-dashboard", "", COMPONENT_DASHBOARD, "Ray's dashboard" },
	{ "python", "/ray/dashboard/", COMPONENT_DASHBOARD, "Ray's dashboard" },
	{ "python", "'ray.dashboard", COMPONENT_DASHBOARD, "Ray's dashboard" },
	{ "python", "/ray/_private/workers/default_worker.py", COMPONENT_IDLE, "ray::IDLE" },
	{ "python", "/ray/_private/", COMPONENT_HELPER, "Ray's helpers" },
	{ "python", "/ray/autoscaler/", COMPONENT_HELPER, "Ray's helpers" },
	{ "python", "-m ray.util.client.server", COMPONENT_HELPER, "Ray's helpers" },
	{ "python", "/bin/ray start", COMPONENT_HELPER, "Ray's helpers" },
	{ "python", "multiprocessing.resource_tracker", COMPONENT_OTHER,
	  "python resource_tracker" },
	{ "python", "", COMPONENT_DRIVER, NULL },
	{ "ipython", "", COMPONENT_DRIVER, NULL },
	{ "jupyter", "", COMPONENT_DRIVER, NULL },
	{ "afterglow-launch", "", COMPONENT_HELPER, "afterglow-launch" },
};

/* "ray::ProxyActorOfMine" is no actor of Ray's own, "ray::ProxyActor.run" is one. */
static bool components_fits(const char *name, const char *rule)
{
	size_t len = strlen(rule);
	bool whole =
		len > strlen("ray::") && text_begins_with(rule, "ray::") && rule[len - 1] != '_';

	return text_begins_with(name, rule) &&
	       (!whole || !name[len] || name[len] == '.' || name[len] == '_');
}

/*
 * Cuts "ray::Actor.method" to "ray::Actor". Names with more dots, and those of local functions,
 * stay as they are.
 */
static void cut_method(char *name)
{
	char *dot = strchr(name, '.');

	if (dot && dot > name + strlen("ray::") && !strchr(dot + 1, '.') && !strchr(name, '<'))
		*dot = '\0';
}

enum component_kind component_of(const char *name, const char *command,
				 char ret_name[static PROCESS_NAME_MAX])
{
	enum component_kind kind = COMPONENT_OTHER;
	const char *label = name;

	if (strcmp(name, "raylet") == 0)
		kind = COMPONENT_RAYLET;
	else if (strcmp(name, "gcs_server") == 0)
		kind = COMPONENT_GCS;
	else
		for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
			if (components_fits(name, rules[i].name) &&
			    strstr(command, rules[i].command)) {
				kind = rules[i].kind;
				label = rules[i].label ? rules[i].label : name;
				break;
			}
	snprintf(ret_name, PROCESS_NAME_MAX, "%s", label);
	if (kind == COMPONENT_TASK)
		cut_method(ret_name);
	return kind;
}

static void move_to_rest(struct components *c, const struct component *one)
{
	c->rest_count += one->count;
	c->rest_own += one->own;
}

static struct component *components_smallest(struct components *c)
{
	struct component *found = &c->list[0];

	for (size_t i = 1; i < c->n; i++)
		if (c->list[i].own < found->own)
			found = &c->list[i];
	return found;
}

void components_add_one(struct components *c, enum component_kind kind, const char *label,
			int64_t own, bool is_child)
{
	struct component one = { .kind = kind,
				 .count = 1,
				 .children = is_child,
				 .own = MAX(own, 0),
				 .largest = MAX(own, 0) };

	for (size_t i = 0; i < c->n; i++)
		if (c->list[i].kind == kind && strcmp(c->list[i].name, label) == 0) {
			c->list[i].count++;
			c->list[i].children += is_child;
			c->list[i].own += one.own;
			c->list[i].largest = MAX(c->list[i].largest, one.own);
			return;
		}
	snprintf(one.name, sizeof(one.name), "%s", label);
	if (c->n < COMPONENTS_MAX) {
		c->list[c->n++] = one;
		return;
	}
	struct component *place = components_smallest(c);
	if (place->own < one.own) {
		move_to_rest(c, place);
		*place = one;
	} else
		move_to_rest(c, &one);
}

static int by_own(const void *left, const void *right)
{
	const struct component *a = left, *b = right;

	if (a->own != b->own)
		return a->own < b->own ? 1 : -1;
	return strcmp(a->name, b->name);
}

void components_sort(struct components *c)
{
	qsort(c->list, c->n, sizeof(c->list[0]), by_own);
}

int64_t components_total(const struct components *c, uint32_t *ret_count)
{
	uint32_t count = c->rest_count;
	int64_t total = c->rest_own;

	for (size_t i = 0; i < c->n; i++) {
		count += c->list[i].count;
		total += c->list[i].own;
	}
	*ret_count = count;
	return total;
}

uint32_t components_of_kind(const struct components *c, enum component_kind kind,
			    int64_t *ret_total)
{
	uint32_t count = 0;
	int64_t total = 0;

	for (size_t i = 0; i < c->n; i++)
		if (c->list[i].kind == kind) {
			count += c->list[i].count;
			total += c->list[i].own;
		}
	if (ret_total)
		*ret_total = total;
	return count;
}
