/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of plans: an API server in miniature that executes them under a fixed clock. Include
 * after cmocka.h.
 */
#pragma once

#include "lib/units.h"
#include "operator/raycluster/names.h"
#include "operator/raycluster/plan.h"
#include "operator/raycluster/service.h"
#include "operator/raycluster/testing.h"
#include "operator/raycluster/validate.h"

#define MAX_PODS 256

struct world {
	cJSON *cluster, *service, *headless;
	cJSON *pods[MAX_PODS];
	bool pending[MAX_PODS];
	size_t n_pods, n_labelled;
	struct policy policy;
	struct plan plan;
	int64_t now_ns;
	int uids;
	cJSON *applied; /* "Kind/name" -> hash */
	struct unanswered_create unanswered[16];
	size_t n_unanswered;
	unsigned n_plans;
	struct crash crashes[16];
	size_t n_crashes;
	const char *failure_reason;
	const cJSON *cleanup_job, *ingress, *gcs_claim, *serve, *account, *binding;
	cJSON *role;
	bool ingress_refused, role_refused;
	const char *growing;
	bool growing_unheard;
	const char *cleanup_refused;
};

static inline int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct err err = { 0 };

	w->cluster = fixture("cluster.yaml");
	if (policy_load(TESTDATA "policy.yaml", &w->policy, &err) < 0)
		fail_msg("%s", err.text);
	time_parse("2026-11-21T01:00:00Z", &w->now_ns, NULL);
	*state = w;
	return 0;
}

static inline int teardown(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < w->n_pods; i++)
		cJSON_Delete(w->pods[i]);
	cJSON_Delete(w->cluster);
	cJSON_Delete(w->service);
	cJSON_Delete(w->headless);
	cJSON_Delete(w->applied);
	cJSON_Delete(w->role);
	policy_release(&w->policy);
	plan_release(&w->plan);
	free(w);
	return 0;
}

static inline bool is_applied(void *arg, const char *kind, const char *name, const char *hash)
{
	const struct world *w = arg;
	char key[128];

	snprintf(key, sizeof(key), "%s/%s", kind, name);
	const char *have = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(w->applied, key));
	return have && strcmp(have, hash) == 0;
}

static inline int make_plan(struct world *w, struct err *err)
{
	char seed[16];
	_cleanup_json_ cJSON *notes = cJSON_CreateArray();

	validate_cluster(w->cluster, notes);
	snprintf(seed, sizeof(seed), "%u", ++w->n_plans);
	struct plan_input in = {
		.cluster = w->cluster,
		.notes = notes,
		.pods = (const cJSON *const *)w->pods,
		.n_pods = w->n_pods,
		.n_labelled = w->n_labelled,
		.service = w->service,
		.headless = w->headless,
		.policy = &w->policy,
		.launchers = testing_launchers(),
		.now_ns = w->now_ns,
		.evidence_pending = w->pending,
		.name_seed = seed,
		.unanswered = w->unanswered,
		.n_unanswered = w->n_unanswered,
		.crashes = w->crashes,
		.n_crashes = w->n_crashes,
		.is_applied = is_applied,
		.arg = w,
		.token = "secret",
		.cleanup_job = w->cleanup_job,
		.ingress = w->ingress,
		.ingress_refused = w->ingress_refused,
		.gcs_claim = w->gcs_claim,
		.serve = w->serve,
		.account = w->account,
		.role = w->role,
		.role_refused = w->role_refused,
		.binding = w->binding,
		.cleanup_refused = w->cleanup_refused,
		.growing = w->growing,
		.growing_unheard = w->growing_unheard,
		.failure_reason = w->failure_reason,
		.failure_message = w->failure_reason ? "403 Forbidden: exceeded quota" : NULL,
	};

	plan_release(&w->plan);
	w->now_ns += NS_PER_SEC;
	return plan_cluster(&in, &w->plan, err);
}

/* Afterwards the plan has its pods whole, as the API server gets them. */
static inline int try_plan(struct world *w, struct err *err)
{
	int r = make_plan(w, err);

	for (size_t i = 0; i < w->plan.n_ops; i++) {
		struct plan_op *op = &w->plan.ops[i];
		cJSON *pod = op->template ? plan_op_pod(op) : NULL;

		if (!op->template)
			continue;
		cJSON_Delete(op->body);
		*op = (struct plan_op){ .kind = op->kind, .body = pod };
	}
	return r;
}

static inline void plan(struct world *w)
{
	struct err err = { 0 };

	if (try_plan(w, &err) < 0)
		fail_msg("%s", err.text);
}

static inline size_t count(const struct world *w, enum plan_op_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < w->plan.n_ops; i++)
		n += w->plan.ops[i].kind == kind;
	return n;
}

static inline const cJSON *op(const struct world *w, enum plan_op_kind kind, size_t n)
{
	for (size_t i = 0; i < w->plan.n_ops; i++)
		if (w->plan.ops[i].kind == kind && n-- == 0)
			return w->plan.ops[i].body;
	fail_msg("no such operation");
	return NULL;
}

static inline cJSON *find_pod(struct world *w, const char *name)
{
	for (size_t i = 0; i < w->n_pods; i++)
		if (strcmp(json_str(w->pods[i], "metadata.name"), name) == 0)
			return w->pods[i];
	return NULL;
}

