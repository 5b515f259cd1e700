/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of whole pods, compared with the fixtures, and of the single rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "operator/podspec/notes.h"
#include "operator/raycluster/pod_template.h"
#include "operator/raycluster/status.h"
#include "operator/raycluster/testing.h"

struct world {
	cJSON *cluster, *notes, *pod;
	struct policy policy;
	struct pod_request req;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct err err = { 0 };

	w->cluster = fixture("cluster.yaml");
	w->notes = cJSON_CreateArray();
	if (policy_load(TESTDATA "policy.yaml", &w->policy, &err) < 0)
		fail_msg("%s", err.text);
	w->req = (struct pod_request){
		.cluster = w->cluster, .policy = &w->policy, .launchers = testing_launchers()
	};
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	cJSON_Delete(w->cluster);
	cJSON_Delete(w->notes);
	cJSON_Delete(w->pod);
	policy_release(&w->policy);
	free(w);
	return 0;
}

static cJSON *group_of(struct world *w, enum ray_node node)
{
	if (node == RAY_HEAD)
		return json_get(w->cluster, "spec.headGroupSpec");
	return cJSON_GetArrayItem(json_get(w->cluster, "spec.workerGroupSpecs"), 0);
}

static cJSON *build(struct world *w, enum ray_node node)
{
	struct err err = { 0 };

	cJSON_Delete(TAKE_PTR(w->pod));
	w->req.node = node;
	w->req.group = group_of(w, node);
	if (pod_build(&w->req, &w->pod, w->notes, &err) < 0)
		fail_msg("%s", err.text);
	return w->pod;
}

static cJSON *ray(struct world *w)
{
	return cJSON_GetArrayItem(json_get(w->pod, "spec.containers"), 0);
}

/* Returns the script in front of the command: the word before its $0. */
static const char *script(struct world *w)
{
	const cJSON *command = json_get(ray(w), "command");

	return cJSON_GetStringValue(cJSON_GetArrayItem(command, cJSON_GetArraySize(command) - 2));
}

/* Returns the line that bash will run. */
static const char *start_line(struct world *w)
{
	const cJSON *args = json_get(ray(w), "args");

	return cJSON_GetStringValue(cJSON_GetArrayItem(args, cJSON_GetArraySize(args) - 1));
}

static void has(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("\"%s\" does not hold \"%s\"", text ? text : "nothing", part);
}

static void has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" holds \"%s\"", text, part);
}

/*
 * Compares the pod with a fixture, without the hash of the spec, which is tested in upgrade_test.c.
 */
static void matches(cJSON *pod, const char *name)
{
	_cleanup_json_ cJSON *want = fixture(name);
	cJSON *annotations = json_get(pod, "metadata.annotations");
	const char *hash = cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(annotations, "afterglow.dev/recreate-hash"));

	assert_int_equal(hash ? strlen(hash) : 0, 43);
	cJSON_DeleteItemFromObjectCaseSensitive(annotations, "afterglow.dev/recreate-hash");
	/* For KubeRay, in case it takes over again. */
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(
				    annotations, "ray.io/kuberay-version")),
			    "afterglow");
	cJSON_DeleteItemFromObjectCaseSensitive(annotations, "ray.io/kuberay-version");
	assert_json(pod, want);
}

static void the_head_is_as_in_the_fixture(void **state)
{
	struct world *w = *state;

	matches(build(w, RAY_HEAD), "head_pod.yaml");
	assert_int_equal(cJSON_GetArraySize(w->notes), 0);
}

static void a_worker_is_as_in_the_fixture(void **state)
{
	struct world *w = *state;

	matches(build(w, RAY_WORKER), "worker_pod.yaml");
	assert_int_equal(cJSON_GetArraySize(w->notes), 0);
}

static void the_template_in_the_cluster_is_not_touched(void **state)
{
	struct world *w = *state;
	_cleanup_json_ cJSON *before = fixture("cluster.yaml");

	build(w, RAY_HEAD);
	build(w, RAY_WORKER);
	assert_json(w->cluster, before);
}

static void the_users_values_win(void **state)
{
	struct world *w = *state;

	json_set_str(json_get(group_of(w, RAY_HEAD), "rayStartParams"), "num-cpus", "1");
	json_set_str(json_get(group_of(w, RAY_HEAD), "rayStartParams"), "memory", "1000000000");
	json_set_str(json_get(group_of(w, RAY_HEAD), "rayStartParams"), "port", "6380");
	build(w, RAY_HEAD);
	has(start_line(w), " --num-cpus=1 ");
	has(start_line(w), " --memory=1000000000 ");
	build(w, RAY_WORKER);
	has(start_line(w), ":6380 ");
	has(script(w),
	    "--wait-tcp \"$FQ_RAY_IP:6380\"");
}

