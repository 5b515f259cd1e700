/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests that the cost of a plan is proportional to the number of pods. With four times as many it
 * may take little more than four times as many steps; comparing each pod with each other would take
 * sixteen times as many. A step is a look into an object or a comparison of two texts, so the
 * result does not depend on the machine. bench/operator/plan_cost.c measures the time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/raycluster/plan.h"
#include "operator/raycluster/testing.h"
#include "operator/raycluster/validate.h"

#define SMALL 1000
#define TIMES 4
/* Sorting takes a little more than TIMES times as much. */
#define MORE_AT_MOST 5

static size_t steps;

/* The linker calls these functions (--wrap in the Makefile). */
cJSON *__real_cJSON_GetObjectItemCaseSensitive(const cJSON *object, const char *name);
cJSON *__wrap_cJSON_GetObjectItemCaseSensitive(const cJSON *object, const char *name);
cJSON_bool __real_cJSON_Compare(const cJSON *a, const cJSON *b, cJSON_bool exact);
cJSON_bool __wrap_cJSON_Compare(const cJSON *a, const cJSON *b, cJSON_bool exact);
int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);

cJSON *__wrap_cJSON_GetObjectItemCaseSensitive(const cJSON *object, const char *name)
{
	steps++;
	return __real_cJSON_GetObjectItemCaseSensitive(object, name);
}

/* It looks each member of one object up in the other. */
cJSON_bool __wrap_cJSON_Compare(const cJSON *a, const cJSON *b, cJSON_bool exact)
{
	steps += (size_t)cJSON_GetArraySize(a) * (size_t)cJSON_GetArraySize(b);
	return __real_cJSON_Compare(a, b, exact);
}

int __wrap_strcmp(const char *a, const char *b)
{
	steps++;
	return __real_strcmp(a, b);
}

/* --- A RayCluster with many workers --- */

struct scene {
	const char *words;
	int64_t groups, hosts; /* hosts of each replica */
	int64_t wanted; /* how many workers are wanted for each thousand existing ones */
	bool dead; /* all workers have ended, and their RayFailures are not written yet */
	int resized; /* how often the annotation ray.io/ippr names a group */
};

/* Names one group again and again, because each repetition is compared with the first. */
static void add_resized(cJSON *cluster, int n)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);

	strbuf_adds(&text, "{\"groups\": {");
	for (int i = 0; i < n; i++)
		strbuf_addf(&text, "%s\"other\": {}", i ? "," : "");
	strbuf_adds(&text, "}}");
	json_set_str(json_object_at(json_get(cluster, "metadata"), "annotations"), "ray.io/ippr",
		     strbuf_str(&text));
}

static cJSON *cluster_of(const struct scene *scene, int64_t workers)
{
	cJSON *cluster = fixture("cluster.yaml");
	cJSON *list = json_get(cluster, "spec.workerGroupSpecs");
	_cleanup_json_ cJSON *group = cJSON_DetachItemFromArray(list, 0);
	int64_t wanted = workers * scene->wanted / 1000;

	json_set_int(group, "replicas", wanted / scene->groups / scene->hosts);
	json_set_int(group, "minReplicas", 0);
	json_set_int(group, "maxReplicas", 2 * workers);
	json_set_int(group, "numOfHosts", scene->hosts);
	for (int64_t i = 0; i < scene->groups; i++) {
		char name[32];

		snprintf(name, sizeof(name), "g%d", (int)i);
		json_set_str(group, "groupName", name);
		json_append(list, cJSON_Duplicate(group, true));
	}
	if (scene->resized)
		add_resized(cluster, scene->resized);
	return cluster;
}

static void set_label(cJSON *pod, const char *name, const char *prefix, int64_t value)
{
	char text[64];

	snprintf(text, sizeof(text), "%s%lld", prefix, (long long)value);
	json_set_str(json_get(pod, "metadata.labels"), name, text);
}

