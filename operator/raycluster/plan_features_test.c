/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of plans for what a RayCluster may have besides pods: the autoscaler, hosts, upgrades, and
 * errors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "operator/kube/object.h"
#include "operator/raycluster/bounds.h"
#include "operator/raycluster/plan_world.h"
#include "operator/raycluster/pod_state.h"

static const cJSON *op_of_kind(const struct world *w, const char *kind)
{
	for (size_t i = 0; i < w->plan.n_ops; i++)
		if (strcmp(json_str(w->plan.ops[i].body, "kind"), kind) == 0)
			return w->plan.ops[i].body;
	return NULL;
}

static void what_stands_around_is_applied_once_and_again_when_it_changes(void **state)
{
	static const char *const kinds[] = { "ServiceAccount", "Role", "Secret",
					     "PersistentVolumeClaim", "Ingress" };
	struct world *w = *state;
	cJSON *spec = json_get(w->cluster, "spec");

	json_set_str(spec, "rayVersion", "2.55.0");
	json_set(spec, "enableInTreeAutoscaling", cJSON_CreateTrue());
	json_set(spec, "authOptions", json_of("{mode: token}"));
	json_set(spec, "gcsFaultToleranceOptions", json_of("{backend: rocksdb}"));
	json_set(json_get(spec, "headGroupSpec"), "enableIngress", cJSON_CreateTrue());
	plan(w);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!op_of_kind(w, kinds[i]))
			fail_msg("no %s", kinds[i]);
	assert_string_equal(json_str(op_of_kind(w, "Secret"), "stringData.auth_token"), "secret");
	/* The role is read before somebody is bound to it. */
	assert_null(op_of_kind(w, "RoleBinding"));
	assert_int_equal(w->plan.requeue_ns, NS_PER_SEC);
	execute(w);
	plan(w);
	assert_ptr_equal(op_of_kind(w, "RoleBinding"), op(w, PLAN_CREATE, 0));
	execute(w);
	plan(w);
	assert_null(op_of_kind(w, "RoleBinding"));
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		assert_null(op_of_kind(w, kinds[i]));
	json_set(json_get(spec, "headGroupSpec"), "ingressOptions",
		 json_of("{host: other.example.com}"));
	plan(w);
	assert_non_null(op_of_kind(w, "Ingress"));
	assert_null(op_of_kind(w, "Role"));
}

static void wants_an_ingress(struct world *w)
{
	json_set(json_get(w->cluster, "spec.headGroupSpec"), "enableIngress", cJSON_CreateTrue());
}

static cJSON *ingress_of(const char *owner_uid)
{
	char text[256];

	snprintf(
		text, sizeof(text),
		"metadata: {namespace: ray, name: demo-head-ingress, uid: u-1, ownerReferences: [{uid: \"%s\", controller: true}]}",
		owner_uid);
	return json_of(text);
}

static void an_ingress_leads_to_all_paths_of_the_dashboard(void **state)
{
	struct world *w = *state;
	const cJSON *rule, *path;

	wants_an_ingress(w);
	plan(w);
	rule = cJSON_GetArrayItem(json_get(op_of_kind(w, "Ingress"), "spec.rules"), 0);
	path = cJSON_GetArrayItem(json_get(rule, "http.paths"), 0);
	assert_null(json_get(rule, "host"));
	assert_string_equal(json_str(path, "path"), "/");
	assert_string_equal(json_str(path, "pathType"), "Prefix");
	/*
	 * No object has this version, so that one that somebody else makes meanwhile is a conflict.
	 */
	assert_string_equal(json_str(op_of_kind(w, "Ingress"), "metadata.resourceVersion"), "1");
	assert_string_equal(json_str(op_of_kind(w, "Service"), "metadata.resourceVersion"), "1");
}

static void a_foreign_ingress_of_that_name_stays_and_is_reported_once(void **state)
{
	static const char *const others[] = {
		"metadata: {namespace: ray, name: demo-head-ingress, uid: u-1}",
		"metadata: {uid: u-1, ownerReferences: [{uid: not-the-cluster, controller: true}]}"
	};
	struct world *w = *state;

	wants_an_ingress(w);
	settle(w);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		_cleanup_json_ cJSON *other = json_of(others[i]);

		cJSON_DeleteItemFromObject(w->applied, "Ingress/demo-head-ingress");
		w->ingress = other;
		plan(w);
		assert_int_equal(w->plan.n_ops, 2);
		assert_string_equal(json_str(op(w, PLAN_EVENT, 0), "reason"),
				    "FailedToCreateIngress");
		assert_string_equal(json_str(op(w, PLAN_BELIEVE, 0), "kind"), "Ingress");
		execute(w);
		plan(w);
		assert_int_equal(w->plan.n_ops, 0);
		w->ingress = NULL;
	}
}

static void the_ingress_of_the_cluster_is_applied_to_the_one_that_was_looked_at(void **state)
{
	struct world *w = *state;
	_cleanup_json_ cJSON *own = ingress_of(json_str(w->cluster, "metadata.uid"));

	wants_an_ingress(w);
	w->ingress = own;
	plan(w);
	assert_string_equal(json_str(op_of_kind(w, "Ingress"), "metadata.uid"), "u-1");
	execute(w);
	plan(w);
	assert_null(op_of_kind(w, "Ingress"));
	/* An Ingress that we may not read is not written either. */
	cJSON_DeleteItemFromObject(w->applied, "Ingress/demo-head-ingress");
	w->ingress = NULL;
	w->ingress_refused = true;
	plan(w);
	assert_int_equal(count(w, PLAN_APPLY), 0);
}

/*
 * Who may write RayClusters, but not Services, must not get at the Services of others by their
 * names.
 */