static void an_amount_beyond_all_numbers_is_the_largest(void **state)
{
	struct world *w = *state;

	json_set(group_of(w, RAY_HEAD), "resources", json_of("{CPU: 1e30}"));
	build(w, RAY_HEAD);
	has(start_line(w), " --num-cpus=9223372036854775807 ");
}

static void group_resources_are_logical_resources(void **state)
{
	struct world *w = *state;

	json_set(group_of(w, RAY_HEAD), "resources",
		 json_of("{CPU: \"4\", GPU: 2, memory: 1Gi, Custom: \"3\"}"));
	build(w, RAY_HEAD);
	has(start_line(w), " --num-cpus=4 ");
	has(start_line(w), " --num-gpus=2 ");
	has(start_line(w), " --memory=1073741824 ");
	has(start_line(w), " --resources='{\"Custom\":3}' ");
}

static void a_head_without_workers_keeps_its_cpus(void **state)
{
	struct world *w = *state;

	cJSON_DeleteItemFromObject(json_get(w->cluster, "spec"), "workerGroupSpecs");
	build(w, RAY_HEAD);
	has(start_line(w), " --num-cpus=2 ");
}

static void one_kind_of_accelerators_gets_rays_name(void **state)
{
	struct world *w = *state;
	cJSON *resources =
		json_get(cJSON_GetArrayItem(
				 json_get(group_of(w, RAY_WORKER), "template.spec.containers"), 0),
			 "resources");

	json_set(
		resources, "limits",
		json_of("{google.com/tpu: 4, aws.amazon.com/neuroncore: \"2\", nvidia.com/mig-1g.5gb: 3}"));
	build(w, RAY_WORKER);
	has(start_line(w), " --resources='{\"neuron_cores\":2}' ");
	has(start_line(w), " --num-gpus=3 ");
	json_set_str(json_get(group_of(w, RAY_WORKER), "rayStartParams"), "resources",
		     "'\"{\\\"TPU\\\": 1}\"'");
	build(w, RAY_WORKER);
	has(start_line(w), " --resources='\"{\\\"TPU\\\": 1}\"' ");
	json_set_str(json_get(group_of(w, RAY_WORKER), "rayStartParams"), "resources",
		     "'\"{\\\"slice\\\": 1}\"'");
	build(w, RAY_WORKER);
	has(start_line(w), " --resources='{\"neuron_cores\":2,\"slice\":1}' ");
	/* This is no JSON, but KubeRay accepts it. */
	json_set_str(json_get(group_of(w, RAY_WORKER), "rayStartParams"), "resources",
		     "\"{\"slice\": 1}\"");
	build(w, RAY_WORKER);
	has(start_line(w), " --resources='{\"neuron_cores\":2,\"slice\":1}' ");
	json_set_str(json_get(group_of(w, RAY_WORKER), "rayStartParams"), "resources", "{");
	build(w, RAY_WORKER);
	has(start_line(w), " --resources={ ");
}

static void a_login_shell_is_asked_for(void **state)
{
	struct world *w = *state;

	w->policy.login_shell = true;
	build(w, RAY_HEAD);
	/* The other shell starts the launcher. */
	const char *option = cJSON_GetStringValue(cJSON_GetArrayItem(json_get(ray(w), "args"), 1));
	assert_string_equal(option, "-cl");
}

static void a_command_that_starts_ray_is_left_alone(void **state)
{
	struct world *w = *state;
	cJSON *container = cJSON_GetArrayItem(
		json_get(group_of(w, RAY_WORKER), "template.spec.containers"), 0);

	json_set(container, "args", json_of("[\"&& ray start --address=x\"]"));
	build(w, RAY_WORKER);
	assert_string_equal(start_line(w), "&& ray start --address=x");
	json_set(container, "args", json_of("[\"world\"]"));
	json_set(json_object_at(
			 json_object_at(json_get(group_of(w, RAY_WORKER), "template"), "metadata"),
			 "annotations"),
		 "ray.io/overwrite-container-cmd", cJSON_CreateString("true"));
	build(w, RAY_WORKER);
	assert_string_equal(start_line(w), "world");
	assert_int_equal(cJSON_GetArraySize(json_get(ray(w), "args")), 3);
}

