/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the status of a RayCluster. */
#include "operator/raycluster/status.h"
#include "operator/raycluster/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/sidecar_names.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/kube/object.h"
#include "operator/podspec/notes.h"
#include "operator/podspec/quantity.h"
#include "operator/raycluster/autoscaler.h"
#include "operator/raycluster/bounds.h"
#include "operator/raycluster/head_trouble.h"
#include "operator/raycluster/pod_state.h"
#include "operator/raycluster/service.h"
#include "operator/raycluster/start_params.h"

#define MESSAGE_MAX 4096
#define MEMORY_GROWING "afterglow.dev/MemoryGrowing"

struct builder {
	const cJSON *cluster, *old; /* old: the present status, or NULL */
	cJSON *status;
	int64_t now_ns;
	char now[OBJECT_SECONDS_MAX];
};

static bool milli_of(const cJSON *amount, int64_t *ret_milli)
{
	const char *text = cJSON_GetStringValue(amount);

	if (cJSON_IsNumber(amount))
		*ret_milli = json_number_cut(amount->valuedouble * 1000);
	return text ? quantity_parse_milli(text, ret_milli, NULL) == 0 : cJSON_IsNumber(amount);
}

static int64_t requested_milli(const cJSON *container, const char *name)
{
	static const char *const kinds[] = { "requests", "limits" };
	int64_t milli;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const cJSON *list = json_get(json_get(container, "resources"), kinds[i]);

		if (milli_of(cJSON_GetObjectItemCaseSensitive(list, name), &milli))
			return milli;
	}
	return 0;
}

/* A sum that is too large stays at the largest number: users write any amounts. */
static void amount_add(int64_t *sum, int64_t n, int64_t amount)
{
	if (__builtin_mul_overflow(n, amount, &amount) ||
	    __builtin_add_overflow(*sum, amount, &amount))
		amount = INT64_MAX;
	*sum = amount;
}

/*
	 * Counts GPUs by the limits: Kubernetes requires equal limits and requests for resources
	 * other than CPU and memory.
	 */
static int64_t gpus_of(const cJSON *container)
{
	int64_t n = 0, milli;

	json_each(item, json_get(container, "resources.limits"))
		if (resource_is_gpu(item->string) && milli_of(item, &milli))
			amount_add(&n, 1, milli / 1000);
	return n;
}

void status_add_resources(struct status_view *view, const cJSON *template, int64_t n)
{
	json_each(container, json_get(template, "spec.containers")) {
		const char *name = json_str(container, "name");

		/* Sidecar and autoscaler do not count, because Ray cannot use their resources. */
		if (name && (strcmp(name, SIDECAR_CONTAINER) == 0 ||
			     strcmp(name, AUTOSCALER_CONTAINER) == 0))
			continue;
		amount_add(&view->cpu_milli, n, requested_milli(container, "cpu"));
		amount_add(&view->memory_bytes, n, requested_milli(container, "memory") / 1000);
		amount_add(&view->gpus, n, gpus_of(container));
		amount_add(&view->tpus, n, requested_milli(container, "google.com/tpu") / 1000);
	}
}

static void set_condition(struct builder *b, const char *type, bool value, const char *reason,
			  const char *message)
{
	json_append(json_array_at(b->status, "conditions"),
		    object_condition_new(b->old, type, value, reason, message,
					 json_int(b->cluster, "metadata.generation", 0),
					 b->now_ns));
}

static void set_head_condition(struct builder *b, const struct status_view *view)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(HEAD_TROUBLE_MAX);
	bool ready = view->head && pod_is_ready(view->head);
	const char *reason = ready ? "HeadPodRunningAndReady" : "HeadPodNotFound";

	if (!view->head)
		strbuf_adds(&text, "there is no head pod");
	else if (!ready)
		head_trouble(view->head, &reason, &text);
	set_condition(b, "HeadPodReady", ready, reason, strbuf_str(&text));
}

/*
 * Once true, the condition stays true, because tools wait for it once. A suspended cluster starts
 * anew.
 */
static void set_provisioned(struct builder *b, const struct status_view *view)
{
	bool before = object_condition_is_true(b->cluster, "RayClusterProvisioned") &&
		      !object_condition_is_true(b->cluster, "RayClusterSuspended");

	if (view->all_ready || before)
		set_condition(b, "RayClusterProvisioned", true, "AllPodRunningAndReadyFirstTime",
			      "All Ray Pods are ready for the first time");
	else
		set_condition(b, "RayClusterProvisioned", false, "RayClusterPodsProvisioning",
			      "RayCluster Pods are being provisioned for first time");
}