static void a_foreign_service_of_that_name_is_left_alone(void **state)
{
	static const char *const foreign[] = {
		"metadata: {namespace: ml, name: demo-head-svc}\nspec: {clusterIP: 10.0.0.9, ports: [{name: web, port: 80}]}",
		"metadata: {namespace: ml, name: demo-head-svc, labels: {ray.io/cluster: other}}\nspec: {ports: [{name: web, port: 80}]}",
		/*
		 * Anybody may write the label, and the operator would delete the Service with the
		 * cluster.
		 */
		"metadata: {namespace: ml, name: demo-head-svc, labels: {ray.io/cluster: demo}}\nspec: {ports: [{name: web, port: 80}]}",
		"metadata: {namespace: ml, name: demo-head-svc, labels: {ray.io/cluster: demo}, "
		"ownerReferences: [{apiVersion: ray.io/v1, kind: RayService, name: demo, uid: u-9, controller: true}]}\nspec: {ports: [{name: web, port: 80}]}",
	};
	struct world *w = *state;

	json_set_int(small_group(w), "numOfHosts", 2);
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
		cJSON_DeleteItemFromObject(w->applied, "Service/demo-head-svc");
		cJSON_Delete(w->service);
		w->service = json_of(foreign[i]);
		plan(w);
		assert_int_equal(count(w, PLAN_APPLY), 1); /* the Service of the workers */
		assert_string_equal(json_str(op(w, PLAN_APPLY, 0), "metadata.name"),
				    "demo-headless");
		assert_string_equal(json_str(op(w, PLAN_EVENT, 0), "reason"),
				    "FailedToCreateService");
		assert_non_null(strstr(json_str(op(w, PLAN_EVENT, 0), "note"),
				       "Service ml/demo-head-svc already exists"));
		assert_null(json_get(op(w, PLAN_STATUS, 0), "status.endpoints"));
		note_applied(w, op(w, PLAN_BELIEVE, 0));
		plan(w);
		assert_int_equal(count(w, PLAN_APPLY), 1);
		assert_int_equal(count(w, PLAN_BELIEVE), 0); /* it is said once */
	}
	/* As long as this is believed the operator does not look for the Service again. */
	cJSON_Delete(TAKE_PTR(w->service));
	plan(w);
	assert_int_equal(count(w, PLAN_APPLY), 1);
	w->service = json_of(
		"metadata: {namespace: ml, name: demo-head-svc, "
		"ownerReferences: [{apiVersion: ray.io/v1, kind: RayCluster, name: demo, controller: true}]}");
	plan(w);
	assert_int_equal(count(w, PLAN_APPLY), 2);
}

static void of_the_services_the_workers_own_is_left_alone_as_well(void **state)
{
	struct world *w = *state;

	json_set_int(small_group(w), "numOfHosts", 2);
	w->headless = json_of(
		"metadata: {namespace: ml, name: demo-headless, labels: {ray.io/cluster: other}}");
	plan(w);
	assert_int_equal(count(w, PLAN_APPLY), 1);
	assert_string_equal(json_str(op(w, PLAN_APPLY, 0), "metadata.name"), "demo-head-svc");
}

/*
 * KubeRay's headless Service has no label ray.io/cluster. That of a former cluster of the name
 * would be deleted if nobody took it over.
 */
static void a_service_of_the_cluster_is_known_by_its_owner(void **state)
{
	struct world *w = *state;
	char owned[300];

	json_set_int(small_group(w), "numOfHosts", 2);
	snprintf(
		owned, sizeof(owned),
		"metadata: {namespace: ml, name: demo-head-svc, ownerReferences: [{uid: \"%s\", controller: true}]}",
		json_str(w->cluster, "metadata.uid"));
	w->service = json_of(owned);
	w->headless = json_of(
		"metadata: {namespace: ml, name: demo-headless, uid: u-2, "
		"ownerReferences: [{apiVersion: ray.io/v1, kind: RayCluster, name: demo, uid: former, controller: true}]}");
	plan(w);
	assert_int_equal(count(w, PLAN_APPLY), 2);
	assert_string_equal(json_str(op(w, PLAN_APPLY, 1), "metadata.uid"), "u-2");
}

static void the_claim_of_rocksdb_has_the_owner_that_its_policy_asks_for_at_any_time(void **state)
{
	struct world *w = *state;
	const char *uid = json_str(w->cluster, "metadata.uid");
	const struct {
		const char *policy, *owner; /* the policy and the owner of the existing claim */
		/* The number of owners that are written; -1: nothing is written. */
		int owners;
		const char *label; /* its label ray.io/cluster */
		const char *made_for; /* its annotation: the cluster for which it was made */
	} rows[] = {
		{ "{backend: rocksdb, storage: {deletionPolicy: Retain}}", uid, 0, "demo", NULL },
		{ "{backend: rocksdb, storage: {deletionPolicy: Retain}}", "", -1, "demo", NULL },
		{ "{backend: rocksdb, storage: {deletionPolicy: Retain}}", "another", -1, "demo", NULL },
		{ "{backend: rocksdb, storage: {deletionPolicy: DeleteWithCluster}}", uid, -1,
		  "demo", NULL },
		{ "{backend: rocksdb}", "", 1, NULL, uid },
		/* A second controller is never added. */
		{ "{backend: rocksdb}", "another", -1, "demo", NULL },
		/* A foreign claim must not be deleted with the cluster. */
		{ "{backend: rocksdb}", "", -1, NULL, NULL },
		{ "{backend: rocksdb}", "", -1, "other", NULL },
		{ "{backend: rocksdb}", "", -1, "demo", NULL },
		/* One that a former cluster of the name has left to be kept. */
		{ "{backend: rocksdb}", "", -1, "demo", "former" },
		{ "{backend: rocksdb, storage: {deletionPolicy: Retain}}", uid, 0, NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *
			claim = json_of(
			       "metadata: {namespace: ray, name: demo-gcs-pvc, resourceVersion: \"7\"}"),
		       *owner = json_of("{controller: true}");
		const cJSON *written;

		json_set_str(json_object_at(json_get(claim, "metadata"), "labels"),
			     "ray.io/cluster", rows[i].label);
		json_set_str(json_object_at(json_get(claim, "metadata"), "annotations"),
			     "afterglow.dev/cluster-uid", rows[i].made_for);
		json_set_str(owner, "uid", rows[i].owner);
		if (*rows[i].owner)
			json_append(json_array_at(json_get(claim, "metadata"), "ownerReferences"),
				    TAKE_PTR(owner));
		cJSON_DeleteItemFromObject(w->applied, "PersistentVolumeClaim/demo-gcs-pvc");
		json_set(json_get(w->cluster, "spec"), "gcsFaultToleranceOptions",
			 json_of(rows[i].policy));
		w->gcs_claim = claim;
		plan(w);
		written = op_of_kind(w, "PersistentVolumeClaim");
		assert_non_null(written);
		if (rows[i].owners < 0) {
			assert_ptr_equal(written, op(w, PLAN_BELIEVE, 0));
		} else {
			assert_ptr_equal(written, op(w, PLAN_MERGE, 0));
			assert_string_equal(json_str(written, "metadata.resourceVersion"), "7");
			assert_int_equal(
				cJSON_GetArraySize(json_get(written, "metadata.ownerReferences")),
				rows[i].owners);
			/* Where it has no owner, it says itself for which cluster it was made. */
			assert_string_equal(object_annotation(written, "afterglow.dev/cluster-uid"),
					    uid);
		}
		w->gcs_claim = NULL;
	}
}

static bool tells_of(const struct world *w, const char *reason)
{
	for (size_t i = 0; i < w->plan.n_ops; i++)
		if (w->plan.ops[i].kind == PLAN_EVENT &&
		    json_is(w->plan.ops[i].body, "reason", reason))
			return true;
	return false;
}

/* Who may write RayClusters must not be bound to a role that somebody made for another purpose. */
static void nobody_is_bound_to_a_role_that_is_not_the_clusters(void **state)
{
	static const char *const foreign[] = {
		"metadata: {namespace: ray, name: demo}",
		"metadata: {namespace: ray, name: demo, labels: {ray.io/cluster: demo}}",
		"metadata: {namespace: ray, name: demo, ownerReferences: [{uid: another, controller: true}]}",
		NULL, /* may not be read */
	};
	struct world *w = *state;
	cJSON *spec = json_get(w->cluster, "spec");

	json_set(spec, "enableInTreeAutoscaling", cJSON_CreateTrue());
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
		cJSON_Delete(w->role);
		w->role = foreign[i] ? json_of(foreign[i]) : NULL;
		w->role_refused = !foreign[i];
		cJSON_DeleteItemFromObject(w->applied, "RoleBinding/demo");
		plan(w);
		assert_true(tells_of(w, "FailedToCreateRole"));
		for (size_t j = 0; j < w->plan.n_ops; j++)
			if (w->plan.ops[j].kind == PLAN_CREATE)
				assert_null(strstr(json_str(w->plan.ops[j].body, "kind"), "Role"));
		execute(w);
		plan(w);
		assert_false(tells_of(w, "FailedToCreateRole"));
		assert_null(op_of_kind(w, "RoleBinding"));
	}
}