static void without_a_command_there_is_no_sidecar(void **state)
{
	struct world *w = *state;
	cJSON *container = cJSON_GetArrayItem(
		json_get(group_of(w, RAY_WORKER), "template.spec.containers"), 0);

	cJSON_DeleteItemFromObject(container, "command");
	json_set(json_object_at(
			 json_object_at(json_get(group_of(w, RAY_WORKER), "template"), "metadata"),
			 "annotations"),
		 "ray.io/overwrite-container-cmd", cJSON_CreateString("true"));
	build(w, RAY_WORKER);
	assert_null(json_find(json_get(w->pod, "spec.containers"), "name", "afterglow"));
	assert_string_equal(notes_reason(w->notes, NOTE_RECORDING), "NoCommand");
}

static void newer_ray_is_probed_over_http(void **state)
{
	struct world *w = *state;

	json_set_str(json_get(w->cluster, "spec"), "rayVersion", "2.53.0");
	build(w, RAY_HEAD);
	assert_string_equal(json_str(ray(w), "livenessProbe.httpGet.path"), "/api/healthz");
	assert_int_equal(json_int(ray(w), "readinessProbe.httpGet.port", 0), 52365);
	assert_null(json_get(ray(w), "livenessProbe.exec"));
}

static void the_users_probe_stays(void **state)
{
	struct world *w = *state;
	cJSON *container =
		cJSON_GetArrayItem(json_get(group_of(w, RAY_HEAD), "template.spec.containers"), 0);

	json_set(container, "livenessProbe", json_of("{tcpSocket: {port: 1}}"));
	build(w, RAY_HEAD);
	assert_int_equal(json_int(ray(w), "livenessProbe.tcpSocket.port", 0), 1);
	assert_non_null(json_get(ray(w), "readinessProbe.exec"));
}

static void plasma_elsewhere_means_no_shm(void **state)
{
	struct world *w = *state;

	json_set_str(json_get(group_of(w, RAY_HEAD), "rayStartParams"), "plasma-directory", "/tmp");
	build(w, RAY_HEAD);
	assert_null(json_find(json_get(w->pod, "spec.volumes"), "name", "shared-mem"));
	has_not(start_line(w), "object-store-memory");
}

static void the_sidecar_can_be_switched_off(void **state)
{
	struct world *w = *state;

	json_set_str(json_get(w->cluster, "metadata.annotations"), "afterglow.dev/inject", "false");
	build(w, RAY_WORKER);
	assert_null(json_find(json_get(w->pod, "spec.containers"), "name", "afterglow"));
	assert_null(json_find(json_get(w->pod, "spec.volumes"), "name", "afterglow-bin"));
	assert_null(strstr(script(w), "afterglow"));
	assert_int_equal(cJSON_GetArraySize(w->notes), 0);
}

/*
 * A worker that starts before its head ends after some time, and so does its pod, with or without a
 * sidecar.
 */
static void a_worker_without_a_sidecar_waits_for_the_heads_gcs(void **state)
{
	struct world *w = *state;

	json_set_str(json_get(w->cluster, "metadata.annotations"), "afterglow.dev/inject", "false");
	build(w, RAY_WORKER);
	has(script(w), "/dev/tcp/$FQ_RAY_IP/6379");
	build(w, RAY_HEAD);
	assert_int_equal(cJSON_GetArraySize(json_get(ray(w), "args")), 1);
	has_not(start_line(w), "/dev/tcp");
	json_set_str(json_get(w->cluster, "metadata.annotations"), "afterglow.dev/inject", "true");
	w->policy.recording.enabled = false;
	build(w, RAY_WORKER);
	assert_null(json_find(json_get(w->pod, "spec.containers"), "name", "afterglow"));
	has(script(w), "/dev/tcp/$FQ_RAY_IP/6379");
}

static void a_missing_claim_leaves_the_store_out_and_says_so(void **state)
{
	struct world *w = *state;

	w->req.store_claim_trouble = "does not exist";
	build(w, RAY_HEAD);
	assert_null(json_find(json_get(w->pod, "spec.volumes"), "name", "afterglow-store"));
	assert_string_equal(notes_reason(w->notes, NOTE_RECORDING), "StoreClaimMissing");
}

static void the_limits_of_recording_in_the_nodes_network_are_reported(void **state)
{
	struct world *w = *state;

	json_set(json_get(group_of(w, RAY_WORKER), "template.spec"), "hostNetwork",
		 cJSON_CreateTrue());
	build(w, RAY_WORKER);
	assert_non_null(json_find(json_get(w->pod, "spec.containers"), "name", "afterglow"));
	assert_string_equal(notes_reason(w->notes, NOTE_RECORDING), "NodeNetwork");
}

