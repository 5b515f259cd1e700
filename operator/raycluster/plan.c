/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do for one RayCluster.
 *
 * Theory of operation. Every pod's name is derived from (cluster, group, n):
 * the smallest n whose name no observed pod has is the next to be created. A
 * create whose response was lost, or that the cache does not show yet, is thus
 * planned again under the same name and refused by the API server: no second
 * pod. A dead pod keeps its place until it is gone, a terminating worker does
 * not (its grace period may be an hour), a terminating head does, for two heads
 * behind one service are worse than none.
 */
#include "operator/raycluster/plan.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "lib/units.h"
#include "operator/raycluster/event.h"
#include "operator/raycluster/inject.h"
#include "operator/raycluster/names.h"
#include "operator/raycluster/notes.h"
#include "operator/raycluster/pod_state.h"
#include "operator/raycluster/pod_template.h"
#include "operator/raycluster/service.h"
#include "operator/raycluster/status.h"
#include "operator/raycluster/validate.h"

#define CREATES_MAX 64 /* per plan: one big cluster must not hold up the others */
#define RETRY_NS NS_PER_SEC

struct planner {
	const struct plan_input *in;
	struct plan plan;
	size_t capacity;
	cJSON *notes;
	const cJSON **pods; /* of in->pods, those that this cluster controls */
	bool *pending;	    /* their evidence is still to be written */
	bool *leaving;	    /* terminating, or deleted by this plan */
	size_t n_pods;
	unsigned creates;
	struct status_view view;
	bool workers_ready; /* no group lacks a ready worker */
	bool failed;	    /* no memory: checked once, at the end */
};

/* --- The list of operations --------------------------------------------------------------------- */

static void add_op(struct planner *p, enum plan_op_kind kind, cJSON *body)
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

static void requeue(struct planner *p, int64_t ns)
{
	if (!p->plan.requeue_ns || ns < p->plan.requeue_ns)
		p->plan.requeue_ns = ns;
}

void plan_release(struct plan *p)
{
	for (size_t i = 0; i < p->n_ops; i++)
		cJSON_Delete(p->ops[i].body);
	free(p->ops);
	*p = (struct plan){ 0 };
}

/* Uid and resourceVersion become preconditions: what is deleted is what was judged. */
static void delete_pod(struct planner *p, size_t i)
{
	const cJSON *pod = p->pods[i];
	cJSON *body =
		object_new("v1", "Pod", json_str(pod, "metadata.namespace"), json_str(pod, "metadata.name"));

	json_set_str(json_get(body, "metadata"), "uid", json_str(pod, "metadata.uid"));
	if (json_str(pod, "metadata.resourceVersion"))
		json_set_str(json_get(body, "metadata"), "resourceVersion",
			     json_str(pod, "metadata.resourceVersion"));
	add_op(p, PLAN_DELETE, body);
	p->leaving[i] = true;
}

/* --- Observed pods -------------------------------------------------------------------------------- */

static int gather_pods(struct planner *p, struct err *err)
{
	const struct plan_input *in = p->in;
	const char *uid = json_str(in->cluster, "metadata.uid");

	p->pods = calloc(in->n_pods + 1, sizeof(*p->pods));
	p->pending = calloc(in->n_pods + 1, sizeof(*p->pending));
	p->leaving = calloc(in->n_pods + 1, sizeof(*p->leaving));
	if (!p->pods || !p->pending || !p->leaving)
		return err_set(err, ENOMEM, "plan");
	for (size_t i = 0; i < in->n_pods; i++) {
		if (!pod_is_owned(in->pods[i], uid))
			continue;
		p->pods[p->n_pods] = in->pods[i];
		p->pending[p->n_pods] = in->evidence_pending && in->evidence_pending[i];
		p->leaving[p->n_pods] = pod_is_terminating(in->pods[i]);
		p->n_pods++;
	}
	p->view.pods_left = p->n_pods > 0;
	return 0;
}

static bool in_group(const struct planner *p, size_t i, enum ray_node node, const char *group)
{
	bool head = pod_is_head(p->pods[i]);

	return node == RAY_HEAD ? head : !head && strcmp(pod_group(p->pods[i]), group) == 0;
}

/* Also a foreign pod's name is taken. */
static bool name_in_use(const struct planner *p, const char *name)
{
	for (size_t i = 0; i < p->in->n_pods; i++) {
		const char *other = json_str(p->in->pods[i], "metadata.name");

		if (other && strcmp(other, name) == 0)
			return true;
	}
	return false;
}