static void set_suspend(struct builder *b, const struct status_view *view)
{
	set_condition(b, "RayClusterSuspending", view->suspend && view->pods_left,
		      "RayClusterSuspending", "");
	set_condition(b, "RayClusterSuspended", view->suspend && !view->pods_left,
		      "RayClusterSuspended", "");
}

/*
 * The condition exists only while it is true. Without it either memory does not grow or nobody
 * checks it.
 */
static void set_growing(struct builder *b, const struct status_view *view)
{
	const cJSON *was = json_find(json_get(b->old, "conditions"), "type", MEMORY_GROWING);

	if (view->growing)
		set_condition(b, MEMORY_GROWING, true, "MemoryGrowing", view->growing);
	else if (was && view->growing_unheard)
		json_append(json_array_at(b->status, "conditions"), cJSON_Duplicate(was, true));
}

static void set_notes(struct builder *b, const cJSON *notes, enum note_topic first,
		      enum note_topic last)
{
	for (unsigned t = first; t <= last; t++) {
		_cleanup_free_ char *text = notes_text(notes, t);
		const char *reason = notes_reason(notes, t);

		set_condition(b, note_topic_condition(t), !reason,
			      reason ? reason : note_topic_good_reason(t), text ? text : "");
	}
}

static const char *next_state(const struct builder *b, const struct status_view *view)
{
	const char *state = json_str(b->old, "state");

	if (view->suspend)
		return view->pods_left ? (state ? state : "") : "suspended";
	if (view->all_ready)
		return "ready";
	/* KubeRay keeps "ready" while pods are replaced, and tools rely on that. */
	return state && strcmp(state, "suspended") ? state : "";
}

static void set_state(struct builder *b, const struct status_view *view)
{
	const char *state = next_state(b, view), *before = json_str(b->old, "state");
	const cJSON *times = json_get(b->old, "stateTransitionTimes");

	json_set_str(b->status, "state", state);
	if (cJSON_IsObject(times) && times->child)
		json_set(b->status, "stateTransitionTimes", cJSON_Duplicate(times, true));
	if (*state && (!before || strcmp(state, before)))
		json_set_str(json_object_at(b->status, "stateTransitionTimes"), state, b->now);
}

static void set_counts(struct builder *b, const struct status_view *view)
{
	char text[QUANTITY_TEXT_MAX];

	json_set_int(b->status, "observedGeneration",
		     json_int(b->cluster, "metadata.generation", 0));
	json_set_int(b->status, "desiredWorkerReplicas", view->desired_workers);
	json_set_int(b->status, "minWorkerReplicas", view->min_workers);
	json_set_int(b->status, "maxWorkerReplicas", view->max_workers);
	json_set_int(b->status, "availableWorkerReplicas", view->running_workers);
	json_set_int(b->status, "readyWorkerReplicas", view->ready_workers);
	json_set_str(b->status, "desiredCPU", quantity_format_milli(view->cpu_milli, text));
	json_set_str(b->status, "desiredMemory", quantity_format_bytes(view->memory_bytes, text));
	json_set_digits(b->status, "desiredGPU", view->gpus);
	json_set_digits(b->status, "desiredTPU", view->tpus);
}

static void set_head(struct builder *b, const struct status_view *view)
{
	cJSON *head = json_object_at(b->status, "head");
	const char *pod_ip = json_str_or(view->head, "status.podIP", "");
	const char *cluster_ip = json_str(view->service, "spec.clusterIP");
	_cleanup_free_ char *service = head_service_name(b->cluster);
	bool headless = !cluster_ip || strcmp(cluster_ip, "None") == 0;

	json_set_str(head, "podIP", pod_ip);
	json_set_str(head, "podName", json_str_or(view->head, "metadata.name", ""));
	json_set_str(head, "serviceName", service ? service : "");
	json_set_str(head, "serviceIP", headless ? pod_ip : cluster_ip);
}

/*
	 * Sets the ports that a client can use: the node's port if there is one, otherwise the
	 * pod's. Others may have added ports to the Service.
	 */
