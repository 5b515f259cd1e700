/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the admission of clusters as tables: which values are set, kept, put back and reported.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/units.h"
#include "operator/raycluster/testing.h"
#include "operator/webhook/cluster_admission.h"
#include "operator/webhook/memory_record.h"
#include "operator/webhook/warnings.h"

#define HEAD "headGroupSpec: {template: {spec: {containers: [{name: h, resources: {limits: {memory: 8Gi}}}]}}}"
#define WORKER "{groupName: small, replicas: 1, template: {spec: {containers: [{name: w, resources: {limits: {memory: 4Gi}}}]}}}"
#define CLUSTER(metadata, spec) "{kind: RayCluster, metadata: {name: c" metadata "}, spec: {" spec "}}"
#define PLAIN CLUSTER("", HEAD ", workerGroupSpecs: [" WORKER "]")

/* The parameters for 8 and 4 GiB. */
#define HEAD_PARAMS "{num-cpus: \"0\", memory: \"5153751040\", object-store-memory: \"2576351232\"}"
#define WORKER_PARAMS "{memory: \"2577399808\", object-store-memory: \"1287651328\"}"

static struct policy policy;

static int set_up(void **state)
{
	(void)state;
	return policy_init(&policy, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	policy_release(&policy);
	return 0;
}

static struct cluster_admission admit_json(const cJSON *old, const cJSON *object,
					   enum memory_mode mode, const char *user)
{
	struct cluster_request req = { .old = old, .object = object, .user = user };
	struct cluster_admission admission;
	struct err err = { 0 };

	policy.memory.mode = mode;
	if (cluster_admit(&req, &policy, &admission, &err) < 0)
		fail_msg("%s", err.text);
	return admission;
}

static struct cluster_admission admit(const char *old, const char *object, enum memory_mode mode)
{
	_cleanup_json_ cJSON *before = old ? json_of(old) : NULL, *after = json_of(object);

	return admit_json(before, after, mode, NULL);
}

/* Returns the object after a CREATE. */
static cJSON *created(const char *object)
{
	struct cluster_admission admission = admit(NULL, object, MEMORY_MODE_APPLY);

	cJSON_Delete(admission.warnings);
	return admission.object ? admission.object : json_of(object);
}

/* Returns the object after an UPDATE of old by object. */
static cJSON *updated(const cJSON *old, const char *object)
{
	_cleanup_json_ cJSON *after = json_of(object);
	struct cluster_admission admission = admit_json(old, after, MEMORY_MODE_APPLY, NULL);

	cJSON_Delete(admission.warnings);
	return admission.object ? admission.object : TAKE_PTR(after);
}

static const cJSON *worker(const cJSON *cluster, int i)
{
	return cJSON_GetArrayItem(json_get(cluster, "spec.workerGroupSpecs"), i);
}

/* want is YAML; "" if nothing may be there. */
static void expect(const cJSON *object, const char *path, const char *want)
{
	_cleanup_json_ cJSON *wanted = *want ? json_of(want) : NULL;

	if (!wanted)
		assert_null(json_get(object, path));
	else
		assert_json(json_get(object, path), wanted);
}

static cJSON *record_of(const cJSON *object)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(
		json_get(object, "metadata.annotations"), RECORD_ANNOTATION));

	return text ? json_of(text) : NULL;
}

static void expect_warning(const struct cluster_admission *admission, const char *part)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, admission->warnings)
		if (strstr(item->valuestring, part))
			return;
	fail_msg("no warning has \"%s\": %s", part, cJSON_Print(admission->warnings));
}

/* Returns the number of warnings but those that say what is being set. */
static int problems_in(const struct cluster_admission *admission)
{
	const cJSON *item;
	int n = 0;

	cJSON_ArrayForEach(item, admission->warnings)
		n += !strstr(item->valuestring, " sets ");
	return n;
}

static void create_sets_what_the_user_left_out_and_says_so(void **state)
{
	_cleanup_json_ cJSON *cluster = created(PLAIN), *record = record_of(cluster);

	(void)state;
	expect(cluster, "spec.headGroupSpec.rayStartParams", HEAD_PARAMS);
	expect(worker(cluster, 0), "rayStartParams", WORKER_PARAMS);
	/* The API server and KubeRay derive the other values. */
	expect(worker(cluster, 0), "template.spec",
	       "{containers: [{name: w, resources: {limits: {memory: 4Gi}}}]}");
	expect(record, "head.limit", "8Gi");
	expect(record, "workers.small",
	       "{limit: 4Gi, set: {rayStartParams.memory: \"2577399808\", rayStartParams.object-store-memory: \"1287651328\"}}");
}

static void an_old_object_that_is_null_is_none(void **state)
{
	_cleanup_json_ cJSON *null = cJSON_CreateNull(), *object = json_of(PLAIN),
			     *want = created(PLAIN);
	struct cluster_admission admission = admit_json(null, object, MEMORY_MODE_APPLY, NULL);

	(void)state;
	assert_json(admission.object, want);
	cluster_admission_release(&admission);
}

static void a_second_pass_changes_nothing(void **state)
{
	_cleanup_json_ cJSON *cluster = created(PLAIN);
	_cleanup_(cluster_admission_release) struct cluster_admission again =
		admit_json(NULL, cluster, MEMORY_MODE_APPLY, NULL);
	_cleanup_(cluster_admission_release) struct cluster_admission update =
		admit_json(cluster, cluster, MEMORY_MODE_APPLY, NULL);

	(void)state;
	assert_null(again.object);
	assert_null(update.object);
}

/* The API server asks again when another webhook changed the object. */
static void a_second_pass_over_an_update_changes_nothing(void **state)
{
	_cleanup_json_ cJSON *cluster = created(PLAIN), *first = NULL;
	struct cluster_admission again;

	(void)state;
	first = updated(
		cluster,
		CLUSTER("",
			"headGroupSpec: {template: {spec: {containers: [{resources: {limits: {memory: 4Gi}}}]}}}, "
			"workerGroupSpecs: [" WORKER
			", {groupName: big, replicas: 1, template: {spec: "
			"{containers: [{resources: {limits: {memory: 8Gi}}}]}}}]"));
	again = admit_json(cluster, first, MEMORY_MODE_APPLY, NULL);
	assert_null(again.object);
	cluster_admission_release(&again);
}

/* Another webhook lowers the limit between two passes. */
static void a_second_pass_follows_the_limit(void **state)
{
	_cleanup_json_ cJSON *cluster = created(PLAIN);
	struct cluster_admission again;

	(void)state;
	cJSON_SetValuestring(
		json_get(cJSON_GetArrayItem(
				 json_get(worker(cluster, 0), "template.spec.containers"), 0),
			 "resources.limits.memory"),
		"2Gi");
	again = admit_json(NULL, cluster, MEMORY_MODE_APPLY, NULL);
	assert_string_equal(json_str(worker(again.object, 0), "rayStartParams.memory"),
			    "1288699904");
	cluster_admission_release(&again);
}