/* Evidence first: a dead pod goes when its RayFailure is there. */
static void delete_dead(struct planner *p)
{
	for (size_t i = 0; i < p->n_pods; i++) {
		if (p->leaving[i] || !pod_is_dead(p->pods[i]))
			continue;
		if (p->pending[i])
			requeue(p, RETRY_NS);
		else
			delete_pod(p, i);
	}
}

/* --- Creating ---------------------------------------------------------------------------------------- */

/* n pods from one built template; *next is the number of the last name tried. */
static void create_pods(struct planner *p, const cJSON *template, enum ray_node node, const char *group,
			int64_t n)
{
	char name[POD_NAME_MAX];
	unsigned next = 0;

	for (; n > 0; n--) {
		cJSON *pod;

		if (p->creates == CREATES_MAX) {
			requeue(p, RETRY_NS);
			return;
		}
		do
			pod_name(p->in->cluster, node, group, next++, name);
		while (name_in_use(p, name));
		pod = cJSON_Duplicate(template, true);
		json_set_str(json_get(pod, "metadata"), "name", name);
		add_op(p, PLAN_CREATE, pod);
		p->creates++;
	}
}

static int64_t requested_milli(const cJSON *container, const char *name)
{
	static const char *const kinds[] = { "requests", "limits" };
	int64_t milli;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const cJSON *list = json_get(json_get(container, "resources"), kinds[i]);
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(list, name);

		if (cJSON_IsNumber(item))
			return (int64_t)(item->valuedouble * 1000);
		if (cJSON_IsString(item) && quantity_parse_milli(item->valuestring, &milli, NULL) == 0)
			return milli;
	}
	return 0;
}

/* The recorder is not what the user asked for, so it is not in the sum. */
static void add_resources(struct planner *p, const cJSON *template, int64_t n)
{
	const cJSON *container;

	cJSON_ArrayForEach(container, json_get(template, "spec.containers")) {
		const char *name = json_str(container, "name");

		if (name && strcmp(name, SIDECAR_CONTAINER) == 0)
			continue;
		p->view.cpu_milli += n * requested_milli(container, "cpu");
		p->view.memory_bytes += n * (requested_milli(container, "memory") / 1000);
		p->view.gpus += n * (requested_milli(container, "nvidia.com/gpu") / 1000);
		p->view.tpus += n * (requested_milli(container, "google.com/tpu") / 1000);
	}
}

static int build_template(struct planner *p, enum ray_node node, const cJSON *group, cJSON **ret_pod,
			  struct err *err)
{
	struct pod_request req = {
		.cluster = p->in->cluster,
		.node = node,
		.group = group,
		.policy = p->in->policy,
		.store_claim_exists = p->in->store_claim_exists,
		.kernel_log_refused = p->in->kernel_log_refused,
		.launcher = p->in->launcher != NULL,
	};

	return pod_build(&req, ret_pod, p->notes, err);
}

/* --- Head ---------------------------------------------------------------------------------------------- */

static int plan_head(struct planner *p, struct err *err)
{
	_cleanup_json_ cJSON *template = NULL;
	size_t heads = 0;
	int r = build_template(p, RAY_HEAD, json_get(p->in->cluster, "spec.headGroupSpec"), &template, err);

	if (r < 0)
		return r;
	add_resources(p, template, 1);
	for (size_t i = 0; i < p->n_pods; i++) {
		if (!in_group(p, i, RAY_HEAD, NULL))
			continue;
		heads++;
		if (!p->leaving[i] || !p->view.head)
			p->view.head = p->pods[i];
	}
	if (heads > 1)
		return err_set(err, EEXIST, "cluster %s has %zu head pods: delete all but one",
			       json_str(p->in->cluster, "metadata.name"), heads);
	if (heads == 0)
		create_pods(p, template, RAY_HEAD, HEAD_GROUP_NAME, 1);
	return 0;
}

/* --- Workers -------------------------------------------------------------------------------------------- */

static int64_t desired_replicas(const cJSON *group)
{
	int64_t min = json_int(group, "minReplicas", 0), max = json_int(group, "maxReplicas", INT32_MAX);

	if (json_bool(group, "suspend", false))
		return 0;
	return MIN(MAX(json_int(group, "replicas", 0), min), max);
}

static void delete_named(struct planner *p, const cJSON *group, const char *name)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, json_get(group, "scaleStrategy.workersToDelete"))
		for (size_t i = 0; cJSON_IsString(item) && i < p->n_pods; i++) {
			const char *pod = json_str(p->pods[i], "metadata.name");

			if (!p->leaving[i] && in_group(p, i, RAY_WORKER, name) && pod &&
			    strcmp(pod, item->valuestring) == 0)
				delete_pod(p, i);
		}
}

