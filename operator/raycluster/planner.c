/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the state of a plan while it is made. */
#include "operator/raycluster/plan_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "operator/kube/object.h"
#include "operator/raycluster/pod_state.h"
#include "operator/raycluster/pod_template.h"

/*
 * The most pods that one plan creates, because other events wait until these requests are answered.
 * Even a large cluster takes only a few plans; this matters because each plan looks at all pods.
 */
#define CREATES_LEAST 128
#define CREATES_MOST 1024

void planner_add(struct planner *p, enum plan_op_kind kind, cJSON *body)
{
	if (body && p->plan.n_ops == p->capacity) {
		size_t capacity = p->capacity ? 2 * p->capacity : 16;
		struct plan_op *ops = realloc(p->plan.ops, capacity * sizeof(*ops));

		if (ops) {
			p->plan.ops = ops;
			p->capacity = capacity;
		}
	}
	if (!body || p->plan.n_ops == p->capacity) {
		cJSON_Delete(body);
		p->failed = true;
		return;
	}
	p->plan.ops[p->plan.n_ops++] = (struct plan_op){ .kind = kind, .body = body };
}

void planner_insert(struct planner *p, enum plan_op_kind kind, cJSON *body)
{
	size_t n = p->plan.n_ops;

	planner_add(p, kind, body);
	if (p->plan.n_ops == n)
		return;
	struct plan_op op = p->plan.ops[n];
	memmove(&p->plan.ops[p->pods_at + 1], &p->plan.ops[p->pods_at],
		(n - p->pods_at) * sizeof(op));
	p->plan.ops[p->pods_at] = op;
}

void planner_requeue(struct planner *p, int64_t ns)
{
	if (!p->plan.requeue_ns || ns < p->plan.requeue_ns)
		p->plan.requeue_ns = ns;
}

void planner_release(struct planner *p)
{
	plan_release(&p->plan);
	cJSON_Delete(p->notes);
	pod_index_release(&p->index);
	resized_groups_release(&p->resized);
	strmap_release(&p->taken, NULL);
	free(p->crashes);
	free(p->pods);
	free(p->pending);
	free(p->leaving);
}

/*
	 * uid and resourceVersion are preconditions, so that the pod is deleted only in the state
	 * on which the decision rests.
	 */
static cJSON *deletion_of(const cJSON *pod)
{
	cJSON *body = object_new("v1", "Pod", json_str(pod, "metadata.namespace"),
				 json_str(pod, "metadata.name"));

	json_set_str(json_get(body, "metadata"), "uid", json_str(pod, "metadata.uid"));
	json_set_str(json_object_at(json_get(body, "metadata"), "labels"), "ray.io/node-type",
		     ray_node_name(pod_is_head(pod) ? RAY_HEAD : RAY_WORKER));
	json_set_str(json_get(body, "metadata.labels"), "ray.io/group", pod_group(pod));
	if (json_str(pod, "metadata.resourceVersion"))
		json_set_str(json_get(body, "metadata"), "resourceVersion",
			     json_str(pod, "metadata.resourceVersion"));
	return body;
}

void planner_delete_pod(struct planner *p, size_t i)
{
	if (p->leaving[i] || p->frozen)
		return;
	planner_add(p, PLAN_DELETE, deletion_of(p->pods[i]));
	p->leaving[i] = true;
}

void planner_forget_pod(struct planner *p, size_t i)
{
	if (p->frozen)
		return;
	cJSON *body = deletion_of(p->pods[i]);
	json_set_int(body, "gracePeriodSeconds", 0);
	planner_add(p, PLAN_DELETE, body);
}

/* Deletes a dead pod only when its RayFailure exists. */
void planner_delete_or_hold(struct planner *p, size_t i)
{
	if (!p->frozen && p->pending[i] && pod_is_dead(p->pods[i]) && !p->leaving[i])
		planner_requeue(p, PLAN_RETRY_NS);
	else
		planner_delete_pod(p, i);
}

bool planner_in_group(const struct planner *p, size_t i, enum ray_node node, const char *group)
{
	bool head = pod_is_head(p->pods[i]);

	return node == RAY_HEAD ? head : !head && strcmp(pod_group(p->pods[i]), group) == 0;
}

/* Returns the index of the first crash whose group does not come before that name. */
static size_t crashes_from(const struct planner *p, const char *group, int beyond)
{
	size_t low = 0, high = p->in->n_crashes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(p->crashes[middle].group, group) < beyond)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct crash *planner_crashes(const struct planner *p, const char *group, size_t *ret_n)
{
	size_t from = crashes_from(p, group, 0);

	*ret_n = crashes_from(p, group, 1) - from;
	return p->crashes + from;
}

int planner_build(struct planner *p, enum ray_node node, const cJSON *group, cJSON **ret_pod,
		  struct err *err)
{
	struct pod_request req = {
		.cluster = p->in->cluster,
		.node = node,
		.group = group,
		.hash = p->hash,
		.resized = &p->resized,
		.policy = p->in->policy,
		.policy_origin = p->in->policy_origin,
		.store_claim_trouble = p->in->store_claim_trouble,
		.kernel_log_refused = p->in->kernel_log_refused,
		.launchers = p->in->launchers,
	};

