/* SPDX-License-Identifier: Apache-2.0 */
/* Sets memory safety in a RayCluster that KubeRay manages. */
#include "operator/webhook/cluster_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/strmap.h"
#include "operator/webhook/group_memory.h"
#include "operator/webhook/memory_record.h"

/* The wanted values of one group, and those of our values that are or were in it. */
struct step {
	enum ray_node node;
	size_t index; /* index of the worker group */
	struct group_values ours, want;
};

/* The admission of one RayCluster. */
struct plan {
	const cJSON *old, *object;
	const struct policy *policy;
	struct memory_modes modes;
	enum list_keeper keeper;
	bool head_runs_tasks;
	struct resized_groups resized;
	bool keeps_command, kept_command; /* keeps_own_command of the object, and of the old one */
	/* The record of the old object, or on CREATE of the object itself */
	struct memory_record record;
	/* On UPDATE, the record of the object: what an earlier pass over the same request set */
	struct memory_record own;
	/* The worker groups of the old object by name; the values point into it. */
	struct strmap old_groups;
	struct strmap seen; /* the names of the worker groups so far */
	struct record_writer writer;
	bool record_is_full;
	struct step *steps;
	size_t n, size;
};

static void cluster_memory_plan_release(struct plan *plan)
{
	memory_record_release(&plan->record);
	memory_record_release(&plan->own);
	resized_groups_release(&plan->resized);
	strmap_release(&plan->old_groups, NULL);
	strmap_release(&plan->seen, NULL);
	record_writer_release(&plan->writer);
	free(plan->steps);
}

static int cluster_memory_out_of_memory(struct err *err)
{
	return err_set(err, ENOMEM, "memory of a cluster");
}

/* Returns NULL for a group that cannot have pods, because the label ray.io/group cannot name it. */
static const char *cluster_memory_name_of(const cJSON *group)
{
	const char *name = json_str(group, "groupName");

	return name && *name && strlen(name) <= RECORD_NAME_MAX ? name : NULL;
}

static int index_old_groups(struct plan *plan, struct err *err)
{
	cJSON *groups = json_get(plan->old, "spec.workerGroupSpecs"), *group;

	if (!cJSON_IsArray(groups))
		return 0;
	cJSON_ArrayForEach(group, groups) {
		void *same = NULL;

		if (cluster_memory_name_of(group) &&
		    strmap_put(&plan->old_groups, cluster_memory_name_of(group), group, &same) < 0)
			return cluster_memory_out_of_memory(err);
	}
	return 0;
}

static bool may_be_set(const struct plan *plan, enum ray_node node, enum group_field field)
{
	return plan->keeper == LISTS_FREE || (node == RAY_HEAD && !group_field_in_list(field));
}

static bool is_resized(const struct plan *plan, enum ray_node node, const cJSON *group)
{
	return resized_groups_have(&plan->resized, group_name(node, group));
}

static struct group_context context_of(const struct plan *plan, enum ray_node node,
				       const struct policy *policy)
{
	return (struct group_context){ .node = node,
				       .head_runs_tasks = plan->head_runs_tasks,
				       .cluster_keeps_command = plan->keeps_command,
				       .lists = plan->keeper == LISTS_FREE,
				       .name = "",
				       .policy = policy };
}

/* Returns whether the group's limit is the one from which our values were computed. */
static bool has_same_limit(const cJSON *group, const struct group_values *ours)
{
	int64_t limit = group_limit(group, ours);

	return limit == ours->limit || (!limit && *ours->text[GROUP_LIMIT]);
}

/* Returns whether a value moved between `resources` and rayStartParams. */
static bool has_moved(const cJSON *group, const struct group_values *ours)
{
	bool by_resources = group_uses_resources(group, ours);

	return by_resources ? *ours->text[GROUP_PARAM_CPUS] || *ours->text[GROUP_PARAM_MEMORY] :
			      *ours->text[GROUP_CPUS] || *ours->text[GROUP_MEMORY];
}

/*
 * Keeps only the values that are really in the group: the annotation may come from a manifest that
 * was exported from a cluster.
 */