static void the_users_values_win(void **state)
{
	static const char *const params[] = {
		"{num-cpus: \"4\", memory: \"1073741824\", object-store-memory: \"104857600\"}",
		"{num-cpus: $(nproc), memory: $((2**30)), object-store-memory: $STORE}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(params); i++) {
		char text[512];
		_cleanup_json_ cJSON *cluster = NULL;

		snprintf(
			text, sizeof(text),
			CLUSTER("",
				"headGroupSpec: {rayStartParams: %s, template: {spec: {containers: "
				"[{resources: {limits: {memory: 8Gi}}}]}}}, workerGroupSpecs: [{replicas: 1}]"),
			params[i]);
		cluster = created(text);
		expect(cluster, "spec.headGroupSpec.rayStartParams", params[i]);
		assert_null(json_get(cluster, "metadata.annotations"));
	}
}

static void a_head_that_must_run_tasks_keeps_its_cpus(void **state)
{
	static const char *const specs[] = {
		HEAD,
		HEAD ", workerGroupSpecs: []",
		HEAD ", workerGroupSpecs: [{groupName: g}]",
		HEAD ", workerGroupSpecs: [{groupName: g, replicas: 2, suspend: true}]",
		HEAD ", workerGroupSpecs: [{groupName: g, replicas: 2, numOfHosts: 0}]",
		HEAD ", enableInTreeAutoscaling: true, workerGroupSpecs: [{groupName: g, maxReplicas: 0}]",
		/* No task can run on workers without CPUs. */
		HEAD ", workerGroupSpecs: [{groupName: g, replicas: 2, rayStartParams: {num-cpus: \"0\"}}]",
		HEAD ", workerGroupSpecs: [{groupName: g, replicas: 2, resources: {cpu: \"0\"}}]",
		/* The author sizes the CPUs himself. */
		"headGroupSpec: {template: {spec: {containers: [{env: [{name: RAY_OVERRIDE_RESOURCES, value: \"{}\"}]}]}}}, workerGroupSpecs: [" WORKER "]",
		"headGroupSpec: {template: {spec: {containers: [{args: [ray start --head --num-cpus=2]}]}}}, workerGroupSpecs: [" WORKER "]",
		"headGroupSpec: {template: {metadata: {annotations: {ray.io/overwrite-container-cmd: \"true\"}}, spec: {containers: "
		"[{command: [/start.sh]}]}}}, workerGroupSpecs: [" WORKER "]",
		/* Tasks request these by name, and a CPU as well. */
		"headGroupSpec: {rayStartParams: {num-gpus: \"1\"}, template: {spec: {containers: [{}]}}}, workerGroupSpecs: [" WORKER "]",
		"headGroupSpec: {rayStartParams: {resources: \"'{\\\"a\\\": 1}'\"}, template: {spec: {containers: [{}]}}}, workerGroupSpecs: [" WORKER "]",
		"headGroupSpec: {resources: {GPU: \"1\"}, template: {spec: {containers: [{}]}}}, workerGroupSpecs: [" WORKER "]",
		"headGroupSpec: {template: {spec: {containers: [{resources: {limits: {nvidia.com/gpu: 1}}}]}}}, workerGroupSpecs: [" WORKER "]",
		"headGroupSpec: {template: {spec: {containers: [{resources: {limits: {google.com/tpu: 4}}}]}}}, workerGroupSpecs: [" WORKER "]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		char text[1024];
		_cleanup_json_ cJSON *cluster = NULL;

		snprintf(text, sizeof(text), CLUSTER("", "%s"), specs[i]);
		cluster = created(text);
		if (json_get(cluster, "spec.headGroupSpec.rayStartParams.num-cpus"))
			fail_msg("row %zu: the head has no CPUs", i);
	}
}

static void a_group_with_resources_gets_its_memory_there(void **state)
{
	_cleanup_json_ cJSON *cluster = created(CLUSTER(
		"",
		"headGroupSpec: {resources: {cpu: \"2\"}, template: {spec: {containers: [{resources: {limits: {memory: 8Gi}}}]}}}, "
		"workerGroupSpecs: [{groupName: g, replicas: 1, resources: {GPU: \"1\"}, template: {spec: {containers: "
		"[{resources: {limits: {memory: 4Gi}}}]}}}]"));

	(void)state;
	expect(cluster, "spec.headGroupSpec.resources", "{cpu: \"2\", memory: \"5153751040\"}");
	expect(cluster, "spec.headGroupSpec.rayStartParams",
	       "{object-store-memory: \"2576351232\"}");
	expect(worker(cluster, 0), "resources", "{GPU: \"1\", memory: \"2577399808\"}");
}

/* KubeRay's rule in 1.6.2 and 1.7.0. */
static bool kuberay_refuses(const cJSON *group)
{
	static const char *const names[] = { "num-cpus", "num-gpus", "memory", "resources" };
	const cJSON *resources = json_get(group, "resources");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *text = json_str(json_get(group, "rayStartParams"), names[i]);

		if (text && *text && resources && resources->child)
			return true;
	}
	return false;
}

static void what_kuberay_accepts_it_accepts_with_us(void **state)
{
	static const char *const params[] = { "{}",
					      "{num-cpus: \"1\"}",
					      "{num-gpus: \"1\"}",
					      "{memory: \"100000000\"}",
					      "{num-cpus: \"\", memory: \"\"}",
					      "{plasma-directory: /tmp}" };
	static const char *const resources[] = { "{}",		 "{CPU: \"1\"}",
						 "{cpu: \"1\"}", "{memory: 1Gi}",
						 "{GPU: \"1\"}", "{a: \"1\", Memory: 2Gi}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(params) * ARRAY_SIZE(resources); i++) {
		const char *p = params[i % ARRAY_SIZE(params)],
			   *r = resources[i / ARRAY_SIZE(params)];
		_cleanup_json_ cJSON *before = NULL, *after = NULL, *changed = NULL;
		char text[1024];

		snprintf(
			text, sizeof(text),
			CLUSTER("",
				"headGroupSpec: {rayStartParams: %s, resources: %s, template: {spec: "
				"{containers: [{resources: {limits: {memory: 8Gi}}}]}}}, workerGroupSpecs: [" WORKER
				"]"),
			p, r);
		before = json_of(text);
		after = created(text);
		if (!kuberay_refuses(json_get(before, "spec.headGroupSpec")))
			assert_false(kuberay_refuses(json_get(after, "spec.headGroupSpec")));
		/* A group without these gets them by an UPDATE. */
		cJSON_Delete(after);
		after = created(PLAIN);
		changed = updated(after, text);
		if (!kuberay_refuses(json_get(before, "spec.headGroupSpec")))
			assert_false(kuberay_refuses(json_get(changed, "spec.headGroupSpec")));
	}
}

static void a_worker_without_a_limit_gets_the_policys(void **state)
{
	static const struct {
		const char *spec, *want;
	} rows[] = {
		{ "{containers: [{name: w}]}", "{containers: [{name: w, resources: {limits: {memory: 2Gi}}}]}" },
		{ "{containers: [{name: w, resources: {requests: {memory: 3Gi}}}]}",
		  "{containers: [{name: w, resources: {requests: {memory: 3Gi}, limits: {memory: 3Gi}}}]}" },
		/* A limit above the pod's own would make the pod invalid. */
		{ "{resources: {limits: {memory: 1Gi}}, containers: [{name: w}]}",
		  "{resources: {limits: {memory: 1Gi}}, containers: [{name: w}]}" },
		{ "{containers: [{name: w, resources: {limits: {memory: \"0\"}}}]}",
		  "{containers: [{name: w, resources: {limits: {memory: \"0\"}}}]}" },
	};

	(void)state;
	policy.memory.worker_memory_limit = (int64_t)2 << 30;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *cluster = NULL;
		char text[512];

		snprintf(
			text, sizeof(text),
			CLUSTER("", HEAD
				", workerGroupSpecs: [{groupName: small, replicas: 1, template: {spec: %s}}]"),
			rows[i].spec);
		cluster = created(text);
		expect(worker(cluster, 0), "template.spec", rows[i].want);
	}
	policy.memory.worker_memory_limit = 0;
}