static void other_objects_of_others_are_left_alone_and_reported_once(void **state)
{
	struct world *w = *state;
	cJSON *spec = json_get(w->cluster, "spec");
	_cleanup_json_ cJSON *foreign =
		json_of("metadata: {namespace: ray, name: demo, labels: {ray.io/cluster: other}}");
	static const char *const reasons[] = { "FailedToCreateServiceAccount",
					       "FailedToCreateRoleBinding", "FailedToCreateService",
					       "FailedToCreatePersistentVolumeClaim" };

	json_set(spec, "enableInTreeAutoscaling", cJSON_CreateTrue());
	json_set(spec, "gcsFaultToleranceOptions", json_of("{backend: rocksdb}"));
	json_set(spec, "rayVersion", cJSON_CreateString("2.60.0"));
	json_set(json_get(w->cluster, "metadata"), "annotations",
		 json_of("{ray.io/enable-serve-service: \"true\"}"));
	json_set(cJSON_GetArrayItem(json_get(spec, "headGroupSpec.template.spec.containers"), 0),
		 "ports", json_of("[{name: serve, containerPort: 8000}]"));
	w->role = json_of(
		"metadata: {namespace: ray, name: demo, "
		"ownerReferences: [{apiVersion: ray.io/v1, kind: RayCluster, name: demo, controller: true, uid: 6b1c0f4e-0000-4000-8000-000000000001}]}");
	w->account = w->binding = w->serve = w->gcs_claim = foreign;
	plan(w);
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (!tells_of(w, reasons[i]))
			fail_msg("no %s", reasons[i]);
	execute(w);
	plan(w);
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		assert_false(tells_of(w, reasons[i]));
}

/* The garbage collector removes them soon, and until the next look the cluster would go without. */
static void
what_a_former_cluster_of_the_name_left_is_looked_at_each_minute_at_least_and_named_if_it_stays(
	void **state)
{
	struct world *w = *state;
	cJSON *spec = json_get(w->cluster, "spec"), *metadata = json_get(w->cluster, "metadata");
	_cleanup_json_ cJSON *former = json_of(
		"metadata: {namespace: ray, name: demo, uid: u, ownerReferences: "
		"[{apiVersion: ray.io/v1, kind: RayCluster, name: demo, uid: former, controller: true}]}");
	char text[TIME_TEXT_MAX];

	json_set_str(metadata, "creationTimestamp", time_format(w->now_ns, text));
	json_set(metadata, "annotations", json_of("{ray.io/enable-serve-service: \"true\"}"));
	json_set(spec, "enableInTreeAutoscaling", cJSON_CreateTrue());
	json_set(spec, "gcsFaultToleranceOptions", json_of("{backend: rocksdb}"));
	json_set(spec, "rayVersion", cJSON_CreateString("2.60.0"));
	json_set(json_get(spec, "headGroupSpec"), "enableIngress", cJSON_CreateTrue());
	json_set(cJSON_GetArrayItem(json_get(spec, "headGroupSpec.template.spec.containers"), 0),
		 "ports", json_of("[{name: serve, containerPort: 8000}]"));
	w->role = cJSON_Duplicate(former, true);
	w->account = w->binding = w->serve = w->gcs_claim = w->ingress = former;
	w->now_ns += 6 * NS_PER_SEC;
	plan(w);
	assert_int_equal(w->plan.requeue_ns, 6 * NS_PER_SEC);
	assert_int_equal(count(w, PLAN_BELIEVE) + count(w, PLAN_EVENT), 0);
	assert_null(op_of_kind(w, "Role"));
	/* One that stays keeps this cluster from having its own, and is named once in a while. */
	for (int i = 0; i < 3; i++) {
		w->now_ns += 600 * NS_PER_SEC;
		plan(w);
		assert_int_equal(w->plan.requeue_ns, 60 * NS_PER_SEC);
		assert_int_equal(count(w, PLAN_EVENT), i ? 0 : 5);
		assert_int_equal(tells_of(w, "FailedToCreateIngress"), i == 0);
		assert_null(op_of_kind(w, "RoleBinding"));
		execute(w);
	}
	cJSON_Delete(TAKE_PTR(w->role));
	w->ingress = NULL;
	plan(w);
	assert_non_null(op_of_kind(w, "Role"));
	assert_string_equal(json_str(op(w, PLAN_APPLY, 0), "kind"), "Ingress");
}