/* Who goes first when there are too many: not running, not ready, the youngest. */
static int compare_worth(const cJSON *a, const cJSON *b)
{
	const char *time_a = json_str(a, "metadata.creationTimestamp"),
		   *time_b = json_str(b, "metadata.creationTimestamp");
	int order = pod_is_running(a) - pod_is_running(b);

	if (!order)
		order = pod_ray_is_ready(a) - pod_ray_is_ready(b);
	if (!order && time_a && time_b)
		order = strcmp(time_b, time_a);
	return order ? order : strcmp(json_str(a, "metadata.name"), json_str(b, "metadata.name"));
}

static void delete_surplus(struct planner *p, const char *name, int64_t n)
{
	for (; n > 0; n--) {
		size_t victim = p->n_pods;

		for (size_t i = 0; i < p->n_pods; i++)
			if (!p->leaving[i] && in_group(p, i, RAY_WORKER, name) && !pod_is_dead(p->pods[i]) &&
			    (victim == p->n_pods || compare_worth(p->pods[i], p->pods[victim]) < 0))
				victim = i;
		if (victim == p->n_pods)
			return;
		delete_pod(p, victim);
	}
}

struct count {
	int64_t alive, running, ready;
	int64_t dead; /* still there, so still in their place */
};

static struct count count_workers(const struct planner *p, const char *name)
{
	struct count c = { 0 };

	for (size_t i = 0; i < p->n_pods; i++) {
		if (!in_group(p, i, RAY_WORKER, name))
			continue;
		if (pod_is_dead(p->pods[i])) {
			/* Deleted by this plan is not gone yet; deleted earlier is as good as gone. */
			c.dead += !pod_is_terminating(p->pods[i]);
			continue;
		}
		if (p->leaving[i])
			continue;
		c.alive++;
		c.running += pod_is_running(p->pods[i]);
		c.ready += pod_ray_is_ready(p->pods[i]);
	}
	return c;
}

static int plan_workers(struct planner *p, const cJSON *group, struct err *err)
{
	const char *name = group_name(RAY_WORKER, group);
	int64_t desired = desired_replicas(group);
	_cleanup_json_ cJSON *template = NULL;
	struct count c;
	int r = build_template(p, RAY_WORKER, group, &template, err);

	if (r < 0)
		return r;
	add_resources(p, template, desired);
	delete_named(p, group, name);
	c = count_workers(p, name);
	p->view.desired_workers += desired;
	p->view.min_workers += json_int(group, "minReplicas", 0);
	p->view.max_workers = MIN(p->view.max_workers + json_int(group, "maxReplicas", INT32_MAX), INT32_MAX);
	p->view.running_workers += c.running;
	p->view.ready_workers += c.ready;
	p->workers_ready = p->workers_ready && c.ready >= desired;
	if (c.alive > desired)
		delete_surplus(p, name, c.alive - desired);
	else
		create_pods(p, template, RAY_WORKER, name, desired - c.alive - c.dead);
	return 0;
}

/* Pods of a group that the spec has no more. */
static void delete_orphans(struct planner *p)
{
	const cJSON *groups = json_get(p->in->cluster, "spec.workerGroupSpecs");

	for (size_t i = 0; i < p->n_pods; i++)
		if (!p->leaving[i] && !pod_is_head(p->pods[i]) &&
		    !json_find(groups, "groupName", pod_group(p->pods[i])))
			delete_pod(p, i);
}

/* --- What stands around the pods -------------------------------------------------------------- */

static cJSON *launcher_configmap(const struct plan_input *in)
{
	size_t size = 4 * ((in->launcher_len + 2) / 3) + 1;
	_cleanup_free_ char *base64 = malloc(size);
	cJSON *map;

	if (!base64 || in->launcher_len > INT32_MAX)
		return NULL;
	EVP_EncodeBlock((unsigned char *)base64, in->launcher, (int)in->launcher_len);
	map = object_new("v1", "ConfigMap", json_str(in->cluster, "metadata.namespace"),
			 PLAN_LAUNCHER_CONFIGMAP);
	json_set_str(json_object_at(json_get(map, "metadata"), "labels"), "app.kubernetes.io/managed-by",
		     "afterglow");
	json_set_str(json_object_at(map, "binaryData"), PLAN_LAUNCHER_KEY, base64);
	return map;
}

static void plan_launcher(struct planner *p)
{
	if (p->in->launcher && p->in->policy->sidecar_image && !p->in->launcher_configmap_current)
		add_op(p, PLAN_APPLY, launcher_configmap(p->in));
}