static cJSON *worker_of(const struct scene *scene, int64_t n)
{
	cJSON *pod = json_of(
		"{metadata: {namespace: ml, creationTimestamp: '2026-11-21T01:00:00Z', "
		"ownerReferences: [{controller: true, uid: 6b1c0f4e-0000-4000-8000-000000000001}], "
		"labels: {ray.io/cluster: demo, ray.io/node-type: worker, "
		"ray.io/is-ray-node: 'yes'}}, status: {phase: Running, "
		"containerStatuses: [{name: ray-worker, ready: true, state: {running: {}}}]}, "
		"spec: {restartPolicy: Never, containers: [{name: ray-worker}]}}");
	char name[64];

	snprintf(name, sizeof(name), "demo-worker-%lld", (long long)n);
	json_set_str(json_get(pod, "metadata"), "name", name);
	json_set_str(json_get(pod, "metadata"), "uid", name);
	set_label(pod, "ray.io/group", "g", n % scene->groups);
	set_label(pod, "ray.io/worker-group-replica-index", "", n / scene->groups / scene->hosts);
	set_label(pod, "ray.io/worker-group-replica-name", "r", n / scene->hosts);
	set_label(pod, "ray.io/replica-host-index", "", n % scene->hosts);
	if (scene->dead)
		json_set_str(json_get(pod, "status"), "phase", "Failed");
	return pod;
}

/* Returns the steps of a plan for so many workers. */
static size_t steps_of(const struct scene *scene, size_t workers)
{
	static cJSON *pods[SMALL * TIMES];
	static bool pending[SMALL * TIMES];
	_cleanup_json_ cJSON *cluster = cluster_of(scene, (int64_t)workers),
			     *notes = cJSON_CreateArray();
	struct plan_input in = { .cluster = cluster,
				 .notes = notes,
				 .pods = (const cJSON *const *)pods,
				 .n_pods = workers,
				 .launchers = testing_launchers(),
				 .now_ns = 1795222800 * NS_PER_SEC,
				 .evidence_pending = pending };
	struct plan plan = { 0 };
	struct policy policy;
	struct err err = { 0 };

	assert_int_equal(policy_init(&policy, &err), 0);
	in.policy = &policy;
	for (size_t i = 0; i < workers; i++) {
		pods[i] = worker_of(scene, (int64_t)i);
		pending[i] = scene->dead;
	}
	steps = 0;
	if (plan_cluster(&in, &plan, &err) < 0)
		fail_msg("%s", err.text);
	size_t taken = steps;
	assert_true(plan.n_ops > 0); /* the head at least is created */
	for (size_t i = 0; i < workers; i++)
		cJSON_Delete(pods[i]);
	plan_release(&plan);
	policy_release(&policy);
	return taken;
}

