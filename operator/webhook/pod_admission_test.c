/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what the webhook does with a Ray pod, as KubeRay creates it and as others might. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "operator/injection/report_key.h"
#include "operator/podspec/pod_spec.h"
#include "operator/raycluster/testing.h"
#include "operator/webhook/json_patch.h"
#include "operator/webhook/pod_admission.h"

static const struct launchers launchers = {
	.of = { { .machine = "x86_64", .file = "afterglow-launch", .sha256 = "00", .key = "launch-x86_64-00" } },
	.n = 1,
};
static struct policy policy = { .recording.enabled = true,
				.sidecar_image = (char *)"img",
				.store.claim = (char *)"failures",
				.recording.warn_at = 0.8 };

/* A worker as KubeRay 1.6 sends it, shortened. */
#define LABELS "labels: {ray.io/is-ray-node: 'yes', ray.io/cluster: demo, ray.io/group: small, ray.io/node-type: worker}"
#define RAY "{name: ray-worker, image: i, command: [/bin/bash, -c, --], args: ['ulimit -n 65536; ray start --block '], " \
	    "volumeMounts: [{name: shared-mem, mountPath: /dev/shm}]}"
#define WORKER(metadata, containers, rest) \
	"metadata: {generateName: demo-small-worker-, " LABELS metadata "}\n" \
	"spec:\n  containers: [" containers "]\n  volumes: [{name: shared-mem, emptyDir: {medium: Memory}}]\n" rest

static cJSON *admitted(const char *yaml, struct pod_admission *in, const char **ret_reason)
{
	_cleanup_json_ cJSON *pod = json_of(yaml);
	struct err err = { 0 };
	cJSON *changed;

	in->namespace = "ml";
	in->launchers = &launchers;
	if (!in->policy)
		in->policy = &policy;
	if (pod_admit(pod, in, &changed, ret_reason, &err) < 0)
		fail_msg("%s", err.text);
	return changed;
}

static const char *annotation(const cJSON *pod, const char *name)
{
	return cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(json_get(pod, "metadata.annotations"), name));
}

static void a_pod_of_kuberay_gets_launcher_and_sidecar_and_keeps_its_first_container(void **state)
{
	struct pod_admission in = { .policy_origin = "RayPolicy/a generation 3",
				    .report_key = "00112233445566778899aabbccddeeff" };
	const char *reason;
	_cleanup_json_ cJSON *pod =
		admitted(WORKER("", RAY ", {name: mine, image: i}", ""), &in, &reason);
	const cJSON *containers = json_get(pod, "spec.containers"), *ray = containers->child;

	(void)state;
	assert_string_equal(reason, "");
	assert_int_equal(cJSON_GetArraySize(containers), 3);
	assert_string_equal(json_str(ray, "name"), "ray-worker");
	assert_string_equal(json_str(cJSON_GetArrayItem(containers, 2), "name"), "afterglow");
	assert_string_equal(cJSON_GetArrayItem(json_get(ray, "args"), 3)->valuestring,
			    "ulimit -n 65536; ray start --block ");
	assert_string_equal(annotation(pod, SIDECAR_ANNOTATION), "added");
	assert_string_equal(annotation(pod, REPORT_KEY_ANNOTATION),
			    "00112233445566778899aabbccddeeff");
	assert_string_equal(annotation(pod, "afterglow.dev/policy"), "RayPolicy/a generation 3");
	assert_null(annotation(pod, SIDECAR_NOTES_ANNOTATION));
}

/*
 * With the annotations a process of the container would have the key, and could sign what it likes.
 */
