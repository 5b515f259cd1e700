/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of clusters with keys in Redis, from their first plan to their last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "operator/raycluster/plan_world.h"
#include "operator/raycluster/redis_cleanup.h"

static const cJSON *job(const struct world *w)
{
	for (size_t i = 0; i < w->plan.n_ops; i++)
		if (w->plan.ops[i].kind == PLAN_CREATE &&
		    strcmp(json_str(w->plan.ops[i].body, "kind"), "Job") == 0)
			return w->plan.ops[i].body;
	return NULL;
}

static const char *warning(const struct world *w)
{
	return count(w, PLAN_EVENT) ? json_str(op(w, PLAN_EVENT, 0), "note") : NULL;
}

static void begin(struct world *w)
{
	json_set(
		json_get(w->cluster, "spec"), "gcsFaultToleranceOptions",
		json_of("{redisAddress: 'rediss://redis:6380', externalStorageNamespace: space,\n"
			" redisPassword: {valueFrom: {secretKeyRef: {name: redis, key: password}}}}"));
	json_set(json_get(w->cluster, "metadata"), "finalizers", json_of("[example.com/other]"));
	json_set_str(json_get(w->cluster, "metadata"), "resourceVersion", "7");
}

static void delete_cluster(struct world *w)
{
	char text[TIME_TEXT_MAX];

	json_set_str(json_get(w->cluster, "metadata"), "deletionTimestamp",
		     time_format(w->now_ns, text));
}

static void expect_let_go(struct world *w)
{
	_cleanup_json_ cJSON *rest = json_of("[example.com/other]");

	assert_int_equal(count(w, PLAN_MERGE), 1);
	assert_json(json_get(op(w, PLAN_MERGE, 0), "metadata.finalizers"), rest);
}

static void the_finalizer_is_there_before_the_first_pod(void **state)
{
	_cleanup_json_ cJSON *both =
		json_of("[example.com/other, ray.io/gcs-ft-redis-cleanup-finalizer]");
	struct world *w = *state;

	begin(w);
	plan(w);
	assert_int_equal(w->plan.ops[0].kind, PLAN_MERGE);
	assert_json(json_get(w->plan.ops[0].body, "metadata.finalizers"), both);
	assert_string_equal(json_str(w->plan.ops[0].body, "metadata.resourceVersion"),
			    "7");
	settle(w);
	plan(w);
	assert_int_equal(count(w, PLAN_MERGE), 0);
}

static void without_redis_or_when_it_is_to_be_left_alone_there_is_none(void **state)
{
	struct world *w = *state;

	plan(w);
	assert_int_equal(count(w, PLAN_MERGE), 0);
	begin(w);
	json_set_str(json_object_at(json_get(w->cluster, "metadata"), "annotations"),
		     REDIS_CLEANUP_ANNOTATION, "False");
	plan(w);
	assert_int_equal(count(w, PLAN_MERGE), 0);
	json_set_str(json_get(w->cluster, "metadata.annotations"), REDIS_CLEANUP_ANNOTATION,
		     "true");
	w->policy.redis_cleanup = false;
	plan(w);
	assert_int_equal(count(w, PLAN_MERGE), 0);
	w->policy.redis_cleanup = true;
	json_set_str(json_get(w->cluster, "spec.gcsFaultToleranceOptions"), "backend", "rocksdb");
	cJSON_DeleteItemFromObject(json_get(w->cluster, "spec.gcsFaultToleranceOptions"),
				   "redisAddress");
	cJSON_DeleteItemFromObject(json_get(w->cluster, "spec.gcsFaultToleranceOptions"),
				   "redisPassword");
	cJSON_DeleteItemFromObject(json_get(w->cluster, "spec.gcsFaultToleranceOptions"),
				   "externalStorageNamespace");
	plan(w);
	assert_int_equal(count(w, PLAN_MERGE), 0);
}

static void first_the_pods_go_then_the_job_comes_then_the_finalizer_goes(void **state)
{
	_cleanup_json_ cJSON *running = json_of("{status: {active: 1}}");
	_cleanup_json_ cJSON *complete =
		json_of("{status: {conditions: [{type: Complete, status: 'True'}]}}");
	struct world *w = *state;

	begin(w);
	settle(w);
	delete_cluster(w);
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 3);
	assert_int_equal(w->plan.n_ops, 3);
	assert_int_equal(w->plan.requeue_ns, 2 * NS_PER_SEC);
	execute(w);
	plan(w);
	assert_non_null(job(w));
	assert_int_equal(w->plan.n_ops, 1);
	w->cleanup_job = running;
	plan(w);
	assert_int_equal(w->plan.n_ops, 0);
	w->cleanup_job = complete;
	plan(w);
	assert_int_equal(w->plan.n_ops, 1);
	expect_let_go(w);
	execute(w);
	plan(w);
	assert_int_equal(w->plan.n_ops, 0);
	assert_int_equal(w->plan.requeue_ns, 0);
}