static void four_times_as_many_pods_take_about_four_times_as_many_steps(void **state)
{
	static const struct scene scenes[] = {
		{ "nothing to do", 1, 1, 1000, false, 0 },
		{ "nothing to do in 100 groups", 100, 1, 1000, false, 0 },
		{ "scaled to zero", 1, 1, 0, false, 0 },
		{ "half too many in 100 groups", 100, 1, 500, false, 0 },
		{ "half to be made", 1, 1, 2000, false, 0 },
		{ "all have ended", 1, 1, 1000, true, 0 },
		{ "replicas of four hosts", 1, 4, 1000, false, 0 },
		{ "replicas of four hosts, half too many", 1, 4, 500, false, 0 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(scenes); i++) {
		size_t small = steps_of(&scenes[i], SMALL);
		size_t large = steps_of(&scenes[i], SMALL * TIMES);

		if (small < SMALL || large > MORE_AT_MOST * small)
			fail_msg("%s: %zu steps, and %zu with %d times as many pods",
				 scenes[i].words, small, large, TIMES);
	}
}

/* Returns the steps of a plan whose head has so many ports, half of them in its own service. */
static size_t steps_of_ports(int n)
{
	_cleanup_json_ cJSON *cluster = fixture("cluster.yaml"), *notes = cJSON_CreateArray();
	cJSON *head = json_get(cluster, "spec.headGroupSpec");
	cJSON *container = cJSON_GetArrayItem(json_get(head, "template.spec.containers"), 0);
	cJSON *service = json_object_at(json_object_at(head, "headService"), "spec");
	struct plan_input in = { .cluster = cluster, .notes = notes, .now_ns = NS_PER_SEC };
	struct plan plan = { 0 };
	struct policy policy;
	struct err err = { 0 };

	assert_int_equal(policy_init(&policy, &err), 0);
	in.policy = &policy;
	json_set(head, "enableIngress", cJSON_CreateTrue());
	json_set_str(json_object_at(json_get(cluster, "metadata"), "annotations"),
		     "ray.io/enable-serve-service", "true");
	for (int i = 0; i < n / 2; i++) {
		cJSON *own = cJSON_CreateObject(), *port = cJSON_CreateObject();

		json_set_int(own, "port", 20000 + i);
		json_append(json_array_at(service, "ports"), own);
		json_set_int(port, "containerPort", 1 + i);
		json_append(json_array_at(container, "ports"), port);
	}
	steps = 0;
	assert_int_equal(plan_cluster(&in, &plan, &err), 0);
	size_t taken = steps;
	plan_release(&plan);
	policy_release(&policy);
	return taken;
}

static void four_times_as_many_ports_take_about_four_times_as_many_steps(void **state)
{
	size_t small = steps_of_ports(SMALL / 2), large = steps_of_ports(SMALL / 2 * TIMES);
	(void)state;

	if (small < SMALL || large > MORE_AT_MOST * small)
		fail_msg("%zu steps, and %zu with %d times as many ports", small, large, TIMES);
}

/* Returns the steps of a plan for a cluster whose status has so many times. */
static size_t steps_of_times(int n)
{
	_cleanup_json_ cJSON *cluster = fixture("cluster.yaml"), *notes = cJSON_CreateArray();
	cJSON *status = json_object_at(cluster, "status");
	struct plan_input in = { .cluster = cluster, .notes = notes, .now_ns = NS_PER_SEC };
	struct plan plan = { 0 };
	struct policy policy;
	struct err err = { 0 };
	char name[32];

	assert_int_equal(policy_init(&policy, &err), 0);
	in.policy = &policy;
	json_set_str(status, "state", "");
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		cJSON_AddItemToObject(json_object_at(status, "stateTransitionTimes"), name,
				      cJSON_CreateString("2026-11-21T01:00:00Z"));
	}
	steps = 0;
	assert_int_equal(plan_cluster(&in, &plan, &err), 0);
	plan_release(&plan);
	policy_release(&policy);
	return steps;
}

static void a_status_with_very_many_times_is_not_compared_with_itself(void **state)
{
	size_t few = steps_of_times(1), many = steps_of_times(SMALL);
	(void)state;

	assert_in_range(many, 1, few + 10 * SMALL);
}

static void mistakes_beyond_those_that_are_noted_cost_little(void **state)
{
	_cleanup_json_ cJSON *cluster = fixture("cluster.yaml"), *notes = cJSON_CreateArray();
	cJSON *labels = json_object_at(
		cJSON_GetArrayItem(json_get(cluster, "spec.workerGroupSpecs"), 0), "labels");
	char name[32];
	(void)state;

	for (int i = 0; i < SMALL / 2; i++) {
		snprintf(name, sizeof(name), "-%d", i);
		cJSON_AddItemToObject(labels, name, cJSON_CreateString("v"));
	}
	steps = 0;
	validate_cluster(cluster, notes);
	assert_true(cJSON_GetArraySize(notes) > 1);
	assert_in_range(steps, 1, 5 * SMALL);
}

static void the_groups_that_ray_resizes_are_read_once_for_a_plan(void **state)
{
	static const struct scene plain = { "plain", 100, 1, 1000, false, 0 },
				  resized = { "resized", 100, 1, 1000, false, 10000 };
	size_t few = steps_of(&plain, SMALL), many = steps_of(&resized, SMALL);
	(void)state;

	if (many < few + 10000 || many > few + 50000)
		fail_msg("%zu steps without the annotation, %zu with it", few, many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(four_times_as_many_pods_take_about_four_times_as_many_steps),
		cmocka_unit_test(four_times_as_many_ports_take_about_four_times_as_many_steps),
		cmocka_unit_test(a_status_with_very_many_times_is_not_compared_with_itself),
		cmocka_unit_test(mistakes_beyond_those_that_are_noted_cost_little),
		cmocka_unit_test(the_groups_that_ray_resizes_are_read_once_for_a_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