static void the_monitors_environment_is_set_if_the_policy_asks(void **state)
{
	_cleanup_json_ cJSON *cluster = NULL, *dropped = NULL;

	(void)state;
	policy.memory.usage_threshold = 0.8;
	policy.memory.monitor_refresh_ms = 100;
	cluster = created(CLUSTER(
		"", HEAD
		", workerGroupSpecs: [{groupName: small, replicas: 1, template: {spec: {containers: [{name: w, "
		"env: [{name: RAY_memory_usage_threshold, valueFrom: {}}], resources: {limits: {memory: 4Gi}}}]}}}]"));
	expect(cluster, "spec.headGroupSpec.template.spec.containers",
	       "[{name: h, resources: {limits: {memory: 8Gi}}, env: [{name: RAY_memory_usage_threshold, value: \"0.8\"}, "
	       "{name: RAY_memory_monitor_refresh_ms, value: \"100\"}]}]");
	expect(cJSON_GetArrayItem(json_get(worker(cluster, 0), "template.spec.containers"), 0),
	       "env",
	       "[{name: RAY_memory_usage_threshold, valueFrom: {}}, {name: RAY_memory_monitor_refresh_ms, value: \"100\"}]");
	/* Later policies are for new clusters. */
	policy.memory.usage_threshold = 0;
	policy.memory.monitor_refresh_ms = -1;
	dropped = updated(cluster, PLAIN);
	expect(dropped, "spec.headGroupSpec.template.spec.containers",
	       "[{name: h, resources: {limits: {memory: 8Gi}}, env: [{name: RAY_memory_usage_threshold, value: \"0.8\"}, "
	       "{name: RAY_memory_monitor_refresh_ms, value: \"100\"}]}]");
}

static void an_update_that_replaces_the_spec_gets_the_values_back(void **state)
{
	_cleanup_json_ cJSON *cluster = created(PLAIN), *after = NULL;

	(void)state;
	/* Although the policy has changed, the values stay those of the running pods. */
	policy.memory.object_store_fraction = 0.1;
	after = updated(cluster, PLAIN);
	policy.memory.object_store_fraction = 0.3;
	assert_json(after, cluster);
}

static void an_update_adds_nothing_to_a_running_cluster(void **state)
{
	_cleanup_json_ cJSON *before = json_of(PLAIN), *after = updated(before, PLAIN);

	(void)state;
	assert_json(after, before);
}

static void a_group_that_an_update_adds_is_new(void **state)
{
	_cleanup_json_ cJSON *cluster = created(PLAIN), *before = json_of(PLAIN);
	static const char more[] =
		CLUSTER("", HEAD ", workerGroupSpecs: [" WORKER
				 ", {groupName: big, replicas: 1, template: {spec: "
				 "{containers: [{resources: {limits: {memory: 8Gi}}}]}}}]");
	_cleanup_json_ cJSON *after = updated(cluster, more), *untouched = updated(before, more),
			     *record = record_of(after);

	(void)state;
	expect(worker(after, 0), "rayStartParams", WORKER_PARAMS);
	expect(worker(after, 1), "rayStartParams",
	       "{memory: \"5153751040\", object-store-memory: \"2576351232\"}");
	assert_non_null(json_get(record, "workers.big"));
	/* This also holds for a cluster that is older than the webhook. */
	expect(worker(untouched, 0), "rayStartParams", "");
	expect(worker(untouched, 1), "rayStartParams",
	       "{memory: \"5153751040\", object-store-memory: \"2576351232\"}");
}

static void another_limit_makes_the_groups_values_anew(void **state)
{
	static const char lower[] = CLUSTER(
		"",
		"headGroupSpec: {template: {spec: {containers: [{resources: {limits: {memory: 4Gi}}}]}}}, "
		"workerGroupSpecs: [" WORKER "]");
	static const char none[] = CLUSTER(
		"",
		"headGroupSpec: {template: {spec: {containers: [{}]}}}, workerGroupSpecs: [" WORKER
		"]");
	_cleanup_json_ cJSON *cluster = created(PLAIN), *merged = cJSON_Duplicate(cluster, true),
			     *after = updated(cluster, lower), *unlimited = updated(cluster, none);
	struct cluster_admission admission;

	(void)state;
	expect(after, "spec.headGroupSpec.rayStartParams",
	       "{num-cpus: \"0\", memory: \"2577399808\", object-store-memory: \"1287651328\"}");
	expect(worker(after, 0), "rayStartParams", WORKER_PARAMS);
	expect(unlimited, "spec.headGroupSpec.rayStartParams", "{num-cpus: \"0\"}");
	/* A patch changes only the limit, and leaves our values where they are. */
	cJSON_SetValuestring(
		json_get(
			cJSON_GetArrayItem(
				json_get(merged, "spec.headGroupSpec.template.spec.containers"), 0),
			"resources.limits.memory"),
		"4Gi");
	admission = admit_json(cluster, merged, MEMORY_MODE_APPLY, NULL);
	expect(admission.object, "spec.headGroupSpec.rayStartParams",
	       "{num-cpus: \"0\", memory: \"2577399808\", object-store-memory: \"1287651328\"}");
	cluster_admission_release(&admission);
}

static void a_value_that_the_user_sets_now_wins_and_leaves_the_annotation(void **state)
{
	_cleanup_json_ cJSON *cluster = created(PLAIN), *record = NULL, *after = NULL,
			     *later = NULL;

	(void)state;
	after = updated(
		cluster,
		CLUSTER("",
			"headGroupSpec: {rayStartParams: {num-cpus: \"2\"}, template: {spec: {containers: [{name: h, "
			"resources: {limits: {memory: 8Gi}}}]}}}, workerGroupSpecs: [" WORKER "]"));
	record = record_of(after);
	expect(after, "spec.headGroupSpec.rayStartParams",
	       "{num-cpus: \"2\", memory: \"5153751040\", object-store-memory: \"2576351232\"}");
	expect(record, "head.set",
	       "{rayStartParams.memory: \"5153751040\", rayStartParams.object-store-memory: \"2576351232\"}");
	/* So it can be removed again. */
	later = updated(after, PLAIN);
	expect(later, "spec.headGroupSpec.rayStartParams",
	       "{memory: \"5153751040\", object-store-memory: \"2576351232\"}");
}

static void the_annotation_alone_is_put_back(void **state)
{
	_cleanup_json_ cJSON *cluster = created(PLAIN), *without = cJSON_Duplicate(cluster, true);
	struct cluster_admission admission;

	(void)state;
	cJSON_DeleteItemFromObjectCaseSensitive(json_get(without, "metadata"), "annotations");
	admission = admit_json(cluster, without, MEMORY_MODE_APPLY, NULL);
	assert_json(admission.object, cluster);
	cluster_admission_release(&admission);
}