static inline void create(struct world *w, const cJSON *body)
{
	char text[TIME_TEXT_MAX], uid[32];
	cJSON *pod;

	if (find_pod(w, json_str(body, "metadata.name")))
		return; /* AlreadyExists */
	pod = cJSON_Duplicate(body, true);
	snprintf(uid, sizeof(uid), "uid-%d", ++w->uids);
	json_set_str(json_get(pod, "metadata"), "uid", uid);
	json_set_str(json_get(pod, "metadata"), "creationTimestamp", time_format(w->now_ns, text));
	json_set_str(json_object_at(pod, "status"), "phase", "Pending");
	w->pods[w->n_pods++] = pod;
}

static inline void remove_pod(struct world *w, const char *name)
{
	for (size_t i = 0; i < w->n_pods; i++)
		if (strcmp(json_str(w->pods[i], "metadata.name"), name) == 0) {
			cJSON_Delete(w->pods[i]);
			w->n_pods--;
			for (size_t k = i; k < w->n_pods; k++) {
				w->pods[k] = w->pods[k + 1];
				w->pending[k] = w->pending[k + 1];
			}
			w->pending[w->n_pods] = false;
			return;
		}
}

static inline void note_applied(struct world *w, const cJSON *body)
{
	char key[128], hash[PLAN_HASH_MAX];

	snprintf(key, sizeof(key), "%s/%s", json_str(body, "kind"),
		 json_str(body, "metadata.name"));
	plan_object_hash(body, hash);
	if (!w->applied)
		w->applied = cJSON_CreateObject();
	json_set_str(w->applied, key, hash);
}

static inline void merge(struct world *w, const cJSON *body)
{
	bool is_pod = strcmp(json_str(body, "kind"), "Pod") == 0;
	cJSON *object = is_pod ? find_pod(w, json_str(body, "metadata.name")) : w->cluster;
	const cJSON *item;

	if (json_get(body, "metadata.finalizers"))
		json_set(json_get(object, "metadata"), "finalizers",
			 cJSON_Duplicate(json_get(body, "metadata.finalizers"), true));
	cJSON_ArrayForEach(item, json_get(body, "metadata.labels"))
		json_set_str(json_object_at(json_get(object, "metadata"), "labels"), item->string,
			     item->valuestring);
	cJSON_ArrayForEach(item, json_get(body, "metadata.annotations"))
		json_set_str(json_object_at(json_get(object, "metadata"), "annotations"),
			     item->string, item->valuestring);
}

static inline void execute(struct world *w)
{
	for (size_t i = 0; i < w->plan.n_ops; i++) {
		const cJSON *body = w->plan.ops[i].body;
		const char *kind = json_str(body, "kind");

		switch (w->plan.ops[i].kind) {
		case PLAN_APPLY:
			if (strcmp(kind, "Service") == 0 &&
			    strcmp(json_str(body, "metadata.name"), "demo-head-svc") == 0) {
				cJSON_Delete(w->service);
				w->service = cJSON_Duplicate(body, true);
			} else if (strcmp(kind, "Service") == 0) {
				cJSON_Delete(w->headless);
				w->headless = cJSON_Duplicate(body, true);
			} else {
				note_applied(w, body);
			}
			break;
		case PLAN_CREATE:
			if (strcmp(kind, "Pod") == 0) {
				create(w, body);
			} else if (strcmp(kind, "Role") == 0) {
				cJSON_Delete(w->role);
				w->role = cJSON_Duplicate(body, true);
			} else {
				note_applied(w, body);
			}
			break;
		case PLAN_DELETE:
			remove_pod(w, json_str(body, "metadata.name"));
			break;
		case PLAN_STATUS:
			json_set(w->cluster, "status",
				 cJSON_Duplicate(json_get(body, "status"), true));
			break;
		case PLAN_MERGE:
			merge(w, body);
			break;
		case PLAN_BELIEVE:
			note_applied(w, body);
			break;
		case PLAN_EVENT:
			break;
		}
	}
}

static inline void set_phase(cJSON *pod, const char *phase, bool ready)
{
	cJSON *status = json_object_at(pod, "status"), *list = cJSON_CreateArray();
	const cJSON *container;

	json_set_str(status, "phase", phase);
	json_set_str(status, "podIP", "10.0.0.7");
	cJSON_ArrayForEach(container, json_get(pod, "spec.containers")) {
		cJSON *item = cJSON_CreateObject();

		json_set_str(item, "name", json_str(container, "name"));
		json_set(item, "ready", cJSON_CreateBool(ready));
		cJSON_AddItemToArray(list, item);
	}
	json_set(status, "containerStatuses", list);
}

/* Plans and executes until nothing is left to do; all pods come up. */
static inline void settle(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		plan(w);
		if (!w->plan.n_ops)
			return;
		execute(w);
		for (size_t k = 0; k < w->n_pods; k++)
			if (!json_get(w->pods[k], "metadata.deletionTimestamp"))
				set_phase(w->pods[k], "Running", true);
	}
	fail_msg("it does not settle");
}

static inline cJSON *small_group(struct world *w)
{
	return cJSON_GetArrayItem(json_get(w->cluster, "spec.workerGroupSpecs"), 0);
}

static inline cJSON *pod_of_type(struct world *w, const char *type, size_t n)
{
	for (size_t i = 0; i < w->n_pods; i++) {
		const cJSON *labels = json_get(w->pods[i], "metadata.labels");

		if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(labels, "ray.io/node-type")),
			   type) == 0 &&
		    n-- == 0)
			return w->pods[i];
	}
	return NULL;
}

static inline const cJSON *condition(struct world *w, const char *type)
{
	return json_find(json_get(w->cluster, "status.conditions"), "type", type);
}

static inline void expect_condition(struct world *w, const char *type, const char *status)
{
	assert_string_equal(json_str(condition(w, type), "status"), status);
}