static void keep_standing(const cJSON *group, struct group_values *ours)
{
	for (int f = 0; f < GROUP_FIELD_COUNT; f++)
		if (!group_field_is(group, f, ours->text[f]))
			*ours->text[f] = '\0';
}

/*
 * Returns the other place of a field: in `resources` for one in rayStartParams, and the reverse.
 * Other fields have only one place.
 */
static enum group_field other_place(enum group_field field)
{
	switch (field) {
	case GROUP_PARAM_CPUS:
		return GROUP_CPUS;
	case GROUP_PARAM_MEMORY:
		return GROUP_MEMORY;
	case GROUP_CPUS:
		return GROUP_PARAM_CPUS;
	case GROUP_MEMORY:
		return GROUP_PARAM_MEMORY;
	default:
		return field;
	}
}

/* Removes what the policy does not ask for, except for fields that we had set already. */
static void drop_unasked(const struct plan *plan, const struct group_values *ours,
			 struct group_values *want)
{
	for (enum group_field f = 0; f < GROUP_FIELD_COUNT; f++)
		if (group_field_mode(f, plan->modes) != MEMORY_MODE_APPLY && !*ours->text[f] &&
		    !*ours->text[other_place(f)])
			*want->text[f] = '\0';
}

/*
 * Plans a group without running pods. Values of an earlier pass over the same request stay, unless
 * they no longer fit.
 */
static void plan_new_group(const struct plan *plan, const cJSON *group, struct step *step)
{
	_cleanup_json_ cJSON *notes = cJSON_CreateArray();
	struct group_context cx = context_of(plan, step->node, plan->policy);
	bool keep = plan->keeper != LISTS_FREE;

	if (group_limit(group, NULL) < 0) {
		step->ours = (struct group_values){ 0 };
		return;
	}
	cx.resized = is_resized(plan, step->node, group);
	keep_standing(group, &step->ours);
	step->want = step->ours;
	if (step->node == RAY_WORKER && keep)
		return;
	keep = keep || (has_same_limit(group, &step->ours) && !has_moved(group, &step->ours));
	if (!group_plan(group, &step->ours, &cx, &step->want, notes))
		step->want = step->ours = (struct group_values){ 0 };
	drop_unasked(plan, &step->ours, &step->want);
	for (int f = 0; keep && f < GROUP_FIELD_COUNT; f++)
		if (*step->ours.text[f])
			memcpy(step->want.text[f], step->ours.text[f], GROUP_VALUE_MAX);
}

/* Computes the values again from the group as it is now, but only those that had been set. */
static void recompute(const struct plan *plan, const cJSON *group, struct step *step)
{
	_cleanup_json_ cJSON *notes = cJSON_CreateArray();
	struct policy policy = *plan->policy;
	struct group_context cx = context_of(plan, step->node, &policy);
	struct group_values want;

	if (!*step->ours.text[GROUP_LIMIT])
		policy.memory.worker_memory_limit = 0;
	if (!group_plan(group, &step->ours, &cx, &want, notes)) {
		step->want = step->ours = (struct group_values){ 0 };
		return;
	}
	for (int f = 0; f < GROUP_FIELD_COUNT; f++)
		if (!*step->ours.text[f] && !*step->ours.text[other_place(f)])
			*want.text[f] = '\0';
	step->want = want;
}

static const cJSON *old_group_of(const struct plan *plan, const struct step *step,
				 const cJSON *group)
{
	return step->node == RAY_HEAD ?
		       json_get(plan->old, "spec.headGroupSpec") :
		       strmap_get(&plan->old_groups, cluster_memory_name_of(group));
}

static void drop_value(struct group_values *want, enum group_field field)
{
	*want->text[field] = '\0';
	*want->text[other_place(field)] = '\0';
}

/*
 * Removes our values where this UPDATE says the same in another way, or has Ray resize the group.
 */