static void a_group_that_goes_leaves_the_annotation(void **state)
{
	_cleanup_json_ cJSON *cluster = created(PLAIN),
			     *after = updated(cluster, CLUSTER("", HEAD)),
			     *record = record_of(after);

	(void)state;
	assert_non_null(json_get(record, "head"));
	assert_null(json_get(record, "workers"));
}

/* JSON patches of the autoscaler name groups by their index. */
static void the_autoscalers_patch_meets_its_group(void **state)
{
	_cleanup_json_ cJSON *cluster = created(PLAIN), *scaled = cJSON_Duplicate(cluster, true);
	struct cluster_admission admission;

	(void)state;
	json_set_int((cJSON *)worker(scaled, 0), "replicas", 5);
	admission = admit_json(cluster, scaled, MEMORY_MODE_APPLY, NULL);
	assert_null(admission.object);
	assert_int_equal(cJSON_GetArraySize(admission.warnings), 0);
	cluster_admission_release(&admission);
}

#define RECORDED(text) ", annotations: {afterglow.dev/memory-safety: '" text "'}"

static void a_forged_annotation_brings_nothing_in(void **state)
{
	static const char *const forged[] = {
		"{\"head\":{\"set\":{\"rayStartParams.memory\":\"$(reboot)\"}}}",
		"{\"head\":{\"set\":{\"limits.memory\":\"1Gi\"}}}",
		"{\"head\":{\"limit\":\"1e400\",\"set\":{\"rayStartParams.memory\":\"1\"}}}",
		"{\"head\":{\"limit\":\"-5\",\"set\":{\"rayStartParams.memory\":\"1\"}}}",
		"{\"workers\":{\"small\":{\"limit\":\"4Gi\",\"set\":{\"rayStartParams.num-cpus\":\"0\"}}}}",
		"{\"workers\":[{\"limit\":\"4Gi\",\"set\":{\"rayStartParams.memory\":\"1\"}}]}",
		"{\"head\":[[[[", "[]", "nonsense", "{\"head\":7,\"workers\":\"x\"}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forged); i++) {
		_cleanup_json_ cJSON *old = json_of(PLAIN), *after = NULL, *plain = json_of(PLAIN);

		json_set_str(json_object_at(json_get(old, "metadata"), "annotations"),
			     RECORD_ANNOTATION, forged[i]);
		after = updated(old, PLAIN);
		if (differences(after, plain, forged[i]))
			fail_msg("%s", forged[i]);
	}
}

static void on_create_the_annotation_is_what_was_set(void **state)
{
	_cleanup_json_ cJSON *
		want = created(PLAIN),
	       *have = created(CLUSTER(
		       RECORDED(
			       "{\"head\":{\"limit\":\"8Gi\",\"set\":{\"rayStartParams.memory\":\"1\"}},\"workers\":{\"x\":{\"set\":{}}}}"),
		       HEAD ", workerGroupSpecs: [" WORKER "]"));
	_cleanup_json_ cJSON *none = created(
		"{kind: RayCluster, metadata: {annotations: {afterglow.dev/memory-safety: x, a: b}}, spec: {}}");

	(void)state;
	assert_json(have, want);
	expect(none, "metadata.annotations", "{a: b}");
}