static void set_endpoints(struct builder *b, const struct status_view *view)
{
	int n = 0;

	/*
	 * Empty maps are left out: if an empty map is applied over one with members, it becomes
	 * null, which the CRD refuses.
	 */
	json_each(port, json_get(view->service, "spec.ports")) {
		const char *name = json_str(port, "name"), *target = json_str(port, "targetPort");
		char number[24];

		if (n++ == BOUND_MEMBERS)
			break;
		snprintf(number, sizeof(number), "%" PRId64,
			 json_int(port, "nodePort",
				  json_int(port, "targetPort", json_int(port, "port", 0))));
		if (name)
			json_set_str(json_object_at(b->status, "endpoints"), name,
				     target && !json_get(port, "nodePort") ? target : number);
	}
}

/* Returns whether the condition is ours. One that no longer holds has to be removed. */
static bool status_is_ours(const char *type)
{
	return type &&
	       (strcmp(type, "ReplicaFailure") == 0 || strncmp(type, "afterglow.dev/", 14) == 0);
}

static bool conditions_same(const cJSON *have, const cJSON *want)
{
	json_each(condition, have)
		if (status_is_ours(json_str(condition, "type")) &&
		    !json_find(want, "type", json_str(condition, "type")))
			return false;
	json_each(condition, want)
		if (!object_covers(json_find(have, "type", json_str(condition, "type")), condition))
			return false;
	return true;
}

/* Compares field by field, because others may write fields into the status, too. */
static bool status_same(const cJSON *old, const cJSON *status)
{
	const cJSON *was;

	json_each(item, status) {
		/* It changes with the state alone, and others may have written very many times. */
		if (strcmp(item->string, "stateTransitionTimes") == 0)
			continue;
		was = cJSON_GetObjectItemCaseSensitive(old, item->string);
		if (strcmp(item->string, "conditions") == 0) {
			if (!conditions_same(was, item))
				return false;
		} else if (!was || !cJSON_Compare(was, item, true)) {
			return false;
		}
	}
	return true;
}

/* Keeps the old status: an invalid spec changes only its own notes. */
static void keep_old(struct builder *b)
{
	cJSON_Delete(b->status);
	b->status = cJSON_IsObject(b->old) ? cJSON_Duplicate(b->old, true) : cJSON_CreateObject();
	cJSON_DeleteItemFromObjectCaseSensitive(b->status, "conditions");
	cJSON_DeleteItemFromObjectCaseSensitive(b->status, "lastUpdateTime");
	json_each(condition, json_get(b->old, "conditions")) {
		const char *type = json_str(condition, "type");

		if (type && strcmp(type, note_topic_condition(NOTE_SPEC_VALID)))
			json_append(json_array_at(b->status, "conditions"),
				    cJSON_Duplicate(condition, true));
	}
	json_set_int(b->status, "observedGeneration",
		     json_int(b->cluster, "metadata.generation", 0));
}

cJSON *status_build(const cJSON *cluster, const struct status_view *view, const cJSON *notes,
		    int64_t now_ns)
{
	struct builder b = { .cluster = cluster,
			     .old = json_get(cluster, "status"),
			     .status = cJSON_CreateObject(),
			     .now_ns = now_ns };

	object_seconds(now_ns, b.now);
	if (view) {
		set_state(&b, view);
		set_counts(&b, view);
		set_head(&b, view);
		set_endpoints(&b, view);
		set_head_condition(&b, view);
		set_provisioned(&b, view);
		set_suspend(&b, view);
		/* KubeRay has this condition only while it is true. */
		if (view->failure_reason)
			set_condition(&b, "ReplicaFailure", true, view->failure_reason,
				      view->failure_message ? view->failure_message : "");
		set_growing(&b, view);
		set_notes(&b, notes, 0, NOTE_TOPIC_COUNT - 1);
	} else {
		keep_old(&b);
		set_notes(&b, notes, NOTE_SPEC_VALID, NOTE_SPEC_VALID);
	}
	if (status_same(b.old, b.status)) {
		cJSON_Delete(b.status);
		return NULL;
	}
	json_set_str(b.status, "lastUpdateTime", b.now);
	return b.status;
}

bool status_tells(const cJSON *cluster, const char *condition, const char *status, const char *text)
{
	const cJSON *was = json_find(json_get(cluster, "status.conditions"), "type", condition);
	const char *was_status = json_str(was, "status"), *was_text = json_str(was, "message");

	return was_status && was_text && strcmp(was_status, status) == 0 &&
	       strcmp(was_text, text) == 0;
}