static void a_pod_whose_ray_container_gets_its_annotations_has_no_key(void **state)
{
	static const struct {
		const char *ray, *volume;
		bool has_key;
	} rows[] = {
		{ "env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.annotations['afterglow.dev/report-key']\"}}}]", "", false },
		{ "env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.annotations['team']\"}}}]", "", true },
		{ "volumeMounts: [{name: v, mountPath: /v}]", "downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.annotations}}]}", false },
		{ "volumeMounts: [{name: v, mountPath: /v}]", "downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.labels}}]}", true },
		{ "volumeMounts: [{name: v, mountPath: /v}]",
		  "projected: {sources: [{secret: {name: s}}, {downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.annotations}}]}}]}", false },
		/* Istio's own container gets them. */
		{ "env: []", "downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.annotations}}]}", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_admission in = { .report_key = "00112233445566778899aabbccddeeff" };
		char text[2048];
		const char *reason;
		_cleanup_json_ cJSON *pod = NULL;

		snprintf(
			text, sizeof(text),
			"metadata: {generateName: w-, " LABELS
			", annotations: {afterglow.dev/report-key: mine}}\n"
			"spec: {containers: [{name: ray-worker, image: i, command: [/bin/bash, -c, --], args: [ray start], %s}], "
			"volumes: [{name: v, %s}]}\n",
			rows[i].ray, rows[i].volume[0] ? rows[i].volume : "emptyDir: {}");
		pod = admitted(text, &in, &reason);
		assert_string_equal(annotation(pod, SIDECAR_ANNOTATION), "added");
		assert_string_equal(annotation(pod, REPORT_KEY_ANNOTATION),
				    rows[i].has_key ? in.report_key : "");
		assert_true(!annotation(pod, SIDECAR_NOTES_ANNOTATION) == rows[i].has_key);
	}
}

/* The key is in a variable of the sidecar, and in files of whatever gets the annotations. */
static void where_processes_are_shared_and_the_key_could_be_read_there_is_none(void **state)
{
	static const struct {
		const char *pod, *security, *mounts;
		bool has_key;
	} rows[] = {
		{ "shareProcessNamespace: true", "{}", "[]", true },
		{ "shareProcessNamespace: true", "{capabilities: {add: [SYS_PTRACE]}}", "[]",
		  false },
		{ "hostPID: true", "{privileged: true}", "[]", false },
		{ "hostPID: false", "{privileged: true}", "[]", true },
		{ "shareProcessNamespace: true", "{}", "[{name: v, mountPath: /v}]", false },
		{ "shareProcessNamespace: false", "{}", "[{name: v, mountPath: /v}]", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_admission in = { .report_key = "00112233445566778899aabbccddeeff" };
		char text[2048];
		const char *reason, *key;
		_cleanup_json_ cJSON *pod = NULL;

		snprintf(
			text, sizeof(text),
			"metadata: {generateName: w-, " LABELS "}\n"
			"spec: {%s, containers: [{name: ray-worker, image: i, command: [/bin/bash, -c, --], args: [ray start]}, "
			"{name: other, image: i, securityContext: %s, volumeMounts: %s}], "
			"volumes: [{name: v, downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.annotations}}]}}]}\n",
			rows[i].pod, rows[i].security, rows[i].mounts);
		pod = admitted(text, &in, &reason);
		key = annotation(pod, REPORT_KEY_ANNOTATION);
		assert_string_equal(annotation(pod, SIDECAR_ANNOTATION), "added");
		assert_int_equal(key && *key, rows[i].has_key);
		assert_true(!annotation(pod, SIDECAR_NOTES_ANNOTATION) == rows[i].has_key);
	}
}

#define PROXY "{name: mesh-proxy, image: i, command: [proxy, sidecar], args: [--to, '6379']}"

/*
 * Istio with holdApplicationUntilProxyStarts and Linkerd with await put their container in front of
 * all others.
 */
static void rays_container_is_found_behind_the_proxy_of_a_mesh(void **state)
{
	static const struct {
		const char *metadata, *containers, *ray;
	} rows[] = {
		{ "", PROXY ", " RAY, "ray-worker" },
		{ "", "{name: mesh-proxy, image: i}, " RAY, "ray-worker" },
		{ "", PROXY ", {name: ml, image: i, command: [/bin/bash, -c, --], args: [x], env: [{name: KUBERAY_GEN_RAY_START_CMD, value: ray start}]}", "ml" },
		{ "", PROXY ", {name: ml, image: i, command: [bash, -c], args: ['ulimit -n 9; ray start --block']}", "ml" },
		{ "", PROXY ", {name: ml, image: i, command: [/opt/bin/ray], args: [start, --block]}", "ml" },
		{ "", PROXY ", {name: other, image: i, args: [start]}, {name: ray-head, image: i, command: [a]}", "ray-head" },
		{ ", annotations: {afterglow.dev/ray-container: ml}", PROXY ", {name: ml, image: i, command: [a]}", "ml" },
		{ ", annotations: {afterglow.dev/ray-container: gone}", PROXY ", " RAY, "ray-worker" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_admission in = { 0 };
		char text[1024];
		const char *reason;
		_cleanup_json_ cJSON *pod = NULL, *before = NULL;
		const cJSON *container;

		snprintf(text, sizeof(text), WORKER("%s", "%s", ""), rows[i].metadata,
			 rows[i].containers);
		before = json_of(text);
		pod = admitted(text, &in, &reason);
		assert_string_equal(reason, "");
		/* The operator's copies of pods have no commands. */
		assert_int_equal(annotation(pod, "afterglow.dev/ray-container") != NULL,
				 strncmp(rows[i].ray, "ray-", 4) != 0 || *rows[i].metadata);
		assert_string_equal(pod_ray_container_name(pod), rows[i].ray);
		cJSON_ArrayForEach(container, json_get(pod, "spec.containers")) {
			const char *name = json_str(container, "name");
			bool mounts = json_find(json_get(container, "volumeMounts"), "name",
						"afterglow-bin") != NULL;

			if (strcmp(name, "afterglow") != 0 &&
			    mounts != (strcmp(name, rows[i].ray) == 0))
				fail_msg("row %zu: the launcher is %sin %s", i,
					 mounts ? "" : "not ", name);
		}
		assert_true(cJSON_Compare(json_get(before, "spec.containers")->child,
					  json_get(pod, "spec.containers")->child, true));
	}
}

/* The API server asks again when another webhook changed the pod after us. */
static void a_pod_that_has_the_sidecar_stays_as_it_is_also_behind_another_sidecar(void **state)
{
	struct pod_admission in = { 0 };
	const char *reason;
	_cleanup_json_ cJSON *once = admitted(WORKER("", RAY, ""), &in, &reason), *twice = NULL;

	(void)state;
	json_append(json_get(once, "spec.containers"),
		    cJSON_Parse("{\"name\":\"istio-proxy\",\"image\":\"i\"}"));
	assert_int_equal(pod_admit(once, &in, &twice, &reason, NULL), 0);
	assert_null(twice);
	assert_string_equal(reason, "Present");
}

static void the_patch_appends_and_moves_nothing(void **state)
{
	_cleanup_json_ cJSON *before = json_of(WORKER("", RAY ", {name: mine, image: i}", "")),
			     *patch = NULL;
	const cJSON *operation;
	struct pod_admission in = { 0 };
	const char *reason;
	_cleanup_json_ cJSON *after =
		admitted(WORKER("", RAY ", {name: mine, image: i}", ""), &in, &reason);

	(void)state;
	assert_int_equal(json_patch_diff(before, after, &patch, NULL), 0);
	assert_true(cJSON_GetArraySize(patch) > 0);
	cJSON_ArrayForEach(operation, patch) {
		const char *op = json_str(operation, "op"), *path = json_str(operation, "path");
		bool command = strncmp(path, "/spec/containers/0/command", 26) == 0 ||
			       strncmp(path, "/spec/containers/0/args", 23) == 0;
		if (strcmp(op, "add") != 0 && !command)
			fail_msg("%s %s", op, path);
	}
}

static void pods_that_cannot_have_it_say_why(void **state)
{
	static struct policy no_image = { .recording.enabled = true, .recording.warn_at = 0.8 },
			     off = { .recording.warn_at = 0.8 };
	static const struct {
		const char *yaml;
		const struct policy *policy;
		enum pod_absence absence;
		const char *reason;
	} rows[] = {
		{ WORKER("", "{name: r, image: i}", ""), NULL, POD_ABSENCE_NONE, "NoCommand" },
		{ WORKER("", PROXY ", {name: ray-worker, image: i}", ""), NULL, POD_ABSENCE_NONE,
		  "NoCommand" },
		{ WORKER("", PROXY ", {name: ml, image: i}", ""), NULL, POD_ABSENCE_NONE,
		  "NoRayContainer" },
		{ WORKER("", RAY, "  nodeSelector: {kubernetes.io/os: windows}\n"), NULL,
		  POD_ABSENCE_NONE, "Windows" },
		{ WORKER("", RAY ", {name: afterglow, image: mine}", ""), NULL, POD_ABSENCE_NONE,
		  "NameTaken" },
		{ WORKER("", RAY, "  initContainers: [{name: afterglow, image: mine}]\n"), NULL,
		  POD_ABSENCE_NONE, "NameTaken" },
		{ WORKER("", RAY, ""), &no_image, POD_ABSENCE_NONE, "NotConfigured" },
		{ WORKER("", RAY, ""), &off, POD_ABSENCE_NONE, "PolicyOff" },
		{ WORKER("", RAY, ""), NULL, POD_ABSENCE_REFUSED, "Refused" },
		{ WORKER("", RAY, ""), NULL, POD_ABSENCE_IMAGE, "ImageUnavailable" },
		{ WORKER("", RAY, ""), NULL, POD_ABSENCE_NO_SHELL, "NoShell" },
		{ WORKER("", "{name: r, image: i, command: [/init]}", ""), NULL, POD_ABSENCE_NONE,
		  "MustBeProcess1" },
		{ WORKER("", "{name: r, image: i, command: [/usr/lib/systemd/systemd, --system]}",
			 ""),
		  NULL, POD_ABSENCE_NONE, "MustBeProcess1" },
		{ WORKER("",
			 "{name: r, image: i, command: [/init], args: ['ulimit -n 65536; ray start']}",
			 ""),
		  NULL, POD_ABSENCE_NONE, "MustBeProcess1" },
		{ WORKER("", "{name: r, image: i, command: [/sbin/runit]}", ""), NULL,
		  POD_ABSENCE_NONE, "MustBeProcess1" },
		{ WORKER("", "{name: r, image: i, command: [busybox, init]}", ""), NULL,
		  POD_ABSENCE_NONE, "MustBeProcess1" },
		{ WORKER("", "{name: r, image: i, command: [/usr/bin/env, A=b, /init, ray]}", ""),
		  NULL, POD_ABSENCE_NONE, "MustBeProcess1" },
		{ WORKER("",
			 "{name: r, image: i, command: [/bin/bash, -c, --], args: [/sbin/init]}",
			 ""),
		  NULL, POD_ABSENCE_NONE, "MustBeProcess1" },
		{ WORKER("",
			 "{name: r, image: i, command: [sh, -c], args: ['mkdir -p /run/s6 && exec \"/init\" ray start\n']}",
			 ""),
		  NULL, POD_ABSENCE_NONE, "MustBeProcess1" },
		{ WORKER("",
			 "{name: r, image: i, command: [sh, -c, 'if [ -x /init ]; then exec /init; fi']}",
			 ""),
		  NULL, POD_ABSENCE_NONE, "MustBeProcess1" },
		{ WORKER("",
			 "{name: r, image: i, command: [/bin/sh, -c, 'exec $@', --], args: [/lib/systemd/systemd]}",
			 ""),
		  NULL, POD_ABSENCE_NONE, "MustBeProcess1" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_admission in = { .policy = rows[i].policy, .absence = rows[i].absence };
		const char *reason;
		char text[64];
		_cleanup_json_ cJSON *before = json_of(rows[i].yaml),
				     *pod = admitted(rows[i].yaml, &in, &reason);
		assert_string_equal(reason, rows[i].reason);
		snprintf(text, sizeof(text), "none: %s", rows[i].reason);
		assert_string_equal(annotation(pod, SIDECAR_ANNOTATION), text);
		assert_true(cJSON_Compare(json_get(before, "spec"), json_get(pod, "spec"), true));
	}
}

static void a_command_that_only_names_an_init_gets_the_launcher(void **state)
{
	static const char *const commands[] = {
		"[/usr/bin/tini, --, ray, start]",
		"[dumb-init, ray, start]",
		"[/init/run.sh]",
		"[python3, -m, init]",
		"[python3, -c, \"import ray\\ninit\\n\"]",
		"[/bin/bash, -c, --, 'source /init; ray start --block']",
		"[/bin/bash, -c, --, '/opt/init && ray start --block']",
		"[/bin/sh, -c, 'echo init']",
		"[/bin/sh, -c, 'ray start --address=init --block']",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		struct pod_admission in = { 0 };
		const char *reason;
		char yaml[512];

		snprintf(yaml, sizeof(yaml), WORKER("", "{name: r, image: i, command: %s}", ""),
			 commands[i]);
		_cleanup_json_ cJSON *pod = admitted(yaml, &in, &reason);
		if (*reason)
			fail_msg("%s: %s", commands[i], reason);
		assert_non_null(pod);
	}
}

static void who_opts_out_is_left_alone(void **state)
{
	_cleanup_json_ cJSON *cluster =
		json_of("metadata: {annotations: {afterglow.dev/inject: 'false'}}");
	struct pod_admission by_cluster = { .cluster = cluster, .absence = POD_ABSENCE_REFUSED },
			     by_pod = { 0 }, again = { .cluster = cluster };
	const char *reason;

	(void)state;
	assert_null(admitted(WORKER("", RAY, ""), &by_cluster, &reason));
	assert_string_equal(reason, "OptedOut");
	assert_null(admitted(WORKER(", annotations: {afterglow.dev/inject: 'false'}", RAY, ""),
			     &by_pod, &reason));
	/* The pod's own annotation has precedence. */
	_cleanup_json_ cJSON *pod = admitted(
		WORKER(", annotations: {afterglow.dev/inject: 'true'}", RAY, ""), &again, &reason);
	assert_string_equal(reason, "");
	assert_non_null(pod);
}

static void settings_that_the_namespace_forbids_are_left_out_and_reported(void **state)
{
	struct pod_admission in = { .store_claim_trouble = "does not exist" };
	const char *reason;
	_cleanup_json_ cJSON *pod = admitted(WORKER("", RAY, ""), &in, &reason);

	(void)state;
	assert_string_equal(
		annotation(pod, SIDECAR_NOTES_ANNOTATION),
		"PersistentVolumeClaim failures of namespace ml does not exist: bundles stay in the pod and are lost with it");
	assert_null(json_find(json_get(pod, "spec.volumes"), "name", "afterglow-store"));
}

static void a_guaranteed_pod_stays_guaranteed(void **state)
{
	struct pod_admission in = { 0 };
	const char *reason;
	_cleanup_json_ cJSON *pod = admitted(
		WORKER("",
		       "{name: r, image: i, command: [a], resources: {limits: {cpu: 1, memory: 1Gi}, "
		       "requests: {cpu: 1, memory: 1Gi}}}",
		       ""),
		&in, &reason);
	const cJSON *sidecar = cJSON_GetArrayItem(json_get(pod, "spec.containers"), 1);

	(void)state;
	assert_string_equal(json_str(sidecar, "resources.limits.cpu"), "100m");
	assert_string_equal(json_str(sidecar, "resources.requests.cpu"), "100m");
	assert_string_equal(json_str(sidecar, "resources.limits.memory"),
			    json_str(sidecar, "resources.requests.memory"));
}

static void a_pod_with_resources_of_its_own_is_not_asked_for_more(void **state)
{
	struct pod_admission in = { 0 };
	const char *reason;
	_cleanup_json_ cJSON *pod = admitted(
		WORKER("", RAY, "  resources: {limits: {cpu: 1, memory: 1Gi}}\n"), &in, &reason);

	(void)state;
	assert_null(json_get(cJSON_GetArrayItem(json_get(pod, "spec.containers"), 1), "resources"));
}

static void only_ray_pods_with_sane_names_of_containers_concern_us(void **state)
{
	static const struct {
		const char *yaml;
		bool concerns;
	} rows[] = {
		{ WORKER("", RAY, ""), true },
		{ "metadata: {labels: {ray.io/is-ray-node: 'no'}}\nspec: {containers: [{name: a}]}", false },
		{ "metadata: {}\nspec: {containers: [{name: a}]}", false },
		{ WORKER(", annotations: {kubernetes.io/config.mirror: x}", RAY, ""), false },
		{ WORKER("", "{name: \"a'; rm -rf /\"}", ""), false },
		{ WORKER("", RAY ", {name: \"a'; rm -rf /\"}", ""), false },
		{ WORKER("", "{name: 7}", ""), false },
		{ "metadata: {labels: {ray.io/is-ray-node: 'yes'}}\nspec: {containers: []}", false },
		{ "metadata: {labels: {ray.io/is-ray-node: 'yes'}}\nspec: []", false },
		{ "metadata: {labels: {ray.io/is-ray-node: 'yes'}}\nspec: {containers: {a: {name: a, command: [sh]}}}", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *pod = json_of(rows[i].yaml);
		if (pod_admission_concerns(pod) != rows[i].concerns)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_pod_of_kuberay_gets_launcher_and_sidecar_and_keeps_its_first_container),
		cmocka_unit_test(a_pod_whose_ray_container_gets_its_annotations_has_no_key),
		cmocka_unit_test(
			where_processes_are_shared_and_the_key_could_be_read_there_is_none),
		cmocka_unit_test(rays_container_is_found_behind_the_proxy_of_a_mesh),
		cmocka_unit_test(
			a_pod_that_has_the_sidecar_stays_as_it_is_also_behind_another_sidecar),
		cmocka_unit_test(the_patch_appends_and_moves_nothing),
		cmocka_unit_test(pods_that_cannot_have_it_say_why),
		cmocka_unit_test(a_command_that_only_names_an_init_gets_the_launcher),
		cmocka_unit_test(who_opts_out_is_left_alone),
		cmocka_unit_test(settings_that_the_namespace_forbids_are_left_out_and_reported),
		cmocka_unit_test(a_guaranteed_pod_stays_guaranteed),
		cmocka_unit_test(a_pod_with_resources_of_its_own_is_not_asked_for_more),
		cmocka_unit_test(only_ray_pods_with_sane_names_of_containers_concern_us),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