static void a_role_of_a_former_cluster_that_stays_serves_this_one(void **state)
{
	struct world *w = *state;
	char text[TIME_TEXT_MAX];

	json_set_str(json_get(w->cluster, "metadata"), "creationTimestamp",
		     time_format(w->now_ns - 900 * NS_PER_SEC, text));
	json_set(json_get(w->cluster, "spec"), "enableInTreeAutoscaling", cJSON_CreateTrue());
	w->role = json_of(
		"metadata: {namespace: ray, name: demo, uid: u, ownerReferences: "
		"[{apiVersion: ray.io/v1, kind: RayCluster, name: demo, uid: former, controller: true}]}");
	plan(w);
	assert_true(tells_of(w, "FailedToCreateRole"));
	assert_non_null(op_of_kind(w, "RoleBinding"));
}

/* Such as an Ingress of this cluster that waits for a load balancer which nobody removes. */
static void an_object_that_is_being_deleted_and_stays_is_named_with_its_finalizers(void **state)
{
	struct world *w = *state;
	_cleanup_json_ cJSON *ingress = ingress_of("uid-1");
	cJSON *metadata = json_get(ingress, "metadata");
	char text[TIME_TEXT_MAX];

	wants_an_ingress(w);
	json_set_str(metadata, "deletionTimestamp", time_format(w->now_ns, text));
	json_set(metadata, "finalizers", json_of("[example.com/balancer, x/y]"));
	w->ingress = ingress;
	w->now_ns += 6 * NS_PER_SEC;
	plan(w);
	assert_int_equal(w->plan.requeue_ns, 6 * NS_PER_SEC);
	assert_false(tells_of(w, "FailedToCreateIngress"));
	w->now_ns += 60 * NS_PER_SEC;
	plan(w);
	assert_true(tells_of(w, "FailedToCreateIngress"));
	assert_non_null(strstr(json_str(op(w, PLAN_EVENT, 0), "note"),
			       "Ingress ml/demo-head-ingress is being deleted and is kept by its "
			       "finalizers: example.com/balancer x/y;"));
	assert_int_equal(w->plan.requeue_ns, 60 * NS_PER_SEC);
	w->ingress = NULL;
}

static void a_service_for_ray_serve_is_made_where_it_is_asked_for(void **state)
{
	struct world *w = *state;
	const cJSON *service;

	json_set(json_get(w->cluster, "metadata"), "annotations",
		 json_of("{ray.io/enable-serve-service: \"true\"}"));
	json_set(
		cJSON_GetArrayItem(
			json_get(w->cluster, "spec.headGroupSpec.template.spec.containers"), 0),
		"ports",
		json_of("[{name: gcs-server, containerPort: 6379}, {name: serve, containerPort: 9000}, {name: serve-grpc, containerPort: 9001}]"));
	plan(w);
	service = op(w, PLAN_CREATE, 0);
	assert_string_equal(json_str(service, "metadata.name"), "demo-serve-svc");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(
				    json_get(service, "metadata.labels"), "ray.io/serve")),
			    "demo-serve");
	assert_int_equal(cJSON_GetArraySize(json_get(service, "spec.ports")), 2);
	assert_int_equal(json_int(json_find(json_get(service, "spec.ports"), "name", "serve-grpc"),
				  "port", 0),
			 9001);
	assert_int_equal(cJSON_GetArraySize(json_get(service, "spec.selector")), 1);
	execute(w);
	plan(w);
	assert_null(op_of_kind(w, "Service"));
}

static const char *event_note(const struct world *w, const char *reason)
{
	for (size_t i = 0; i < w->plan.n_ops; i++)
		if (w->plan.ops[i].kind == PLAN_EVENT &&
		    strcmp(json_str(w->plan.ops[i].body, "reason"), reason) == 0)
			return json_str(w->plan.ops[i].body, "note");
	return NULL;
}

static void labels_for_batch_schedulers_are_reported_to_have_no_effect(void **state)
{
	struct world *w = *state;
	const char *note;

	json_set(
		json_get(w->cluster, "metadata"), "labels",
		json_of("{ray.io/gang-scheduling-enabled: \"true\", volcano.sh/queue-name: q, kueue.x-k8s.io/queue-name: k}"));
	plan(w);
	note = event_note(w, "SchedulingLabelsIgnored");
	assert_non_null(note);
	assert_non_null(strstr(note, ": ray.io/gang-scheduling-enabled, volcano.sh/queue-name"));
	assert_null(strstr(note, "kueue"));
	execute(w);
	plan(w);
	assert_null(event_note(w, "SchedulingLabelsIgnored"));
	json_set_int(json_get(w->cluster, "metadata"), "generation", 9);
	plan(w);
	assert_non_null(event_note(w, "SchedulingLabelsIgnored"));
}

static void the_autoscaler_decides_who_goes(void **state)
{
	struct world *w = *state;

	settle(w);
	json_set(json_get(w->cluster, "spec"), "enableInTreeAutoscaling", cJSON_CreateTrue());
	json_set_int(small_group(w), "replicas", 1);
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 0);
	json_set(json_object_at(small_group(w), "scaleStrategy"), "workersToDelete",
		 cJSON_CreateArray());
	json_append(json_get(small_group(w), "scaleStrategy.workersToDelete"),
		    cJSON_CreateString(json_str(pod_of_type(w, "worker", 0), "metadata.name")));
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 1);
}

static void an_autoscaler_that_ended_for_good_is_reported(void **state)
{
	struct world *w = *state;
	json_set(json_get(w->cluster, "spec"), "enableInTreeAutoscaling", cJSON_CreateTrue());
	json_set(json_get(w->cluster, "spec"), "autoscalerOptions", json_of("{version: v2}"));
	settle(w);
	json_set(json_find(json_get(pod_of_type(w, "head", 0), "status.containerStatuses"), "name",
			   "autoscaler"),
		 "state", json_of("{terminated: {exitCode: 137, reason: OOMKilled}}"));
	plan(w);
	assert_string_equal(json_str(op(w, PLAN_EVENT, 0), "reason"), "AutoscalerEnded");
	assert_non_null(
		strstr(json_str(op(w, PLAN_EVENT, 0), "note"), "exit code 137 (OOMKilled)"));
	execute(w);
	expect_condition(w, "afterglow.dev/HeadStable", "False");
	expect_condition(w, "HeadPodReady", "True");
}