static void objects_that_are_left_alone(void **state)
{
	static const char *const objects[] = {
		CLUSTER(", annotations: {afterglow.dev/memory: \"off\"}", HEAD ", workerGroupSpecs: [" WORKER "]"),
		CLUSTER(", annotations: {afterglow.dev/memory: \"Off\"}", HEAD ", workerGroupSpecs: [" WORKER "]"),
		CLUSTER(", deletionTimestamp: \"2026-11-21T01:29:06Z\"", HEAD ", workerGroupSpecs: [" WORKER "]"),
		CLUSTER("", "managedBy: kueue.x-k8s.io/multikueue, " HEAD ", workerGroupSpecs: [" WORKER "]"),
		"{kind: RayJob, metadata: {}, spec: {managedBy: kueue.x-k8s.io/multikueue, rayClusterSpec: {headGroupSpec: "
		"{template: {spec: {containers: [{}]}}}}}}",
		"{kind: RayJob, metadata: {}, spec: {clusterSelector: {ray.io/cluster: c}}}",
		"{kind: Pod, metadata: {}, spec: {" HEAD "}}",
		"{kind: RayCluster, metadata: {}, spec: text}",
		"{kind: RayCluster, metadata: {annotations: text}, spec: {" HEAD "}}",
		"{kind: [RayCluster], spec: {}}",
		"{}",
		"[]",
		"text",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
		for (enum memory_mode mode = MEMORY_MODE_APPLY; mode <= MEMORY_MODE_OFF; mode++) {
			struct cluster_admission admission = admit(NULL, objects[i], mode);

			if (admission.object || cJSON_GetArraySize(admission.warnings))
				fail_msg("row %zu is not left alone", i);
			cluster_admission_release(&admission);
		}
}

static void warn_changes_nothing_and_says_the_numbers(void **state)
{
	struct cluster_admission admission = admit(NULL, PLAIN, MEMORY_MODE_WARN);

	(void)state;
	assert_null(admission.object);
	expect_warning(
		&admission,
		"group headgroup: memory safety (afterglow.dev/memory: \"apply\" asks for it) would set rayStartParams.num-cpus \"0\", rayStartParams.memory "
		"\"5153751040\" (4.8 GiB), rayStartParams.object-store-memory \"2576351232\" (2.4 GiB), from the limit of 8.0 GiB");
	expect_warning(&admission, "would set rayStartParams.memory \"2577399808\" (2.4 GiB)");
	cluster_admission_release(&admission);
	admission = admit(NULL, PLAIN, MEMORY_MODE_OFF);
	assert_null(admission.object);
	assert_int_equal(cJSON_GetArraySize(admission.warnings), 0);
	cluster_admission_release(&admission);
}

/*
 * A task that asks for more than its budget would never run, so budgets are not set unless somebody
 * asks for them.
 */
static void by_default_only_the_heads_cpus_are_set_and_the_numbers_said(void **state)
{
	struct cluster_admission admission = admit(NULL, PLAIN, MEMORY_MODE_UNSET);
	_cleanup_json_ cJSON *record = record_of(admission.object), *plain = json_of(PLAIN);

	(void)state;
	expect(admission.object, "spec.headGroupSpec.rayStartParams", "{num-cpus: \"0\"}");
	assert_json(json_get(admission.object, "spec.workerGroupSpecs"),
		    json_get(plain, "spec.workerGroupSpecs"));
	expect(record, "head", "{limit: 8Gi, set: {rayStartParams.num-cpus: \"0\"}}");
	assert_null(json_get(record, "workers"));
	assert_int_equal(cJSON_GetArraySize(admission.warnings), 3);
	expect_warning(
		&admission,
		"group headgroup: memory safety (afterglow.dev/memory: \"off\" prevents it) sets rayStartParams.num-cpus \"0\"");
	expect_warning(
		&admission,
		"group headgroup: memory safety (afterglow.dev/memory: \"apply\" asks for it) would set "
		"rayStartParams.memory \"5153751040\" (4.8 GiB)");
	expect_warning(
		&admission,
		"group small: memory safety (afterglow.dev/memory: \"apply\" asks for it) would set "
		"rayStartParams.memory \"2577399808\" (2.4 GiB), rayStartParams.object-store-memory \"1287651328\" "
		"(1.2 GiB), from the limit of 4.0 GiB");
	cluster_admission_release(&admission);
}

static void a_limit_that_the_policy_names_is_set_without_budgets(void **state)
{
	static const char unlimited[] = CLUSTER(
		"", HEAD
		", workerGroupSpecs: [{groupName: g, replicas: 1, template: {spec: {containers: [{name: w}]}}}]");
	struct cluster_admission admission;

	(void)state;
	policy.memory.worker_memory_limit = (int64_t)2 << 30;
	admission = admit(NULL, unlimited, MEMORY_MODE_UNSET);
	policy.memory.worker_memory_limit = 0;
	expect(worker(admission.object, 0), "template.spec",
	       "{containers: [{name: w, resources: {limits: {memory: 2Gi}}}]}");
	expect(worker(admission.object, 0), "rayStartParams", "");
	expect_warning(&admission, "sets limits.memory \"2Gi\"");
	cluster_admission_release(&admission);
}

static void an_annotation_overrides_the_policy(void **state)
{
	static const struct {
		const char *text;
		enum memory_mode mode;
		bool cpus, budgets, says;
	} rows[] = {
		{ "apply", MEMORY_MODE_UNSET, true, true, true },   { "Apply", MEMORY_MODE_OFF, true, true, true },
		{ "warn", MEMORY_MODE_APPLY, false, false, true },  { "off", MEMORY_MODE_APPLY, false, false, false },
		{ "nonsense", MEMORY_MODE_UNSET, true, false, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cluster_admission admission;
		char text[1024];

		snprintf(text, sizeof(text),
			 CLUSTER(", annotations: {afterglow.dev/memory: %s}",
				 HEAD ", workerGroupSpecs: [" WORKER "]"),
			 rows[i].text);
		admission = admit(NULL, text, rows[i].mode);
		if ((json_get(admission.object, "spec.headGroupSpec.rayStartParams.num-cpus") !=
		     NULL) != rows[i].cpus ||
		    (json_get(worker(admission.object, 0), "rayStartParams.memory") != NULL) !=
			    rows[i].budgets ||
		    (cJSON_GetArraySize(admission.warnings) > 0) != rows[i].says)
			fail_msg("row %zu: %s", i, cJSON_Print(admission.object));
		cluster_admission_release(&admission);
	}
}

/* An earlier version set budgets by default. */
static void what_was_set_stays_whatever_the_mode_is_now(void **state)
{
	_cleanup_json_ cJSON *cluster = created(PLAIN), *plain = json_of(PLAIN), *scaled = NULL;

	(void)state;
	for (enum memory_mode mode = MEMORY_MODE_UNSET; mode <= MEMORY_MODE_OFF; mode++) {
		/* A writer replaces the spec, as RayService's reconciler does. */
		struct cluster_admission admission = admit_json(cluster, plain, mode, NULL);

		assert_json(admission.object, cluster);
		cluster_admission_release(&admission);
		/* Another one changes a number. */
		scaled = cJSON_Duplicate(cluster, true);
		json_set_int((cJSON *)worker(scaled, 0), "replicas", 5);
		admission = admit_json(cluster, scaled, mode, NULL);
		assert_null(admission.object);
		assert_int_equal(cJSON_GetArraySize(admission.warnings), 0);
		cluster_admission_release(&admission);
		/* Another limit makes them anew. */
		cJSON_SetValuestring(
			json_get(
				cJSON_GetArrayItem(
					json_get(worker(scaled, 0), "template.spec.containers"), 0),
				"resources.limits.memory"),
			"8Gi");
		admission = admit_json(cluster, scaled, mode, NULL);
		expect(worker(admission.object, 0), "rayStartParams",
		       "{memory: \"5153751040\", object-store-memory: \"2576351232\"}");
		cluster_admission_release(&admission);
		cJSON_Delete(TAKE_PTR(scaled));
	}
}

#define SIZED(env) "{groupName: g, replicas: 1, template: {spec: {containers: [{name: w, " env "resources: {limits: {memory: 4Gi}}}]}}}"
#define PROPORTION "env: [{name: RAY_DEFAULT_OBJECT_STORE_MEMORY_PROPORTION, value: \"0.6\"}], "

static void what_the_author_says_in_another_way_wins(void **state)
{
	static const char *const groups[] = {
		SIZED(PROPORTION),
		SIZED("env: [{name: RAY_OVERRIDE_RESOURCES, valueFrom: {}}], "),
		SIZED("command: [bash, -c], args: [\"ray start --memory=1000000000 --block\"], "),
		SIZED("envFrom: [{configMapRef: {name: ray}}], "),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		struct cluster_admission admission;
		char text[1024];

		snprintf(text, sizeof(text), CLUSTER("", HEAD ", workerGroupSpecs: [%s]"),
			 groups[i]);
		admission = admit(NULL, text, MEMORY_MODE_APPLY);
		expect(admission.object, "spec.headGroupSpec.rayStartParams", HEAD_PARAMS);
		expect(worker(admission.object, 0), "rayStartParams", "");
		if (strstr(groups[i], "envFrom"))
			expect_warning(
				&admission,
				"group g: its envFrom may size Ray's memory, so memory safety sets no budget");
		else
			assert_int_equal(problems_in(&admission), 0);
		cluster_admission_release(&admission);
	}
}

static void what_an_update_says_in_another_way_wins_too(void **state)
{
	_cleanup_json_ cJSON *cluster = created(
				     CLUSTER("", HEAD ", workerGroupSpecs: [" SIZED("") "]")),
			     *after = NULL, *same = NULL, *record = NULL;
	static const char said[] = CLUSTER("", HEAD ", workerGroupSpecs: [" SIZED(PROPORTION) "]");

	(void)state;
	after = updated(cluster, said);
	record = record_of(after);
	expect(worker(after, 0), "rayStartParams", "");
	assert_null(json_get(record, "workers"));
	expect(after, "spec.headGroupSpec.rayStartParams", HEAD_PARAMS);
	/* An earlier version set budgets beside the variable: the pods that run have them. */
	cJSON_AddItemToObject(
		cJSON_GetArrayItem(json_get(worker(cluster, 0), "template.spec.containers"), 0),
		"env",
		json_of("[{name: RAY_DEFAULT_OBJECT_STORE_MEMORY_PROPORTION, value: \"0.6\"}]"));
	same = updated(cluster, said);
	expect(worker(same, 0), "rayStartParams", WORKER_PARAMS);
}

#define RESIZED(groups) ", annotations: {ray.io/ippr: '{\"groups\":{" groups "}}'}"

/*
 * Ray's autoscaler refuses num-cpus and memory in rayStartParams of a group that it resizes, and
 * then scales nothing.
 */
static void a_group_that_ray_resizes_is_left_alone(void **state)
{
	static const char both[] = CLUSTER(RESIZED("\"headgroup\":{},\"small\":{}"),
					   HEAD ", workerGroupSpecs: [" WORKER "]");
	static const char recreate[] = CLUSTER("", "upgradeStrategy: {type: Recreate}, " HEAD
						   ", workerGroupSpecs: [" WORKER "]");
	static const char recreate_both[] =
		CLUSTER(RESIZED("\"headgroup\":{}"), "upgradeStrategy: {type: Recreate}, " HEAD
						     ", workerGroupSpecs: [" WORKER "]");
	_cleanup_json_ cJSON *one = created(CLUSTER(RESIZED("\"small\":{}"),
						    HEAD ", workerGroupSpecs: [" WORKER "]")),
			     *two = created(both), *cluster = created(PLAIN),
			     *after = updated(cluster, both), *restarts = created(recreate),
			     *kept = NULL;

	(void)state;
	expect(one, "spec.headGroupSpec.rayStartParams", HEAD_PARAMS);
	expect(worker(one, 0), "rayStartParams", "");
	expect(two, "spec.headGroupSpec.rayStartParams", "");
	assert_null(record_of(two));
	/* What an earlier version or an earlier annotation left there goes. */
	expect(after, "spec.headGroupSpec.rayStartParams", "{object-store-memory: \"2576351232\"}");
	expect(worker(after, 0), "rayStartParams", "{object-store-memory: \"1287651328\"}");
	/* Unless that would make KubeRay restart all pods. */
	kept = updated(restarts, recreate_both);
	expect(kept, "spec.headGroupSpec.rayStartParams", HEAD_PARAMS);
}

static void problems_that_need_a_person_are_reported(void **state)
{
	static const struct {
		const char *group, *want;
	} rows[] = {
		{ "template: {spec: {containers: [{}]}}", "group g: the Ray container has no memory limit" },
		{ "rayStartParams: {memory: \"4294967296\"}, template: {spec: {containers: [{resources: {limits: {memory: 4Gi}}}]}}",
		  "group g: memory 4.0 GiB (yours) + object store 75.0 MiB + headroom 409.6 MiB is 484.6 MiB over the container's limit of 4.0 GiB" },
		{ "rayStartParams: {object-store-memory: \"200000000\"}, template: {spec: {containers: [{volumeMounts: [{name: m, mountPath: "
		  "/dev/shm}], resources: {limits: {memory: 4Gi}}}], volumes: [{name: m, emptyDir: {sizeLimit: 100Mi}}]}}",
		  "does not fit your /dev/shm of 100.0 MiB" },
	};
	static const char *const kinds[] = {
		CLUSTER("", HEAD ", workerGroupSpecs: [{groupName: g, replicas: 1, %s}]"),
		"{kind: RayJob, metadata: {}, spec: {rayClusterSpec: {" HEAD ", workerGroupSpecs: [{groupName: g, replicas: 1, %s}]}}}",
		"{kind: RayService, metadata: {}, spec: {rayClusterConfig: {" HEAD ", workerGroupSpecs: [{groupName: g, replicas: 1, %s}]}}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows) * ARRAY_SIZE(kinds); i++) {
		struct cluster_admission admission;
		char text[1024];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(text, sizeof(text), kinds[i / ARRAY_SIZE(rows)],
			 rows[i % ARRAY_SIZE(rows)].group);
#pragma GCC diagnostic pop
		admission = admit(NULL, text, MEMORY_MODE_APPLY);
		assert_int_equal(problems_in(&admission), 1);
		expect_warning(&admission, rows[i % ARRAY_SIZE(rows)].want);
		if (i >= ARRAY_SIZE(rows))
			assert_null(admission.object);
		cluster_admission_release(&admission);
		/* The next writer, such as KubeRay, does not get the warning again. */
		admission = admit(text, text, MEMORY_MODE_APPLY);
		assert_int_equal(cJSON_GetArraySize(admission.warnings), 0);
		cluster_admission_release(&admission);
	}
}

#define STRATEGY "upgradeStrategy: {type: Recreate}, "
#define APPLIED(operation, field) ", managedFields: [{manager: m, operation: " operation ", fieldsV1: {\"f:spec\": {\"" field "\": {}}}}]"

static void lists_are_left_to_those_who_compare_them(void **state)
{
	static const struct {
		const char *metadata, *spec, *user, *reason; /* reason NULL: lists may be changed */
	} rows[] = {
		{ ", annotations: {argocd.argoproj.io/tracking-id: \"a:ray.io/RayCluster:ns/c\"}", "", NULL, "Argo CD compares" },
		{ ", labels: {argocd.argoproj.io/instance: a}", "", NULL, "Argo CD compares" },
		{ ", labels: {app.kubernetes.io/instance: a}", "", "system:serviceaccount:argocd:argocd-application-controller", "Argo CD compares" },
		{ ", labels: {app.kubernetes.io/instance: a}", "", "system:serviceaccount:flux:helm-controller", NULL },
		{ ", labels: {app.kubernetes.io/instance: a}", "", NULL, NULL },
		{ APPLIED("Apply", "f:workerGroupSpecs"), "", NULL, "server-side apply owns" },
		{ APPLIED("Apply", "f:suspend"), "", NULL, NULL },
		{ APPLIED("Update", "f:workerGroupSpecs"), "", NULL, NULL },
		{ "", STRATEGY, NULL, "upgradeStrategy is Recreate" },
		{ "", "upgradeStrategy: {type: None}, ", NULL, NULL },
		/* KubeRay copies annotations. No other tool compares the objects that it made. */
		{ ", annotations: {argocd.argoproj.io/tracking-id: x}, labels: {ray.io/originated-from-crd: RayService}", "", NULL, NULL },
		{ ", annotations: {argocd.argoproj.io/tracking-id: x}, ownerReferences: [{apiVersion: ray.io/v1, kind: RayJob, controller: true}]",
		  "", NULL, NULL },
		{ ", annotations: {argocd.argoproj.io/tracking-id: x}, ownerReferences: [{apiVersion: apps/v1, kind: RayJob, controller: true}]",
		  "", NULL, "Argo CD" },
		{ ", annotations: {argocd.argoproj.io/tracking-id: x}, ownerReferences: [{apiVersion: ray.io/v1, kind: RayJob}]", "", NULL, "Argo CD" },
	};

	(void)state;
	policy.memory.usage_threshold = 0.8;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *object = NULL;
		struct cluster_admission admission;
		char text[1024];

		snprintf(text, sizeof(text),
			 CLUSTER("%s", "%s" HEAD ", workerGroupSpecs: [" WORKER "]"),
			 rows[i].metadata, rows[i].spec);
		object = json_of(text);
		admission = admit_json(NULL, object, MEMORY_MODE_APPLY, rows[i].user);
		expect(admission.object, "spec.headGroupSpec.rayStartParams", HEAD_PARAMS);
		if (rows[i].reason) {
			assert_json(json_get(admission.object, "spec.workerGroupSpecs"),
				    json_get(object, "spec.workerGroupSpecs"));
			assert_json(json_get(admission.object, "spec.headGroupSpec.template"),
				    json_get(object, "spec.headGroupSpec.template"));
			expect_warning(&admission, rows[i].reason);
			expect_warning(
				&admission,
				"so please set rayStartParams.memory \"2577399808\" (2.4 GiB)");
		} else {
			expect(worker(admission.object, 0), "rayStartParams", WORKER_PARAMS);
			assert_int_equal(problems_in(&admission), 0);
		}
		cluster_admission_release(&admission);
	}
	policy.memory.usage_threshold = 0;
}

#define TRACKED ", annotations: {argocd.argoproj.io/tracking-id: x}"

/*
 * Its first sync removes our values from the list. They do not come back, because it would find a
 * difference for ever.
 */
static void argo_cd_may_take_over_an_object(void **state)
{
	static const char tracked[] = CLUSTER(TRACKED, HEAD ", workerGroupSpecs: [" WORKER "]");
	_cleanup_json_ cJSON *cluster = created(PLAIN), *after = updated(cluster, tracked),
			     *record = record_of(after);

	(void)state;
	expect(after, "spec.headGroupSpec.rayStartParams", HEAD_PARAMS);
	expect(worker(after, 0), "rayStartParams", "");
	assert_null(json_get(record, "workers"));
}

/*
 * The manifest contains values and annotation. They stay as they are, whatever the policy says now.
 */
static void an_exported_manifest_stays_as_it_is_for_argo_cd(void **state)
{
	_cleanup_json_ cJSON *cluster = created(PLAIN);
	struct cluster_admission admission;

	(void)state;
	json_set_str(json_get(cluster, "metadata.annotations"), "argocd.argoproj.io/tracking-id",
		     "x");
	policy.memory.object_store_fraction = 0.1;
	admission = admit_json(NULL, cluster, MEMORY_MODE_APPLY, NULL);
	policy.memory.object_store_fraction = 0.3;
	assert_null(admission.object);
	cluster_admission_release(&admission);
}

/*
 * A step is a comparison of two texts, also within a look into an object, so the result does not
 * depend on the machine. The linker calls these functions (--wrap in the Makefile).
 */
static size_t steps;

cJSON *__real_cJSON_GetObjectItemCaseSensitive(const cJSON *object, const char *name);
cJSON *__wrap_cJSON_GetObjectItemCaseSensitive(const cJSON *object, const char *name);
cJSON *__wrap_cJSON_GetObjectItemCaseSensitive(const cJSON *object, const char *name)
{
	cJSON *found = __real_cJSON_GetObjectItemCaseSensitive(object, name);

	steps++;
	for (const cJSON *item = object ? object->child : NULL; item && item != found;
	     item = item->next)
		steps++;
	return found;
}

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b)
{
	steps++;
	return __real_strcmp(a, b);
}