static void a_pod_whose_container_could_trace_the_sidecar_gets_no_credentials(void **state)
{
	static const struct {
		const char *pod, *container;
		bool withheld;
	} rows[] = {
		{ "{}", "{privileged: true}", false },
		{ "{shareProcessNamespace: true}", "{}", false },
		{ "{shareProcessNamespace: true}",
		  "{capabilities: {add: [NET_ADMIN, BPF]}, runAsUser: 65532}", false },
		{ "{shareProcessNamespace: true}", "{privileged: true}", true },
		{ "{shareProcessNamespace: true}", "{capabilities: {add: [SYS_PTRACE]}}", true },
		{ "{shareProcessNamespace: true}",
		  "{capabilities: {add: [NET_ADMIN, CAP_SYS_PTRACE]}}", true },
		{ "{hostPID: true}", "{capabilities: {add: [ALL]}}", true },
		{ "{shareProcessNamespace: true}", "{capabilities: {add: [PERFMON]}}", true },
		{ "{shareProcessNamespace: true}", "{capabilities: {add: [CAP_SYS_MODULE]}}",
		  true },
		{ "{hostPID: true}", "{capabilities: {add: [1, null]}}", false },
	};
	struct world *w = *state;

	policy_set_string(&w->policy.store.url, "s3://b", NULL);
	policy_set_string(&w->policy.store.credentials_secret, "keys", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *pod = json_of(rows[i].pod);
		cJSON *spec = json_get(group_of(w, RAY_WORKER), "template.spec");
		bool has_them;

		json_set(spec, "shareProcessNamespace",
			 cJSON_Duplicate(json_get(pod, "shareProcessNamespace"), true));
		json_set(spec, "hostPID", cJSON_Duplicate(json_get(pod, "hostPID"), true));
		json_set(cJSON_GetArrayItem(json_get(spec, "containers"), 0), "securityContext",
			 json_of(rows[i].container));
		cJSON_Delete(w->notes);
		w->notes = cJSON_CreateArray();
		build(w, RAY_WORKER);
		has_them = json_find(json_get(w->pod, "spec.volumes"), "name",
				     "afterglow-credentials");
		assert_int_equal(has_them, !rows[i].withheld);
		assert_non_null(
			json_find(json_get(w->pod, "spec.containers"), "name", "afterglow"));
		assert_int_equal(notes_have(w->notes, NOTE_RECORDING), rows[i].withheld);
		if (rows[i].withheld)
			assert_string_equal(notes_reason(w->notes, NOTE_RECORDING),
					    "CredentialsWithheld");
	}
}

static void without_launcher_or_image_ray_runs_bare(void **state)
{
	struct world *w = *state;

	w->req.launchers = NULL;
	build(w, RAY_HEAD);
	assert_int_equal(cJSON_GetArraySize(json_get(w->pod, "spec.containers")), 1);
	assert_string_equal(notes_reason(w->notes, NOTE_RECORDING), "NoSidecar");
}

static void whose_policy_it_is_stands_on_the_pod_and_a_template_cannot_say_so(void **state)
{
	struct world *w = *state;
	cJSON *template = json_get(group_of(w, RAY_WORKER), "template");
	const cJSON *annotations;

	json_set_str(json_object_at(json_object_at(template, "metadata"), "annotations"),
		     POLICY_ANNOTATION, "RayPolicy/forged");
	annotations = json_get(build(w, RAY_WORKER), "metadata.annotations");
	assert_false(cJSON_HasObjectItem(annotations, POLICY_ANNOTATION));
	w->req.policy_origin = "RayPolicy/team-a generation 3 (memory)";
	annotations = json_get(build(w, RAY_WORKER), "metadata.annotations");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(
				    annotations, POLICY_ANNOTATION)),
			    "RayPolicy/team-a generation 3 (memory)");
}

static void without_recording_there_is_neither_sidecar_nor_a_word_of_it(void **state)
{
	struct world *w = *state;

	w->policy.recording.enabled = false;
	build(w, RAY_WORKER);
	assert_null(json_find(json_get(w->pod, "spec.containers"), "name", "afterglow"));
	assert_false(notes_have(w->notes, NOTE_RECORDING));
}

/*
 * A step is a look at one member of an object, so the result does not depend on the machine. The
 * linker calls this (--wrap in the Makefile).
 */
static size_t steps;

cJSON *__real_cJSON_GetObjectItemCaseSensitive(const cJSON *object, const char *name);
cJSON *__wrap_cJSON_GetObjectItemCaseSensitive(const cJSON *object, const char *name);
cJSON *__wrap_cJSON_GetObjectItemCaseSensitive(const cJSON *object, const char *name)
{
	cJSON *found = __real_cJSON_GetObjectItemCaseSensitive(object, name);

	for (const cJSON *i = object ? object->child : NULL; i && i != found; i = i->next)
		steps++;
	return found;
}