static void a_name_that_was_deleted_or_died_does_not_come_back(void **state)
{
	struct world *w = *state;
	char name[POD_NAME_MAX];

	settle(w);
	snprintf(name, sizeof(name), "%s", json_str(pod_of_type(w, "worker", 0), "metadata.name"));
	remove_pod(w, name);
	/* No RayFailure is left of it, and nothing else has changed. */
	plan(w);
	assert_string_not_equal(json_str(op(w, PLAN_CREATE, 0), "metadata.name"), name);
}

static const char *replica_of(const cJSON *pod)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(
		json_get(pod, "metadata.labels"), "ray.io/worker-group-replica-name"));
}

static size_t of_replica(struct world *w, const char *name, size_t *ret_others)
{
	size_t n = 0;

	*ret_others = 0;
	for (size_t i = 0; i < w->n_pods; i++) {
		const char *replica = replica_of(w->pods[i]);

		n += replica && strcmp(replica, name) == 0;
		*ret_others += replica && strcmp(replica, name) != 0;
	}
	return n;
}

static void hosts_live_and_die_together(void **state)
{
	struct world *w = *state;
	char first[128];
	size_t others;
	cJSON *dead;

	json_set_int(small_group(w), "numOfHosts", 4);
	settle(w);
	assert_int_equal(w->n_pods, 1 + 2 * 4);
	assert_int_equal(json_int(w->cluster, "status.desiredWorkerReplicas", 0), 8);
	assert_int_equal(json_int(w->cluster, "status.maxWorkerReplicas", 0), 20);
	dead = pod_of_type(w, "worker", 0);
	snprintf(first, sizeof(first), "%s", replica_of(dead));
	assert_int_equal(of_replica(w, first, &others), 4);
	assert_int_equal(others, 4);
	set_phase(dead, "Failed", false);
	for (size_t i = 0; i < w->n_pods; i++)
		w->pending[i] = w->pods[i] == dead;
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 3); /* its RayFailure has not been written yet */
	memset(w->pending, 0, sizeof(w->pending));
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 4);
	assert_int_equal(count(w, PLAN_CREATE), 0);
	execute(w);
	settle(w);
	assert_int_equal(w->n_pods, 9);
	assert_int_equal(of_replica(w, first, &others), 0);
}

static void a_replica_that_never_ran_is_completed(void **state)
{
	struct world *w = *state;
	char name[128];
	size_t others;

	json_set_int(small_group(w), "numOfHosts", 3);
	json_set_int(small_group(w), "replicas", 1);
	plan(w);
	create(w, op(w, PLAN_CREATE, 0));
	create(w, op(w, PLAN_CREATE, 1)); /* the others were refused */
	snprintf(name, sizeof(name), "%s", replica_of(w->pods[1]));
	plan(w);
	assert_int_equal(count(w, PLAN_CREATE), 2);
	assert_int_equal(count(w, PLAN_DELETE), 0);
	execute(w);
	assert_int_equal(of_replica(w, name, &others), 3);
	assert_int_equal(others, 0);
}

/* Makes pods as KubeRay does without its gate RayMultiHostIndexing. */
static void make_kuberays(struct world *w)
{
	for (size_t i = 0; i < w->n_pods; i++) {
		cJSON *metadata = json_get(w->pods[i], "metadata");
		cJSON *labels = json_get(metadata, "labels");

		cJSON_DeleteItemFromObjectCaseSensitive(labels, "ray.io/worker-group-replica-name");
		cJSON_DeleteItemFromObjectCaseSensitive(labels,
							"ray.io/worker-group-replica-index");
		cJSON_DeleteItemFromObjectCaseSensitive(labels, "ray.io/replica-host-index");
		json_set(metadata, "annotations", json_of("{ray.io/ft-enabled: \"false\"}"));
	}
}

static void hosts_of_kuberay_that_name_no_replica_are_counted_and_stay(void **state)
{
	struct world *w = *state;

	json_set_int(small_group(w), "numOfHosts", 2);
	json_set_int(small_group(w), "replicas", 3);
	settle(w);
	make_kuberays(w);
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 0);
	assert_int_equal(count(w, PLAN_CREATE), 0);
	json_set_int(small_group(w), "replicas", 4);
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 0);
	assert_int_equal(count(w, PLAN_CREATE), 2);
	json_set_int(small_group(w), "replicas", 1);
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 4);
	assert_int_equal(count(w, PLAN_CREATE), 0);
}

/* Adoption writes our hash to a pod, but the pod does not become one of ours. */
static void an_adopted_pod_of_a_removed_group_stays(void **state)
{
	struct world *w = *state;

	settle(w);
	make_kuberays(w);
	json_set(json_get(w->cluster, "spec"), "upgradeStrategy", json_of("{type: Recreate}"));
	json_set(json_get(w->cluster, "spec"), "workerGroupSpecs", cJSON_CreateArray());
	plan(w);
	assert_int_equal(count(w, PLAN_MERGE), 3);
	execute(w);
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 0);
}

static void fewer_replicas_take_whole_ones(void **state)
{
	struct world *w = *state;
	size_t others;

	json_set_int(small_group(w), "numOfHosts", 2);
	json_set_int(small_group(w), "replicas", 3);
	settle(w);
	json_set_int(small_group(w), "replicas", 1);
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 4);
	execute(w);
	assert_int_equal(of_replica(w, replica_of(pod_of_type(w, "worker", 0)), &others), 2);
	assert_int_equal(others, 0);
}

static void recreate_waits_until_no_old_pod_is_left(void **state)
{
	struct world *w = *state;

	json_set(json_get(w->cluster, "spec"), "upgradeStrategy", json_of("{type: Recreate}"));
	settle(w);
	json_set_str(json_get(w->cluster, "spec"), "rayVersion", "2.47.0");
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 3);
	assert_int_equal(count(w, PLAN_CREATE), 0);
	json_set_str(json_get(pod_of_type(w, "worker", 0), "metadata"), "deletionTimestamp",
		     "2026-11-21T01:00:00Z");
	remove_pod(w, json_str(pod_of_type(w, "head", 0), "metadata.name"));
	plan(w);
	assert_int_equal(count(w, PLAN_CREATE), 0);
	assert_int_equal(count(w, PLAN_DELETE), 1);
	remove_pod(w, json_str(pod_of_type(w, "worker", 1), "metadata.name"));
	remove_pod(w, json_str(pod_of_type(w, "worker", 0), "metadata.name"));
	plan(w);
	assert_int_equal(count(w, PLAN_CREATE), 3);
}