static size_t steps_of_admissions(const cJSON *object)
{
	struct cluster_admission admission, again;

	steps = 0;
	admission = admit_json(NULL, object, MEMORY_MODE_APPLY, NULL);
	again = admit_json(admission.object, object, MEMORY_MODE_APPLY, NULL);
	cluster_admission_release(&admission);
	cluster_admission_release(&again);
	return steps;
}

static cJSON *cluster_of(int n)
{
	cJSON *object = json_of(PLAIN), *groups = json_get(object, "spec.workerGroupSpecs");

	for (int i = 1; i < n; i++) {
		cJSON *group = cJSON_Duplicate(groups->child, true);
		char name[32];

		snprintf(name, sizeof(name), "g%d", i);
		json_set_str(group, "groupName", name);
		cJSON_AddItemToArray(groups, group);
	}
	return object;
}

/* A value for which the annotation has no room is not set. */
static void of_many_groups_those_are_set_that_the_annotation_can_name(void **state)
{
	_cleanup_json_ cJSON *object = cluster_of(3000);
	struct cluster_admission admission = admit_json(NULL, object, MEMORY_MODE_APPLY, NULL),
				 again;
	_cleanup_json_ cJSON *record = record_of(admission.object);
	const cJSON *group;
	int n = 0;

	(void)state;
	assert_true(strlen(cJSON_GetStringValue(
			    json_get(admission.object, "metadata.annotations")->child)) <=
		    RECORD_MAX);
	cJSON_ArrayForEach(group, json_get(admission.object, "spec.workerGroupSpecs")) {
		bool named = cJSON_GetObjectItemCaseSensitive(json_get(record, "workers"),
							      json_str(group, "groupName"));

		assert_int_equal(named, json_get(group, "rayStartParams.memory") != NULL);
		n += named;
	}
	assert_true(n > 80);
	again = admit_json(admission.object, object, MEMORY_MODE_APPLY, NULL);
	assert_json(json_get(again.object, "spec.headGroupSpec"),
		    json_get(admission.object, "spec.headGroupSpec"));
	cluster_admission_release(&again);
	cluster_admission_release(&admission);
}