/* clusterIP cannot be changed: a service that got one (from KubeRay, say) keeps it. */
static void plan_service(struct planner *p)
{
	_cleanup_json_ cJSON *service = service_build(p->in->cluster);
	const char *cluster_ip = json_str(p->in->service, "spec.clusterIP");

	if (cluster_ip && *cluster_ip && service)
		json_set_str(json_get(service, "spec"), "clusterIP", cluster_ip);
	if (!p->in->service || !object_covers(p->in->service, service))
		add_op(p, PLAN_APPLY, TAKE_PTR(service));
}

/* Said once: when the condition is not in the status yet. */
static void plan_events(struct planner *p)
{
	for (unsigned t = 0; t < NOTE_TOPIC_COUNT; t++) {
		_cleanup_free_ char *text = notes_text(p->notes, t);

		if (notes_have(p->notes, t) && text &&
		    !status_tells(p->in->cluster, note_topic_condition(t), "False", text))
			add_op(p, PLAN_EVENT,
			       event_warning(p->in->cluster, notes_reason(p->notes, t), "Reconcile", text,
					     p->in->now_ns));
	}
}

static void plan_status(struct planner *p, const struct status_view *view)
{
	cJSON *status = status_build(p->in->cluster, view, p->notes, p->in->now_ns), *body;

	if (!status)
		return;
	body = object_new("ray.io/v1", "RayCluster", json_str(p->in->cluster, "metadata.namespace"),
			  json_str(p->in->cluster, "metadata.name"));
	json_set(body, "status", status);
	add_op(p, PLAN_STATUS, body);
}

/* --- All together ------------------------------------------------------------------------------ */

static int plan_pods(struct planner *p, struct err *err)
{
	const cJSON *group;
	int r;

	delete_dead(p);
	delete_orphans(p);
	r = plan_head(p, err);
	if (r < 0)
		return r;
	cJSON_ArrayForEach(group, json_get(p->in->cluster, "spec.workerGroupSpecs")) {
		r = plan_workers(p, group, err);
		if (r < 0)
			return r;
	}
	p->view.all_ready = p->workers_ready && p->view.head && !pod_is_terminating(p->view.head) &&
			    pod_ray_is_ready(p->view.head);
	return 0;
}

static void plan_suspend(struct planner *p)
{
	for (size_t i = 0; i < p->n_pods; i++) {
		if (p->pending[i] && pod_is_dead(p->pods[i]))
			requeue(p, RETRY_NS);
		else if (!p->leaving[i])
			delete_pod(p, i);
	}
}

static int plan_valid(struct planner *p, struct err *err)
{
	int r = gather_pods(p, err);

	if (r < 0)
		return r;
	p->workers_ready = true;
	p->view.service = p->in->service;
	p->view.suspend = json_bool(p->in->cluster, "spec.suspend", false);
	if (p->view.suspend) {
		plan_suspend(p);
	} else {
		plan_launcher(p);
		plan_service(p);
		r = plan_pods(p, err);
	}
	if (r < 0)
		return r;
	plan_status(p, &p->view);
	plan_events(p);
	return 0;
}

/* Being deleted: the garbage collector follows the owner references. Or another controller's. */
static bool is_not_ours(const cJSON *cluster)
{
	const char *managed_by = json_str(cluster, "spec.managedBy");

	return json_str(cluster, "metadata.deletionTimestamp") ||
	       (managed_by && *managed_by && strcmp(managed_by, "ray.io/kuberay-operator"));
}

static void planner_release(struct planner *p)
{
	plan_release(&p->plan);
	cJSON_Delete(p->notes);
	free(p->pods);
	free(p->pending);
	free(p->leaving);
}

int plan_cluster(const struct plan_input *in, struct plan *ret_plan, struct err *err)
{
	size_t lost = oom_count();
	_cleanup_(planner_release) struct planner p = { .in = in, .notes = cJSON_CreateArray() };
	int r = 0;

	if (is_not_ours(in->cluster)) {
		*ret_plan = (struct plan){ 0 };
		return 0;
	}
	validate_cluster(in->cluster, p.notes);
	if (notes_have(p.notes, NOTE_SPEC_VALID)) {
		plan_status(&p, NULL);
		plan_events(&p);
	} else {
		r = plan_valid(&p, err);
	}
	if (r < 0)
		return r;
	if (p.failed || oom_count() != lost)
		return err_set(err, ENOMEM, "plan");
	*ret_plan = p.plan;
	p.plan = (struct plan){ 0 };
	return 0;
}