static void set_annotations(cJSON *pod, const char *annotations)
{
	json_set(json_get(pod, "metadata"), "annotations", json_of(annotations));
}

static void pods_of_kuberay_are_adopted_and_made_anew_when_the_spec_changes_later(void **state)
{
	struct world *w = *state;

	json_set(json_get(w->cluster, "spec"), "upgradeStrategy", json_of("{type: Recreate}"));
	settle(w);
	set_annotations(
		pod_of_type(w, "head", 0),
		"{ray.io/upgrade-strategy-recreate-hash: 0A1B2C, ray.io/kuberay-version: v1.7.0}");
	set_annotations(pod_of_type(w, "worker", 0), "{}");
	set_annotations(pod_of_type(w, "worker", 1), "{afterglow.dev/recreate-hash: v0-0a1b2c}");
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 0);
	assert_int_equal(count(w, PLAN_MERGE), 3);
	execute(w);
	plan(w);
	assert_int_equal(w->plan.n_ops, 0);
	json_set_str(json_get(w->cluster, "spec"), "rayVersion", "2.47.0");
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 3);
	assert_int_equal(count(w, PLAN_MERGE), 0);
}

static void a_command_that_just_ends_is_not_run_again_at_full_speed(void **state)
{
	struct world *w = *state;
	char finished[TIME_TEXT_MAX];
	cJSON *head, *ended = cJSON_CreateObject();

	settle(w);
	head = pod_of_type(w, "head", 0);
	set_phase(head, "Succeeded", false);
	json_set_int(ended, "exitCode", 0);
	json_set_str(ended, "finishedAt", time_format(w->now_ns, finished));
	json_set(json_object_at(cJSON_GetArrayItem(json_get(head, "status.containerStatuses"), 0),
				"state"),
		 "terminated", ended);
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 0);
	assert_int_equal(w->plan.requeue_ns, 30 * NS_PER_SEC);
	w->now_ns += 30 * NS_PER_SEC;
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 1);
}

static void a_head_that_keeps_dying_comes_back_more_slowly(void **state)
{
	static const struct {
		size_t deaths;
		int64_t wait_s;
	} rows[] = { { 0, 0 }, { 1, 0 }, { 2, 0 }, { 3, 10 }, { 4, 20 }, { 5, 40 }, { 8, 300 } };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		w->n_crashes = rows[i].deaths;
		for (size_t k = 0; k < rows[i].deaths; k++)
			w->crashes[k] =
				(struct crash){ .group = "headgroup",
						.at_ns = w->now_ns - (int64_t)k * NS_PER_SEC };
		plan(w);
		bool made = op_of_kind(w, "Pod") &&
			    strncmp(json_str(op_of_kind(w, "Pod"), "metadata.name"), "demo-head-",
				    10) == 0;
		assert_int_equal(made, rows[i].wait_s == 0);
		assert_int_equal(w->plan.requeue_ns, rows[i].wait_s * NS_PER_SEC);
		assert_int_equal(op_of_kind(w, "Event") != NULL, rows[i].wait_s > 0);
	}
	/* The API server's clock is ahead, which does not make the wait longer. */
	w->n_crashes = 1;
	w->crashes[0].at_ns = w->now_ns + 600 * NS_PER_SEC;
	plan(w);
	assert_int_equal(count(w, PLAN_CREATE), 3);
	w->n_crashes = 8;
	/* An hour later the row is forgotten. */
	w->now_ns += 4300 * NS_PER_SEC;
	plan(w);
	assert_int_equal(count(w, PLAN_EVENT), 0);
	assert_int_equal(count(w, PLAN_CREATE), 3);
}

/*
 * Lets so many pods of the group die, each made when the previous one had died; the last died now.
 */
static void let_die_in_a_row(struct world *w, const char *group, size_t n)
{
	for (size_t i = 0; i < n; i++)
		w->crashes[w->n_crashes++] = (struct crash){
			.group = group,
			.at_ns = w->now_ns - (int64_t)(n - 1 - i) * 20 * NS_PER_SEC,
			.made_ns = w->now_ns - (int64_t)(n - i) * 20 * NS_PER_SEC,
			.class = "KernelOOMContainer",
			.failure = "demo-small-worker-xyz-ray-0123456789",
		};
}

static size_t count_created(const struct world *w, const char *group)
{
	size_t n = 0;

	for (size_t i = 0; i < w->plan.n_ops; i++) {
		const char *of = cJSON_GetStringValue(cJSON_GetObjectItem(
			json_get(w->plan.ops[i].body, "metadata.labels"), "ray.io/group"));

		n += w->plan.ops[i].kind == PLAN_CREATE && of && strcmp(of, group) == 0;
	}
	return n;
}

static void a_group_whose_pods_keep_dying_gets_new_ones_more_slowly_and_the_others_do_not_wait(void **state)
{
	static const struct {
		size_t deaths;
		int64_t wait_s;
	} rows[] = { { 0, 0 }, { 1, 0 }, { 2, 0 }, { 3, 10 }, { 4, 20 }, { 7, 160 }, { 8, 300 } };
	struct world *w = *state;

	json_append(json_get(w->cluster, "spec.workerGroupSpecs"),
		    cJSON_Duplicate(small_group(w), true));
	json_set_str(cJSON_GetArrayItem(json_get(w->cluster, "spec.workerGroupSpecs"), 1),
		     "groupName", "calm");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		w->n_crashes = 0;
		let_die_in_a_row(w, "Small", rows[i].deaths);
		plan(w);
		assert_int_equal(count_created(w, "headgroup"), 1);
		assert_int_equal(count_created(w, "calm"), 2);
		assert_int_equal(count_created(w, "Small"), rows[i].wait_s ? 0 : 2);
		assert_int_equal(w->plan.requeue_ns, rows[i].wait_s * NS_PER_SEC);
		assert_int_equal(op_of_kind(w, "Event") != NULL, rows[i].wait_s > 0);
	}
	assert_string_equal(json_str(op_of_kind(w, "Event"), "reason"), "WorkerCrashLoop");
	assert_non_null(
		strstr(json_str(op_of_kind(w, "Event"), "note"), "group Small: 8 pods in a row"));
	assert_non_null(
		strstr(json_str(op_of_kind(w, "Event"), "note"),
		       "(KernelOOMContainer, RayFailure demo-small-worker-xyz-ray-0123456789)"));
	/* It is reported once. */
	execute(w);
	expect_condition(w, "afterglow.dev/WorkersStable", "False");
	plan(w);
	assert_null(op_of_kind(w, "Event"));
	w->now_ns += 300 * NS_PER_SEC;
	plan(w);
	assert_int_equal(count_created(w, "Small"), 2);
}