/*
 * The groups beyond those that the annotation can name; comparing each with each would take nine
 * times as many steps.
 */
static void three_times_as_many_groups_take_about_three_times_as_many_steps(void **state)
{
	_cleanup_json_ cJSON *thousand = cluster_of(1000), *three_thousand = cluster_of(3000);
	size_t small = steps_of_admissions(thousand), large = steps_of_admissions(three_thousand);

	(void)state;
	if (small < 1000 || large > 4 * small)
		fail_msg("%zu steps for 1000 groups, %zu for 3000", small, large);
}

/* To look each of the annotations up for each group would take a second. */
static void the_annotations_are_looked_at_once_and_not_for_each_group(void **state)
{
	_cleanup_json_ cJSON *cluster = cluster_of(1000),
			     *annotated = cJSON_Duplicate(cluster, true);
	cJSON *annotations = json_object_at(json_get(annotated, "metadata"), "annotations");
	size_t few = steps_of_admissions(cluster), n = 5000;
	char name[32];

	(void)state;
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "k%zu", i);
		cJSON_AddStringToObject(annotations, name, "v");
	}
	size_t many = steps_of_admissions(annotated);
	if (many > few + 100 * n)
		fail_msg("%zu steps without annotations, %zu with %zu", few, many, n);
}

static void groups_of_one_name_and_of_none(void **state)
{
	_cleanup_json_ cJSON *cluster = created(CLUSTER(
		"", HEAD
		", workerGroupSpecs: [" WORKER ", " WORKER ", {template: {spec: {containers: "
		"[{resources: {limits: {memory: 4Gi}}}]}}}, text, null, 7, {groupName: [], template: 3}]"));

	(void)state;
	expect(worker(cluster, 0), "rayStartParams", WORKER_PARAMS);
	expect(worker(cluster, 1), "rayStartParams", "");
	expect(worker(cluster, 2), "rayStartParams", "");
}