static void yield_to_author(const struct plan *plan, const cJSON *group, struct step *step)
{
	struct own_sizing before =
		group_own_sizing(old_group_of(plan, step, group), plan->kept_command);
	struct own_sizing now = group_own_sizing(group, plan->keeps_command);
	/* With Recreate the removal would restart all pods. */
	bool resized = is_resized(plan, step->node, group) && plan->keeper != LISTS_RECREATE;

	if (resized || (now.cpus && !before.cpus))
		drop_value(&step->want, GROUP_PARAM_CPUS);
	if (resized || (now.memory && !before.memory))
		drop_value(&step->want, GROUP_PARAM_MEMORY);
	if (now.memory && !before.memory)
		drop_value(&step->want, GROUP_PARAM_STORE);
}

/*
 * Plans a group with pods. Values that had been set stay, unless the user now sets them himself or
 * the limit has changed.
 */
static void plan_known_group(const struct plan *plan, const cJSON *group, struct step *step)
{
	if (group_limit(group, &step->ours) < 0) {
		step->ours = (struct group_values){ 0 };
		return;
	}
	step->want = step->ours;
	if (!has_same_limit(group, &step->ours) || has_moved(group, &step->ours))
		recompute(plan, group, step);
	yield_to_author(plan, group, step);
	for (int f = 0; f < GROUP_FIELD_COUNT; f++) {
		bool stands = group_field_is(group, f, step->ours.text[f]);

		if (group_field_get(group, f) && !stands)
			*step->want.text[f] = '\0'; /* the user has set it */
		else if (!may_be_set(plan, step->node, f))
			memcpy(step->want.text[f], stands ? step->ours.text[f] : "",
			       stands ? GROUP_VALUE_MAX : 1);
	}
}

static int add_step(struct plan *plan, const struct step *step, struct err *err)
{
	if (plan->n == plan->size) {
		size_t size = plan->size ? 2 * plan->size : 16;
		struct step *steps = reallocarray(plan->steps, size, sizeof(*steps));

		if (!steps)
			return cluster_memory_out_of_memory(err);
		plan->steps = steps;
		plan->size = size;
	}
	plan->steps[plan->n++] = *step;
	return 0;
}

/*
 * Returns whether an earlier pass over the same request set values that the old object does not
 * have.
 */
static bool is_of_earlier_pass(const cJSON *group, const struct group_values *own,
			       const struct group_values *ours)
{
	for (int f = 0; own && f < GROUP_FIELD_COUNT; f++)
		if (group_field_is(group, f, own->text[f]) &&
		    !group_field_is(group, f, ours->text[f]))
			return true;
	return false;
}

static int plan_group(struct plan *plan, const cJSON *group, bool is_new, struct step *step,
		      struct err *err)
{
	const char *name = step->node == RAY_HEAD ? "" : cluster_memory_name_of(group);
	const struct group_values *ours = memory_record_get(&plan->record, step->node, name);

	const struct group_values *own = memory_record_get(&plan->own, step->node, name);

	/* Without this, a cluster of thousands of groups would take 100 ms. */
	if (plan->record_is_full && !ours)
		return 0;
	if (ours)
		step->ours = *ours;
	if ((ours || is_new) && is_of_earlier_pass(group, own, &step->ours))
		step->ours = *own;
	if (is_new)
		plan_new_group(plan, group, step);
	else if (ours)
		plan_known_group(plan, group, step);
	if (!group_values_empty(&step->want) &&
	    !record_writer_add(&plan->writer, step->node, name, &step->want)) {
		plan->record_is_full = true;
		return 0; /* there is no room for the record, so nothing is set */
	}
	if (group_values_empty(&step->want) && !ours)
		return 0;
	return add_step(plan, step, err);
}

static int cluster_memory_plan_workers(struct plan *plan, struct err *err)
{
	const cJSON *groups = json_get(plan->object, "spec.workerGroupSpecs");
	size_t index = 0;
	int r = 0;

	if (!cJSON_IsArray(groups))
		return 0;
	json_each(group, groups) {
		struct step step = { .node = RAY_WORKER, .index = index++ };
		const char *name = cluster_memory_name_of(group);
		void *same = NULL;

		if (!name || strmap_get(&plan->seen, name))
			continue;
		if (strmap_put(&plan->seen, name, plan, &same) < 0)
			return cluster_memory_out_of_memory(err);
		r = plan_group(plan, group, !plan->old || !strmap_get(&plan->old_groups, name),
			       &step, err);
		if (r < 0)
			break;
	}
	return r;
}