static void what_the_autoscaler_asks_for_waits_too_and_so_do_replicas_of_several_hosts(void **state)
{
	struct world *w = *state;

	json_set(json_get(w->cluster, "spec"), "enableInTreeAutoscaling", cJSON_CreateTrue());
	let_die_in_a_row(w, "Small", 5);
	plan(w);
	assert_int_equal(count_created(w, "Small"), 0);
	json_set_int(small_group(w), "numOfHosts", 2);
	plan(w);
	assert_int_equal(count_created(w, "Small"), 0);
	w->now_ns += 60 * NS_PER_SEC;
	plan(w);
	assert_int_equal(count_created(w, "Small"), 4);
}

static void a_head_on_a_lost_node_is_given_up_unless_its_state_is_outside(void **state)
{
	struct world *w = *state;
	char deleted[TIME_TEXT_MAX];
	cJSON *head;

	settle(w);
	head = pod_of_type(w, "head", 0);
	json_set_str(json_get(head, "metadata"), "deletionTimestamp",
		     time_format(w->now_ns - 30 * NS_PER_SEC, deleted));
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 0); /* its kubelet may be about to end it */
	json_set(
		json_object_at(head, "status"), "conditions",
		json_of("[{type: DisruptionTarget, status: \"True\", reason: DeletionByTaintManager}]"));
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 0);
	assert_true(w->plan.requeue_ns > 0);
	w->now_ns += 60 * NS_PER_SEC;
	plan(w);
	assert_int_equal(json_int(op(w, PLAN_DELETE, 0), "gracePeriodSeconds", -1), 0);
	assert_int_equal(count(w, PLAN_CREATE), 0);
	json_set(json_get(w->cluster, "spec"), "gcsFaultToleranceOptions",
		 json_of("{redisAddress: x}"));
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 0);
	assert_string_equal(json_str(op(w, PLAN_EVENT, 0), "reason"), "HeadOnLostNode");
}

static void a_refusal_is_reported_before_the_next_attempt(void **state)
{
	struct world *w = *state;

	w->failure_reason = "FailedCreateWorkerPod";
	plan(w);
	size_t status = 0, first = 0;
	while (w->plan.ops[status].kind != PLAN_STATUS)
		status++;
	while (w->plan.ops[first].kind != PLAN_CREATE)
		first++;
	assert_true(status < first);
	assert_string_equal(json_str(op(w, PLAN_EVENT, 0), "reason"), "FailedToCreateWorkerPod");
	execute(w);
	expect_condition(w, "ReplicaFailure", "True");
	assert_string_equal(json_str(condition(w, "ReplicaFailure"), "reason"),
			    "FailedCreateWorkerPod");
	plan(w);
	assert_int_equal(count(w, PLAN_EVENT), 0);
	w->failure_reason = NULL;
	plan(w);
	execute(w);
	assert_null(condition(w, "ReplicaFailure"));
}

static void memory_that_grows_is_a_condition_while_it_grows(void **state)
{
	struct world *w = *state;

	plan(w);
	execute(w);
	assert_null(condition(w, "afterglow.dev/MemoryGrowing"));
	w->growing = "Memory of gcs_server has grown";
	plan(w);
	execute(w);
	expect_condition(w, "afterglow.dev/MemoryGrowing", "True");
	assert_string_equal(json_str(condition(w, "afterglow.dev/MemoryGrowing"), "message"),
			    "Memory of gcs_server has grown");
	plan(w);
	assert_int_equal(count(w, PLAN_STATUS), 0);
	/* An operator that has just started has not asked the sidecars yet. */
	w->growing = NULL;
	w->growing_unheard = true;
	plan(w);
	assert_int_equal(count(w, PLAN_STATUS), 0);
	w->growing_unheard = false;
	plan(w);
	execute(w);
	assert_null(condition(w, "afterglow.dev/MemoryGrowing"));
}

static void expect_indexes(struct world *w, const char *want)
{
	_cleanup_strbuf_ struct strbuf have = STRBUF_INIT(64);

	for (size_t i = 0; i < w->n_pods; i++)
		if (!pod_is_head(w->pods[i]))
			strbuf_adds(&have,
				    pod_label(w->pods[i], "ray.io/worker-group-replica-index"));
	assert_string_equal(strbuf_str(&have), want);
}

static void a_new_replica_has_the_smallest_index_that_is_free(void **state)
{
	struct world *w = *state;
	char name[64];

	json_set_int(small_group(w), "replicas", 3);
	settle(w);
	expect_indexes(w, "012");
	snprintf(name, sizeof(name), "%s", json_str(pod_of_type(w, "worker", 1), "metadata.name"));
	remove_pod(w, name);
	json_set_int(small_group(w), "replicas", 4);
	settle(w);
	expect_indexes(w, "0213");
}

static void a_suspended_cluster_has_its_service_from_the_start(void **state)
{
	struct world *w = *state;

	json_set(json_get(w->cluster, "spec"), "suspend", cJSON_CreateTrue());
	settle(w);
	assert_non_null(w->service);
	assert_int_equal(w->n_pods, 0);
}