	p->template = NULL; /* the old address may be used again for another template */
	return pod_build(&req, ret_pod, p->notes, err);
}

/*
 * --- Creating
 * -------------------------------------------------------------------------------------------
 */

static size_t creates_max(const struct planner *p)
{
	return MIN(MAX(p->n_pods / 4, CREATES_LEAST), CREATES_MOST);
}

bool planner_may_create(struct planner *p)
{
	if (p->frozen)
		return false;
	if (p->in->now_ns < p->hold_ns) {
		planner_requeue(p, p->hold_ns - p->in->now_ns);
		return false;
	}
	if (p->creates < creates_max(p))
		return true;
	planner_requeue(p, PLAN_RETRY_NS);
	return false;
}

/* Returns whether the name is taken, by any pod or by this plan. */
static bool name_in_use(const struct planner *p, const char *name)
{
	size_t at;

	return pod_index_find(&p->index, name, &at) || strmap_get(&p->taken, name);
}

static const char *unanswered_name(const struct planner *p, const char *group)
{
	for (size_t i = 0; i < p->in->n_unanswered; i++) {
		const struct unanswered_create *u = &p->in->unanswered[i];

		if (strcmp(u->group, group) == 0 && !name_in_use(p, u->name))
			return u->name;
	}
	return NULL;
}

void planner_next_name(struct planner *p, enum ray_node node, const char *group,
		       char ret_name[static POD_NAME_MAX])
{
	const char *unanswered = unanswered_name(p, group);

	if (unanswered)
		snprintf(ret_name, POD_NAME_MAX, "%s", unanswered);
	else
		do
			pod_name(p->in->cluster, node, group, p->in->name_seed, p->n_names++,
				 ret_name);
		while (name_in_use(p, ret_name));
	p->failed = p->failed || strmap_put(&p->taken, ret_name, p, NULL) < 0;
}

/*
 * Returns the plan's own copy, which is shared by all consecutive pods. Without memory the plan
 * fails.
 */
static const cJSON *template_copy(struct planner *p, const cJSON *template)
{
	if (p->template == template)
		return p->copy;
	if (!p->plan.templates)
		p->plan.templates = cJSON_CreateArray();
	p->template = template;
	p->copy = cJSON_Duplicate(template, true);
	json_append(p->plan.templates, p->copy);
	return p->copy;
}

void planner_create_pod(struct planner *p, const cJSON *template, const char *name,
			const struct pod_place *place)
{
	cJSON *pod = object_new("v1", "Pod", json_str(template, "metadata.namespace"), name);
	cJSON *own = json_object_at(json_get(pod, "metadata"), "labels");
	size_t at = p->plan.n_ops;

	json_set_str(own, "ray.io/node-type", pod_label(template, "ray.io/node-type"));
	json_set_str(own, "ray.io/group", pod_group(template));
	if (place->index >= 0)
		json_set_digits(own, REPLICA_INDEX_LABEL, place->index);
	if (place->replica) {
		json_set_str(own, REPLICA_NAME_LABEL, place->replica);
		json_set_digits(own, HOST_INDEX_LABEL, place->host);
	}
	planner_add(p, PLAN_CREATE, pod);
	if (p->plan.n_ops > at)
		p->plan.ops[at].template = template_copy(p, template);
	p->creates++;
}

/*
 * Returns which replicas of the group exist. The index of a replica that is being deleted is free.
 * The caller frees the result.
 */
static bool *replica_indexes(const struct planner *p, const struct pod_list *workers, size_t size)
{
	bool *used = calloc(size, sizeof(*used));

	for (size_t i = 0; used && i < workers->n; i++) {
		const cJSON *pod = p->pods[workers->at[i]];
		const char *text = pod_label(pod, REPLICA_INDEX_LABEL);
		size_t index = strtoul(text, NULL, 10);

		if (*text && index < size && !pod_is_terminating(pod))
			used[index] = true;
	}
	return used;
}

void planner_create_head(struct planner *p, const cJSON *template)
{
	char name[POD_NAME_MAX];

	if (!planner_may_create(p))
		return;
	planner_next_name(p, RAY_HEAD, HEAD_GROUP_NAME, name);
	planner_create_pod(p, template, name, &(struct pod_place){ .index = -1 });
}

void planner_create_replicas(struct planner *p, const cJSON *template, const char *group, int64_t n)
{
	const struct pod_list *workers = pod_index_workers(&p->index, group);

	/* There are more indexes than replicas, so one is free. */
	size_t size = workers->n + CREATES_MOST, index = 0;
	_cleanup_free_ bool *used = NULL;
	char name[POD_NAME_MAX];

	if (n <= 0)
		return;
	used = replica_indexes(p, workers, size);
	p->failed = p->failed || !used;
	for (; used && n > 0 && planner_may_create(p); n--) {
		while (index < size && used[index])
			index++;
		planner_next_name(p, RAY_WORKER, group, name);
		planner_create_pod(p, template, name,
				   &(struct pod_place){ .index = (int64_t)index++ });
	}
}