/* Returns whether the step changes the group. Changes it unless `dry`. */
static bool apply_step(cJSON *group, const struct step *step, bool dry)
{
	bool changes = false;

	for (int f = 0; f < GROUP_FIELD_COUNT; f++) {
		const char *want = step->want.text[f];

		if (*want ? group_field_is(group, f, want) :
			    !group_field_is(group, f, step->ours.text[f]))
			continue;
		if (!dry)
			group_field_set(group, f, want);
		changes = true;
	}
	return changes;
}

static bool apply_annotation(cJSON *object, const char *text, bool dry)
{
	cJSON *annotations = json_get(object, "metadata.annotations");
	const cJSON *have = cJSON_GetObjectItemCaseSensitive(annotations, RECORD_ANNOTATION);

	if (text ? cJSON_IsString(have) && strcmp(have->valuestring, text) == 0 : !have)
		return false;
	if (!dry && text)
		json_set_str(json_object_at(json_object_at(object, "metadata"), "annotations"),
			     RECORD_ANNOTATION, text);
	else if (!dry)
		cJSON_DeleteItemFromObjectCaseSensitive(annotations, RECORD_ANNOTATION);
	return true;
}

/*
 * Returns whether the plan changes the object. Changes it unless `dry`. Steps are in the order of
 * the groups.
 */
static bool cluster_memory_apply(const struct plan *plan, const char *record, cJSON *object,
				 bool dry)
{
	const cJSON *groups = json_get(object, "spec.workerGroupSpecs");
	cJSON *group = groups ? groups->child : NULL;
	bool changes = apply_annotation(object, record, dry);
	size_t index = 0;

	for (size_t i = 0; i < plan->n; i++) {
		const struct step *step = &plan->steps[i];

		for (; step->node == RAY_WORKER && index < step->index; index++)
			group = group->next;
		changes |= apply_step(
			step->node == RAY_HEAD ? json_get(object, "spec.headGroupSpec") : group,
			step, dry);
	}
	return changes;
}

static int cluster_memory_plan_cluster(struct plan *plan, struct err *err)
{
	struct step head = { .node = RAY_HEAD };
	int r = memory_record_read(plan->old ? plan->old : plan->object, &plan->record, err);

	if (r == 0 && plan->old)
		r = memory_record_read(plan->object, &plan->own, err);
	if (r == 0)
		r = index_old_groups(plan, err);
	if (r == 0)
		r = plan_group(plan, json_get(plan->object, "spec.headGroupSpec"), !plan->old,
			       &head, err);
	return r < 0 ? r : cluster_memory_plan_workers(plan, err);
}

int cluster_memory_set(const cJSON *old, const cJSON *object, enum list_keeper keeper,
		       const struct policy *policy, struct memory_modes modes, cJSON **ret_object,
		       struct err *err)
{
	_cleanup_(cluster_memory_plan_release) struct plan plan = {
		.old = old,
		.object = object,
		.policy = policy,
		.modes = modes,
		.keeper = keeper,
		.resized = resized_groups_of(json_get(object, "metadata.annotations")),
		.keeps_command = keeps_own_command(json_get(object, "metadata.annotations")),
		.kept_command = keeps_own_command(json_get(old, "metadata.annotations")),
		.head_runs_tasks = cluster_head_runs_tasks(json_get(object, "spec")),
		.writer = RECORD_WRITER_INIT,
	};
	int r = cluster_memory_plan_cluster(&plan, err);

	if (r < 0)
		return r;
	const char *record = record_writer_text(&plan.writer);
	if (!cluster_memory_apply(&plan, record, (cJSON *)object, true))
		return 0;
	*ret_object = cJSON_Duplicate(object, true);
	if (!*ret_object)
		return cluster_memory_out_of_memory(err);
	cluster_memory_apply(&plan, record, *ret_object, false);
	return 0;
}