static size_t steps_with_labels(struct world *w, int n)
{
	cJSON *group = group_of(w, RAY_WORKER);
	cJSON *metadata = json_object_at(json_get(group, "template"), "metadata");
	cJSON *all[] = { json_object_at(metadata, "labels"), json_object_at(group, "labels") };
	char name[32];

	for (int i = 0; i < 2 * n; i++) {
		snprintf(name, sizeof(name), "l%d", i / 2);
		cJSON_AddStringToObject(all[i % 2], name, i % 2 ? "group" : "template");
	}
	steps = 0;
	build(w, RAY_WORKER);
	return steps;
}

static void a_thousand_labels_are_not_each_looked_up(void **state)
{
	struct world *w = *state;
	size_t few = steps_with_labels(w, 0), many = steps_with_labels(w, 1000);

	assert_string_equal(json_str(w->pod, "metadata.labels.l0"), "group");
	assert_string_equal(json_str(w->pod, "metadata.labels.l999"), "group");
	if (many > few + 30 * 1000)
		fail_msg("%zu steps without labels, %zu with 1000", few, many);
}

static size_t steps_with(struct world *w, const char *field, int n)
{
	cJSON *object = json_object_at(group_of(w, RAY_WORKER), field);
	char name[32];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		cJSON_AddStringToObject(object, name, "1");
	}
	steps = 0;
	build(w, RAY_WORKER);
	return steps;
}

static void a_thousand_parameters_or_resources_are_not_each_looked_up(void **state)
{
	static const char *const fields[] = { "rayStartParams", "resources" };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		size_t few = steps_with(w, fields[i], 0), many = steps_with(w, fields[i], 1000);

		if (many > few + 30 * 1000)
			fail_msg("%s: %zu steps with none, %zu with 1000", fields[i], few, many);
	}
	const cJSON *env = json_get(json_first(json_get(w->pod, "spec.containers")), "env");
	const char *start = json_str(json_find(env, "name", "KUBERAY_GEN_RAY_START_CMD"), "value");
	assert_non_null(strstr(start, " --l999=1 "));
	assert_non_null(strstr(start, "\"l999\":1}"));
}

static void kinds_of_gpus_are_counted_and_not_each_looked_up(void **state)
{
	struct world *w = *state;
	cJSON *containers = json_get(group_of(w, RAY_WORKER), "template.spec.containers");
	cJSON *limits = json_object_at(json_object_at(containers->child, "resources"), "limits");
	struct status_view view = { 0 };
	char name[32];

	for (int i = 0; i < 900; i++) {
		snprintf(name, sizeof(name), "%d.example.com/gpu", i);
		cJSON_AddStringToObject(limits, name, "2");
	}
	steps = 0;
	status_add_resources(&view, json_get(group_of(w, RAY_WORKER), "template"), 1);
	assert_int_equal(view.gpus, 1801);
	assert_in_range(steps, 1, 10 * 900);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_head_is_as_in_the_fixture),
		TEST(a_worker_is_as_in_the_fixture),
		TEST(the_template_in_the_cluster_is_not_touched),
		TEST(the_users_values_win),
		TEST(an_amount_beyond_all_numbers_is_the_largest),
		TEST(group_resources_are_logical_resources),
		TEST(a_head_without_workers_keeps_its_cpus),
		TEST(one_kind_of_accelerators_gets_rays_name),
		TEST(a_login_shell_is_asked_for),
		TEST(a_command_that_starts_ray_is_left_alone),
		TEST(without_a_command_there_is_no_sidecar),
		TEST(newer_ray_is_probed_over_http),
		TEST(the_users_probe_stays),
		TEST(plasma_elsewhere_means_no_shm),
		TEST(the_sidecar_can_be_switched_off),
		TEST(a_worker_without_a_sidecar_waits_for_the_heads_gcs),
		TEST(a_missing_claim_leaves_the_store_out_and_says_so),
		TEST(the_limits_of_recording_in_the_nodes_network_are_reported),
		TEST(a_pod_whose_container_could_trace_the_sidecar_gets_no_credentials),
		TEST(without_launcher_or_image_ray_runs_bare),
		TEST(whose_policy_it_is_stands_on_the_pod_and_a_template_cannot_say_so),
		TEST(without_recording_there_is_neither_sidecar_nor_a_word_of_it),
		TEST(a_thousand_labels_are_not_each_looked_up),
		TEST(kinds_of_gpus_are_counted_and_not_each_looked_up),
		TEST(a_thousand_parameters_or_resources_are_not_each_looked_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