static const char *env_of(const cJSON *container, const char *name)
{
	return json_str(json_find(json_get(container, "env"), "name", name), "value");
}

static void the_job_has_the_heads_ways_to_redis_and_nothing_else_of_it(void **state)
{
	struct world *w = *state;
	const cJSON *pod, *ray;

	begin(w);
	json_append(json_get(w->cluster, "spec.headGroupSpec.template.spec.containers"),
		    json_of("{name: beside, image: x}"));
	json_set(json_get(w->cluster, "spec.headGroupSpec.template.spec"), "serviceAccountName",
		 cJSON_CreateString("me"));
	settle(w);
	delete_cluster(w);
	plan(w);
	execute(w);
	plan(w);
	assert_null(json_get(job(w), "metadata.ownerReferences"));
	assert_int_equal(json_int(job(w), "spec.activeDeadlineSeconds", 0), 300);
	assert_int_equal(json_int(job(w), "spec.ttlSecondsAfterFinished", 0), 600);
	pod = json_get(job(w), "spec.template");
	assert_int_equal(cJSON_GetArraySize(json_get(pod, "spec.containers")), 1);
	assert_string_equal(json_str(pod, "spec.restartPolicy"), "Never");
	assert_string_equal(json_str(pod, "spec.serviceAccountName"), "me");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(
				    json_get(pod, "metadata.labels"), "ray.io/node-type")),
			    "redis-cleanup");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(
				    json_get(pod, "metadata.labels"), "ray.io/cluster")),
			    "demo");
	ray = cJSON_GetArrayItem(json_get(pod, "spec.containers"), 0);
	assert_string_equal(env_of(ray, "RAY_REDIS_ADDRESS"), "rediss://redis:6380");
	assert_string_equal(env_of(ray, "RAY_external_storage_namespace"), "space");
	assert_string_equal(json_str(json_find(json_get(ray, "env"), "name", "REDIS_PASSWORD"),
				     "valueFrom.secretKeyRef.name"),
			    "redis");
	assert_non_null(strstr(env_of(ray, "AFTERGLOW_SCRIPT"), "cleanup_redis_storage"));
	assert_null(json_get(ray, "livenessProbe"));
	assert_null(json_get(ray, "ports"));
	assert_string_equal(json_str(ray, "resources.limits.memory"), "512Mi");
}

static void a_step_that_cannot_be_done_is_reported_and_holds_nothing_up(void **state)
{
	static const struct {
		const char *what, *job, *refused, *spec, *words;
		bool head;
		int64_t after_s;
	} rows[] = {
		{ "the Job failed", "{metadata: {name: j}, status: {conditions: [{type: Failed, status: 'True', message: Too bad}]}}", NULL,
		  NULL, "Job j failed: Too bad", false, 0 },
		{ "the Job hangs", "{status: {active: 1}}", NULL, NULL, "its Job did not end within 15 min", false, 900 },
		{ "the Job is refused", NULL, "403 Forbidden: namespace is terminating", NULL, "namespace is terminating", false, 0 },
		{ "the head stays", NULL, NULL, NULL, "its head did not end within 15 min", true, 900 },
		{ "the spec is nonsense by now", NULL, NULL, "{headGroupSpec: {template: {spec: {containers: []}}}}", "not valid", false, 0 },
	};
	struct world *w = *state;

	begin(w);
	plan(w);
	execute(w);
	delete_cluster(w);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *found = rows[i].job ? json_of(rows[i].job) : NULL;
		int64_t now = w->now_ns;

		while (w->n_pods && !rows[i].head)
			remove_pod(w, json_str(w->pods[0], "metadata.name"));
		w->cleanup_job = found;
		w->cleanup_refused = rows[i].refused;
		if (rows[i].spec) {
			cJSON *options = cJSON_Duplicate(
				json_get(w->cluster, "spec.gcsFaultToleranceOptions"), true);

			json_set(w->cluster, "spec", json_of(rows[i].spec));
			json_set(json_get(w->cluster, "spec"), "gcsFaultToleranceOptions", options);
		}
		if (rows[i].head) {
			cJSON *pod = json_of(
				"{metadata: {name: head, labels: {ray.io/node-type: head}}}");

			json_set_str(json_get(pod, "metadata"), "deletionTimestamp",
				     "2026-11-21T01:00:00Z");
			json_set(json_get(pod, "metadata"), "ownerReferences",
				 owner_references(w->cluster));
			w->pods[w->n_pods++] = pod;
		}
		w->now_ns += (rows[i].after_s - 20) * NS_PER_SEC;
		if (rows[i].after_s) {
			plan(w);
			if (count(w, PLAN_MERGE))
				fail_msg("%s: given up too soon", rows[i].what);
		}
		w->now_ns += 20 * NS_PER_SEC;
		plan(w);
		if (!warning(w) || !strstr(warning(w), rows[i].words) ||
		    !strstr(warning(w), "RAYspace@"))
			fail_msg("%s: %s", rows[i].what, warning(w) ? warning(w) : "not said");
		assert_string_equal(json_str(op(w, PLAN_EVENT, 0), "reason"), "RedisCleanupFailed");
		assert_null(job(w));
		expect_let_go(w);
		w->now_ns = now;
	}
}