/* Who may write Services can fill one; each look at it must stay short. */
static void of_a_service_that_others_filled_a_bounded_part_is_looked_at(void **state)
{
	struct world *w = *state;
	char name[32];

	json_set(json_get(w->cluster, "spec"), "headServiceAnnotations", json_of("{a: b}"));
	settle(w);
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "k%d", i);
		cJSON_AddStringToObject(
			json_object_at(json_get(w->service, "metadata"), "annotations"), name, "v");
		cJSON *port = json_named_new(name);
		json_set_int(port, "port", i + 10000);
		json_append(json_get(w->service, "spec.ports"), port);
	}
	plan(w);
	assert_int_equal(cJSON_GetArraySize(json_get(op(w, PLAN_STATUS, 0), "status.endpoints")),
			 BOUND_MEMBERS);
	json_set(json_get(w->service, "spec"), "ports",
		 cJSON_Duplicate(json_get(op(w, PLAN_APPLY, 0), "spec.ports"), true));
	plan(w);
	assert_string_equal(json_str(op(w, PLAN_APPLY, 0), "kind"), "Service");
}

static void objects_are_called_by_the_end_of_a_long_name(void **state)
{
	char buf[CUT_NAME_MAX];

	(void)state;
	assert_string_equal(cut_name("demo", buf), "demo");
	assert_string_equal(cut_name("xx-3456789012345678901234567890123456789012345678901-", buf),
			    "r456789012345678901234567890123456789012345678901-");
	assert_string_equal(cut_name("-9", buf), "r9");
	assert_string_equal(cut_name(NULL, buf), "");
}

static void a_cluster_with_more_pods_than_can_be_looked_at_says_so_and_loses_none(void **state)
{
	struct world *w = *state;

	settle(w);
	w->n_labelled = BOUND_LABELLED + 1;
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE) + count(w, PLAN_CREATE), 0);
	execute(w);
	expect_condition(w, "afterglow.dev/SpecValid", "False");
	assert_string_equal(
		json_str(condition(w, "afterglow.dev/SpecValid"), "message"),
		"metadata.name: 40001 pods have the label ray.io/cluster with this name, at most 40000 are allowed");
	w->n_labelled = BOUND_LABELLED;
	settle(w);
	expect_condition(w, "afterglow.dev/SpecValid", "True");
}

static void a_spec_beyond_the_bounds_is_refused_and_what_runs_goes_on(void **state)
{
	struct world *w = *state;

	settle(w);
	json_set_int(small_group(w), "numOfHosts", 70000);
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE) + count(w, PLAN_CREATE), 0);
	execute(w);
	assert_string_equal(json_str(condition(w, "afterglow.dev/SpecValid"), "reason"),
			    "RayClusterTooLarge");
	assert_non_null(
		strstr(json_str(condition(w, "afterglow.dev/SpecValid"), "message"),
		       "spec.workerGroupSpecs[0].numOfHosts is 70000, at most 4096 are allowed"));
}

static void of_a_remnant_nothing_is_made_and_its_condition_names_the_place(void **state)
{
	struct world *w = *state;

	settle(w);
	cJSON_DeleteItemFromObject(w->cluster, "spec");
	json_set_str(w->cluster, "afterglow.dev/unreadable",
		     "spec is nested more than 1000 levels deep");
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE) + count(w, PLAN_CREATE) + count(w, PLAN_APPLY), 0);
	execute(w);
	assert_string_equal(
		json_str(condition(w, "afterglow.dev/SpecValid"), "message"),
		"the RayCluster cannot be read: spec is nested more than 1000 levels deep");
	plan(w);
	assert_int_equal(w->plan.n_ops, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_stands_around_is_applied_once_and_again_when_it_changes),
		TEST(an_ingress_leads_to_all_paths_of_the_dashboard),
		TEST(a_foreign_ingress_of_that_name_stays_and_is_reported_once),
		TEST(the_ingress_of_the_cluster_is_applied_to_the_one_that_was_looked_at),
		TEST(a_foreign_service_of_that_name_is_left_alone),
		TEST(of_the_services_the_workers_own_is_left_alone_as_well),
		TEST(a_service_of_the_cluster_is_known_by_its_owner),
		TEST(the_claim_of_rocksdb_has_the_owner_that_its_policy_asks_for_at_any_time),
		TEST(nobody_is_bound_to_a_role_that_is_not_the_clusters),
		TEST(other_objects_of_others_are_left_alone_and_reported_once),
		TEST(what_a_former_cluster_of_the_name_left_is_looked_at_each_minute_at_least_and_named_if_it_stays),
		TEST(a_role_of_a_former_cluster_that_stays_serves_this_one),
		TEST(an_object_that_is_being_deleted_and_stays_is_named_with_its_finalizers),
		TEST(a_service_for_ray_serve_is_made_where_it_is_asked_for),
		TEST(labels_for_batch_schedulers_are_reported_to_have_no_effect),
		TEST(the_autoscaler_decides_who_goes),
		TEST(an_autoscaler_that_ended_for_good_is_reported),
		TEST(a_name_that_was_deleted_or_died_does_not_come_back),
		TEST(hosts_live_and_die_together),
		TEST(a_replica_that_never_ran_is_completed),
		TEST(hosts_of_kuberay_that_name_no_replica_are_counted_and_stay),
		TEST(an_adopted_pod_of_a_removed_group_stays),
		TEST(fewer_replicas_take_whole_ones),
		TEST(recreate_waits_until_no_old_pod_is_left),
		TEST(pods_of_kuberay_are_adopted_and_made_anew_when_the_spec_changes_later),
		TEST(a_command_that_just_ends_is_not_run_again_at_full_speed),
		TEST(a_head_that_keeps_dying_comes_back_more_slowly),
		TEST(a_group_whose_pods_keep_dying_gets_new_ones_more_slowly_and_the_others_do_not_wait),
		TEST(what_the_autoscaler_asks_for_waits_too_and_so_do_replicas_of_several_hosts),
		TEST(a_head_on_a_lost_node_is_given_up_unless_its_state_is_outside),
		TEST(a_refusal_is_reported_before_the_next_attempt),
		TEST(memory_that_grows_is_a_condition_while_it_grows),
		TEST(a_new_replica_has_the_smallest_index_that_is_free),
		TEST(a_suspended_cluster_has_its_service_from_the_start),
		TEST(of_a_service_that_others_filled_a_bounded_part_is_looked_at),
		TEST(objects_are_called_by_the_end_of_a_long_name),
		TEST(a_cluster_with_more_pods_than_can_be_looked_at_says_so_and_loses_none),
		TEST(a_spec_beyond_the_bounds_is_refused_and_what_runs_goes_on),
		TEST(of_a_remnant_nothing_is_made_and_its_condition_names_the_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