static void hostile_groups_are_left_alone(void **state)
{
	static const char *const groups[] = {
		"text", "7", "[]", "{template: text}", "{template: {spec: []}}", "{template: {spec: {containers: {a: {}}}}}",
		"{template: {spec: {containers: []}}}", "{template: {spec: {containers: [text]}}}",
		"{rayStartParams: [], template: {spec: {containers: [{resources: {limits: {memory: 4Gi}}}]}}}",
		"{rayStartParams: text, template: {spec: {containers: [{resources: {limits: {memory: 4Gi}}}]}}}",
		"{resources: [CPU], template: {spec: {containers: [{resources: {limits: {memory: 4Gi}}}]}}}",
		"{template: {spec: {containers: [{resources: []}]}}}",
		"{template: {spec: {containers: [{resources: {limits: [1]}}]}}}",
		"{template: {spec: {containers: [{env: {a: b}, resources: {limits: {memory: 4Gi}}}]}}}",
		"{template: {spec: {containers: [{resources: {limits: {memory: {}}}}]}}}",
		"{template: {spec: {containers: [{resources: {limits: {memory: -5}}}]}}}",
		"{template: {spec: {containers: [{resources: {limits: {memory: 1e300}}}]}}}",
		"{template: {spec: {containers: [{resources: {limits: {memory: 99999999999999999999Gi}}}]}}}",
		"{template: {spec: {containers: [{resources: {requests: {memory: nonsense}}}]}}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		_cleanup_json_ cJSON *before = NULL, *after = NULL, *plain = created(PLAIN),
				     *hit = NULL;
		char text[512];

		snprintf(text, sizeof(text),
			 CLUSTER("", "headGroupSpec: %s, workerGroupSpecs: [" WORKER "]"),
			 groups[i]);
		before = json_of(text);
		after = created(text);
		assert_json(json_get(after, "spec.headGroupSpec"),
			    json_get(before, "spec.headGroupSpec"));
		hit = updated(plain, text);
		assert_json(json_get(hit, "spec.headGroupSpec"),
			    json_get(before, "spec.headGroupSpec"));
		cJSON_Delete(hit);
		snprintf(text, sizeof(text), CLUSTER("", "headGroupSpec: {}, workerGroupSpecs: %s"),
			 groups[i]);
		hit = updated(plain, text);
	}
}

static void warnings_are_bounded_and_printable(void **state)
{
	_cleanup_json_ cJSON *object = cluster_of(40);
	cJSON *group;
	struct cluster_admission admission;
	const cJSON *item;
	int i = 0;

	(void)state;
	cJSON_ArrayForEach(group, json_get(object, "spec.workerGroupSpecs")) {
		char name[72];

		snprintf(name, sizeof(name), "\n\033[31m%02d %.*s", i++, 50,
			 "ääääääääääääääääääääääääääääääääääääää");
		json_set_str(group, "groupName", name);
	}
	admission = admit_json(NULL, object, MEMORY_MODE_WARN, NULL);
	assert_int_equal(cJSON_GetArraySize(admission.warnings), WARNINGS_MAX);
	cJSON_ArrayForEach(item, admission.warnings) {
		assert_true(strlen(item->valuestring) <= WARNING_TEXT_MAX);
		assert_null(strchr(item->valuestring, '\n'));
		assert_null(strchr(item->valuestring, '\033'));
	}
	cluster_admission_release(&admission);
}

static void a_warning_is_cut_between_characters(void **state)
{
	_cleanup_json_ cJSON *warnings = cJSON_CreateArray();
	char text[400], name[WARNING_NAME_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(text) - 2; i += 2)
		memcpy(text + i, "ä", 3);
	warnings_addf(warnings, "a%s", text);
	assert_int_equal(strlen(warnings->child->valuestring), 255);
	assert_int_equal(strlen(warning_name(text, name)), 62);
}

/* testdata of operator/raycluster has clusters as people write them for KubeRay. */
static void kuberays_clusters_keep_what_they_say(void **state)
{
	static const char *const files[] = { "kuberay/autoscaler.yaml", "kuberay/commands.yaml",
					     "kuberay/complete.yaml", "kuberay/groups.yaml",
					     "kuberay/redis.yaml" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_json_ cJSON *doc = fixture(files[i]);
		cJSON *cluster = json_get(doc, "cluster");
		struct cluster_admission admission =
						 admit_json(NULL, cluster, MEMORY_MODE_APPLY, NULL),
					 again;
		const cJSON *group;

		again = admit_json(admission.object, cluster, MEMORY_MODE_APPLY, NULL);
		assert_int_equal(admission.object != NULL, again.object != NULL);
		if (again.object)
			assert_json(again.object, admission.object);
		cJSON_ArrayForEach(group, json_get(admission.object, "spec.workerGroupSpecs"))
			assert_false(kuberay_refuses(group));
		assert_false(kuberay_refuses(json_get(admission.object, "spec.headGroupSpec")));
		cluster_admission_release(&admission);
		cluster_admission_release(&again);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create_sets_what_the_user_left_out_and_says_so),
		cmocka_unit_test(an_old_object_that_is_null_is_none),
		cmocka_unit_test(a_second_pass_changes_nothing),
		cmocka_unit_test(a_second_pass_over_an_update_changes_nothing),
		cmocka_unit_test(a_second_pass_follows_the_limit),
		cmocka_unit_test(the_users_values_win),
		cmocka_unit_test(a_head_that_must_run_tasks_keeps_its_cpus),
		cmocka_unit_test(a_group_with_resources_gets_its_memory_there),
		cmocka_unit_test(what_kuberay_accepts_it_accepts_with_us),
		cmocka_unit_test(a_worker_without_a_limit_gets_the_policys),
		cmocka_unit_test(the_monitors_environment_is_set_if_the_policy_asks),
		cmocka_unit_test(an_update_that_replaces_the_spec_gets_the_values_back),
		cmocka_unit_test(an_update_adds_nothing_to_a_running_cluster),
		cmocka_unit_test(a_group_that_an_update_adds_is_new),
		cmocka_unit_test(another_limit_makes_the_groups_values_anew),
		cmocka_unit_test(a_value_that_the_user_sets_now_wins_and_leaves_the_annotation),
		cmocka_unit_test(the_annotation_alone_is_put_back),
		cmocka_unit_test(a_group_that_goes_leaves_the_annotation),
		cmocka_unit_test(the_autoscalers_patch_meets_its_group),
		cmocka_unit_test(a_forged_annotation_brings_nothing_in),
		cmocka_unit_test(on_create_the_annotation_is_what_was_set),
		cmocka_unit_test(objects_that_are_left_alone),
		cmocka_unit_test(warn_changes_nothing_and_says_the_numbers),
		cmocka_unit_test(by_default_only_the_heads_cpus_are_set_and_the_numbers_said),
		cmocka_unit_test(a_limit_that_the_policy_names_is_set_without_budgets),
		cmocka_unit_test(an_annotation_overrides_the_policy),
		cmocka_unit_test(what_was_set_stays_whatever_the_mode_is_now),
		cmocka_unit_test(what_the_author_says_in_another_way_wins),
		cmocka_unit_test(what_an_update_says_in_another_way_wins_too),
		cmocka_unit_test(a_group_that_ray_resizes_is_left_alone),
		cmocka_unit_test(problems_that_need_a_person_are_reported),
		cmocka_unit_test(lists_are_left_to_those_who_compare_them),
		cmocka_unit_test(argo_cd_may_take_over_an_object),
		cmocka_unit_test(an_exported_manifest_stays_as_it_is_for_argo_cd),
		cmocka_unit_test(of_many_groups_those_are_set_that_the_annotation_can_name),
		cmocka_unit_test(three_times_as_many_groups_take_about_three_times_as_many_steps),
		cmocka_unit_test(the_annotations_are_looked_at_once_and_not_for_each_group),
		cmocka_unit_test(groups_of_one_name_and_of_none),
		cmocka_unit_test(hostile_groups_are_left_alone),
		cmocka_unit_test(warnings_are_bounded_and_printable),
		cmocka_unit_test(a_warning_is_cut_between_characters),
		cmocka_unit_test(kuberays_clusters_keep_what_they_say),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