static void patience_with_the_cleanup_is_what_the_annotation_says(void **state)
{
	static const struct {
		const char *annotation, *words;
		int64_t after_s;
	} rows[] = {
		{ "60", "did not end within 1 min", 60 },  { "0", "within 15 min", 900 },	 { "-5", "within 15 min", 900 },
		{ "soon", "within 15 min", 900 },	   { "60s", "within 15 min", 900 },
	};
	struct world *w = *state;
	_cleanup_json_ cJSON *running = json_of("{status: {active: 1}}");

	begin(w);
	plan(w);
	execute(w);
	delete_cluster(w);
	while (w->n_pods)
		remove_pod(w, json_str(w->pods[0], "metadata.name"));
	w->cleanup_job = running;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t now = w->now_ns;

		json_set_str(json_object_at(json_get(w->cluster, "metadata"), "annotations"),
			     "ray.io/gcs-ft-deletion-timeout", rows[i].annotation);
		w->now_ns += (rows[i].after_s - 20) * NS_PER_SEC;
		plan(w);
		assert_int_equal(count(w, PLAN_MERGE), 0);
		w->now_ns += 20 * NS_PER_SEC;
		plan(w);
		assert_non_null(warning(w));
		if (!strstr(warning(w), rows[i].words))
			fail_msg("%s: %s", rows[i].annotation, warning(w));
		w->now_ns = now;
	}
}

static void a_finalizer_that_nobody_needs_any_more_goes_at_once(void **state)
{
	struct world *w = *state;

	begin(w);
	plan(w);
	execute(w);
	cJSON_DeleteItemFromObject(json_get(w->cluster, "spec"), "gcsFaultToleranceOptions");
	delete_cluster(w);
	plan(w);
	assert_null(warning(w));
	assert_null(job(w));
	expect_let_go(w);
}

static void names_fit_and_are_no_other_clusters(void **state)
{
	_cleanup_json_ cJSON *cluster = json_of(
		"{metadata: {name: a23456789-b23456789-c23456789-d23456789-e23456789-f23, uid: u1}}");
	char one[REDIS_CLEANUP_NAME_MAX], two[REDIS_CLEANUP_NAME_MAX];

	(void)state;
	redis_cleanup_name(cluster, one);
	json_set_str(json_get(cluster, "metadata"), "uid", "u2");
	redis_cleanup_name(cluster, two);
	assert_string_not_equal(one, two);
	assert_int_equal(strlen(one), 63);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_finalizer_is_there_before_the_first_pod),
		TEST(without_redis_or_when_it_is_to_be_left_alone_there_is_none),
		TEST(first_the_pods_go_then_the_job_comes_then_the_finalizer_goes),
		TEST(the_job_has_the_heads_ways_to_redis_and_nothing_else_of_it),
		TEST(a_step_that_cannot_be_done_is_reported_and_holds_nothing_up),
		TEST(patience_with_the_cleanup_is_what_the_annotation_says),
		TEST(a_finalizer_that_nobody_needs_any_more_goes_at_once),
		TEST(names_fit_and_are_no_other_clusters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
