/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the sidecar in a pod: it is added once, and nothing else moves; and the shell command
 * really runs Ray's command.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "operator/injection/inject.h"
#include "operator/injection/inject_annotations.h"
#include "operator/injection/inject_undo.h"
#include "operator/injection/launch_command.h"
#include "operator/podspec/pod_spec.h"
#include "operator/raycluster/testing.h"

static struct policy policy = { .sidecar_image = (char *)"img",
				.store.claim = (char *)"c",
				.recording.warn_at = 0.9 };

static const char spec_yaml[] =
	"containers:\n- {name: ray, image: i, command: [/bin/bash, -c, --], args: [\"%s\"]}\n"
	"- {name: other, image: i}\nvolumes: [{name: mine, emptyDir: {}}]\n";

static cJSON *spec_with(const char *args)
{
	char yaml[1024];

	snprintf(yaml, sizeof(yaml), spec_yaml, args);
	return json_of(yaml);
}

static const cJSON *at(const cJSON *spec, int i)
{
	return cJSON_GetArrayItem(json_get(spec, "containers"), i);
}

static void a_pod_that_is_not_restarted_for_ever_ends_with_its_last_container(void **state)
{
	/* the pod's policy, that of Ray's container, when the sidecar leaves */
	static const char *const rows[][3] = {
		{ "Never", NULL, "any" },     { "OnFailure", NULL, "success" },
		{ "Always", NULL, NULL },     { NULL, NULL, NULL },
		{ "Always", "Never", "any" }, { "Always", "OnFailure", "success" },
		{ "Never", "Always", NULL }
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct injection in = { .cluster = "demo",
					.policy = &policy,
					.launchers = testing_launchers() };
		_cleanup_json_ cJSON *spec = spec_with("true");
		if (rows[i][0])
			json_set_str(spec, "restartPolicy", rows[i][0]);
		if (rows[i][1])
			json_set_str(ray_container(spec), "restartPolicy", rows[i][1]);
		assert_true(inject(spec, &in));
		_cleanup_free_ char *args = cJSON_PrintUnformatted(json_get(at(spec, 2), "args")),
				    *command = cJSON_PrintUnformatted(json_get(at(spec, 0), "command"));
		char wanted[64];
		snprintf(wanted, sizeof(wanted), "\"--leave-after\",\"%s\"",
			 rows[i][2] ? rows[i][2] : "");
		assert_int_equal(strstr(args, rows[i][2] ? wanted : "--leave-after") != NULL,
				 rows[i][2] != NULL);
		assert_int_equal(strstr(command, " --wait-after-success ") != NULL,
				 rows[i][2] != NULL);
		assert_non_null(strstr(command, rows[i][2] && strcmp(rows[i][2], "any") == 0 ?
							" --wait-sidecar 60 " :
							" --wait-sidecar 10 "));
		assert_true(rows[i][1] ? json_is(at(spec, 2), "restartPolicy", rows[i][1]) :
					 !json_get(at(spec, 2), "restartPolicy"));
	}
}

static void the_sidecar_of_a_container_that_its_rules_may_restart_leaves_after_a_success(void **state)
{
	struct injection in = { .cluster = "demo",
				.policy = &policy,
				.launchers = testing_launchers() };
	_cleanup_json_ cJSON *spec = json_of(
		"containers: [{name: ray, command: [ray], restartPolicy: Never, restartPolicyRules: [{action: Restart}]}]\n");

	(void)state;
	assert_true(inject(spec, &in));
	_cleanup_free_ char *args = cJSON_PrintUnformatted(json_get(at(spec, 1), "args"));
	assert_non_null(strstr(args, "\"--leave-after\",\"success\""));
}

static void the_sidecar_stays_as_long_as_the_pod_has_for_its_end(void **state)
{
	static const struct {
		int64_t pod;
		const char *sidecar;
	} rows[] = { { 30, NULL },
		     { 5, NULL },
		     { -7, NULL },
		     { 120, "\"--grace\",\"115\"" },
		     { 90000, "\"--grace\",\"3600\"" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct injection in = { .cluster = "demo",
					.policy = &policy,
					.launchers = testing_launchers() };
		_cleanup_json_ cJSON *spec = spec_with("true");
		json_set_int(spec, "terminationGracePeriodSeconds", rows[i].pod);
		assert_true(inject(spec, &in));
		_cleanup_free_ char *args = cJSON_PrintUnformatted(json_get(at(spec, 2), "args"));
		assert_int_equal(strstr(args, rows[i].sidecar ? rows[i].sidecar : "--grace") !=
					 NULL,
				 rows[i].sidecar != NULL);
	}
}

static void it_knows_what_the_ray_container_may_write_to_the_disk(void **state)
{
	static const struct {
		const char *limit, *wanted; /* NULL: there is none */
	} rows[] = { { NULL, NULL },
		     { "10Gi", "\"--disk-limit\",\"10737418240\"" },
		     { "1G", "\"--disk-limit\",\"1000000000\"" },
		     { "0", NULL },
		     { "much", NULL } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct injection in = { .cluster = "demo",
					.policy = &policy,
					.launchers = testing_launchers() };
		_cleanup_json_ cJSON *spec = spec_with("true");
		if (rows[i].limit)
			json_set_str(
				json_object_at(json_object_at(ray_container(spec), "resources"),
					       "limits"),
				"ephemeral-storage", rows[i].limit);
		assert_true(inject(spec, &in));
		_cleanup_free_ char *args = cJSON_PrintUnformatted(json_get(at(spec, 2), "args"));
		assert_int_equal(strstr(args, rows[i].wanted ? rows[i].wanted : "--disk-limit") !=
					 NULL,
				 rows[i].wanted != NULL);
	}
}

static void it_is_put_in_once_and_last(void **state)
{
	struct injection in = { .cluster = "demo",
				.store = true,
				.policy = &policy,
				.launchers = testing_launchers() };
	_cleanup_json_ cJSON *spec = spec_with("true"), *once = NULL;

	(void)state;
	assert_true(inject(spec, &in));
	once = cJSON_Duplicate(spec, true);
	assert_true(inject(spec, &in));
	assert_json(spec, once);
	assert_string_equal(json_str(at(spec, 0), "name"), "ray");
	assert_string_equal(json_str(at(spec, 1), "name"), "other");
	assert_string_equal(json_str(at(spec, 2), "name"), "afterglow");
	assert_string_equal(json_str(cJSON_GetArrayItem(json_get(spec, "volumes"), 0), "name"),
			    "mine");
}

static void the_sidecar_alone_reaches_the_nodes_socket(void **state)
{
	struct injection in = { .cluster = "demo",
				.policy = &policy,
				.launchers = testing_launchers() };
	_cleanup_json_ cJSON *spec = spec_with("true");
	const cJSON *container;
	int mounts = 0;

	(void)state;
	assert_true(inject(spec, &in));
	cJSON_ArrayForEach(container, json_get(spec, "containers"))
		mounts += json_find(json_get(container, "volumeMounts"), "name",
				    "afterglow-node") != NULL;
	assert_int_equal(mounts, 1);
	assert_string_equal(
		json_str(json_find(json_get(at(spec, 2), "volumeMounts"), "name", "afterglow-node"),
			 "mountPath"),
		"/afterglow/node");
	assert_non_null(json_get(json_find(json_get(spec, "volumes"), "name", "afterglow-node"),
				 "emptyDir"));
}

static void a_pod_that_mounts_a_volume_to_come_goes_without(void **state)
{
	static const char *const specs[] = {
		"containers: [{name: ray, command: [a], volumeMounts: [{name: afterglow-node, mountPath: /x}]}]\n",
		"containers: [{name: ray, command: [a]}, {name: b, volumeMounts: [{name: afterglow-run, mountPath: /x}]}]\n",
		"containers: [{name: ray, command: [a]}]\n"
		"initContainers: [{name: i, volumeMounts: [{name: afterglow-node, mountPath: /x}]}]\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		_cleanup_json_ cJSON *spec = json_of(specs[i]);

		assert_false(inject_is_clear(spec, ray_container(spec)));
	}
}

static void without_the_sidecar_the_pod_is_as_before_but_for_the_launcher(void **state)
{
	struct injection in = { .cluster = "demo",
				.store = true,
				.policy = &policy,
				.launchers = testing_launchers() };
	_cleanup_json_ cJSON *pod = json_of("metadata: {name: a}\n"),
			     *none = json_of("spec: {containers: [{name: ray}]}\n");
	cJSON *spec = spec_with("true");

	(void)state;
	json_set(pod, "spec", spec);
	json_append(json_array_at(spec, "volumes"), json_of("name: afterglow-of-the-user\n"));
	json_set_str(spec, "restartPolicy", "Never");
	assert_true(inject(spec, &in));
	_cleanup_free_ char *with = cJSON_PrintUnformatted(spec);
	assert_non_null(strstr(with, " --wait-sidecar 60 --wait-after-success 60 "));
	assert_true(inject_undo(pod, "pods \"a\" is forbidden: maximum memory is 1Mi"));
	assert_string_equal(
		cJSON_GetStringValue(cJSON_GetObjectItem(json_get(pod, "metadata.annotations"),
							 INJECT_REFUSED_ANNOTATION)),
		"maximum memory is 1Mi");
	_cleanup_free_ char *without = cJSON_PrintUnformatted(spec);
	assert_null(strstr(without, "--wait-sidecar"));
	assert_null(strstr(without, "--wait-after-success"));
	assert_int_equal(cJSON_GetArraySize(json_get(spec, "containers")), 2);
	assert_int_equal(cJSON_GetArraySize(json_get(spec, "volumes")), 4);
	assert_non_null(json_find(json_get(spec, "volumes"), "name", "mine"));
	assert_non_null(json_find(json_get(spec, "volumes"), "name", "afterglow-of-the-user"));
	assert_non_null(json_find(json_get(spec, "volumes"), "name", "afterglow-bin"));
	assert_non_null(json_find(json_get(spec, "volumes"), "name", "afterglow-run"));
	assert_false(inject_undo(pod, "again"));
	assert_false(inject_undo(none, "there is none"));
}

static void the_sidecars_resources_and_pull_secrets_are_the_policys(void **state)
{
	static const char yaml[] =
		"sidecarImage: r/s:1\nsidecarResources: {requests: {cpu: 50m, memory: 100Mi}, limits: {cpu: 1}}\n"
		"sidecarImagePullSecrets: [registry, mine]\n";
	_cleanup_json_ cJSON *
		spec = json_of(
		       "imagePullSecrets: [{name: mine}]\ncontainers: [{name: ray, command: [a], resources: "
		       "{limits: {memory: 1Gi}}}]\n"),
	       *resources = json_of("{requests: {cpu: 50m, memory: 100Mi}, limits: {cpu: 1}}\n"),
	       *secrets = json_of("[{name: mine}, {name: registry}]\n");
	_cleanup_(policy_release) struct policy p = { 0 };
	struct injection in = { .cluster = "demo", .policy = &p, .launchers = testing_launchers() };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(policy_parse(yaml, strlen(yaml), "policy.yaml", &p, &err), 0);
	assert_true(inject(spec, &in));
	assert_json(json_get(at(spec, 1), "resources"), resources);
	assert_json(json_get(spec, "imagePullSecrets"), secrets);
}

/*
 * The Pod Security level restricted is kept, unless the policy asks for the kernel log. --run-as
 * then gives root up.
 */
static void only_the_kernel_log_needs_a_capability(void **state)
{
	(void)state;
	for (int kernel_log = 0; kernel_log <= 1; kernel_log++) {
		struct policy p = policy;
		struct injection in = { .cluster = "demo",
					.policy = &p,
					.launchers = testing_launchers() };
		_cleanup_json_ cJSON *spec = spec_with("true"), *expected = NULL;
		_cleanup_free_ char *args = NULL;

		p.recording.kernel_log = kernel_log;
		assert_true(inject(spec, &in));
		expected = json_of(
			kernel_log ?
				"{runAsNonRoot: false, runAsUser: 0, runAsGroup: 65532, "
				"allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, "
				"capabilities: {drop: [ALL], add: [SYSLOG, SETUID]}, "
				"seccompProfile: {type: RuntimeDefault}}\n" :
				"{runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, "
				"allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, "
				"capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}\n");
		assert_json(json_get(at(spec, 2), "securityContext"), expected);
		args = cJSON_PrintUnformatted(json_get(at(spec, 2), "args"));
		assert_int_equal(strstr(args, "\"--run-as\",\"65532\"") != NULL, kernel_log);
	}
}

/* Only the sidecar mounts it, and it cannot write to it. */
static void a_nodes_syslog_is_mounted_into_the_sidecar_alone(void **state)
{
	struct policy p = policy;
	struct injection in = { .cluster = "demo", .policy = &p, .launchers = testing_launchers() };
	_cleanup_json_ cJSON *spec = spec_with("true"), *pod = cJSON_CreateObject();
	_cleanup_free_ char *args = NULL;
	const cJSON *mount;

	(void)state;
	p.syslog = (char *)"/var/log";
	p.syslog_group = 4;
	assert_true(inject(spec, &in));
	assert_string_equal(
		json_str(json_find(json_get(spec, "volumes"), "name", "afterglow-syslog"),
			 "hostPath.path"),
		"/var/log");
	mount = json_find(json_get(at(spec, 2), "volumeMounts"), "name", "afterglow-syslog");
	assert_true(json_bool(mount, "readOnly", false));
	assert_null(json_find(json_get(at(spec, 0), "volumeMounts"), "name", "afterglow-syslog"));
	assert_int_equal(json_int(at(spec, 2), "securityContext.runAsGroup", 0), 4);
	assert_true(json_bool(at(spec, 2), "securityContext.runAsNonRoot", false));
	args = cJSON_PrintUnformatted(json_get(at(spec, 2), "args"));
	assert_non_null(strstr(args, "\"--syslog\",\"/afterglow/syslog\""));
	json_set(pod, "spec", cJSON_Duplicate(spec, true));
	assert_true(inject_undo(pod, "x"));
	assert_null(json_find(json_get(pod, "spec.volumes"), "name", "afterglow-syslog"));
}

static void metrics_take_no_port_of_the_node(void **state)
{
	struct injection in = { .cluster = "demo",
				.policy = &policy,
				.launchers = testing_launchers() };
	(void)state;

	for (int host = 0; host <= 1; host++) {
		_cleanup_json_ cJSON *spec = spec_with("true");
		_cleanup_free_ char *args = NULL;

		json_set(spec, "hostNetwork", cJSON_CreateBool(host));
		assert_true(inject(spec, &in));
		args = cJSON_PrintUnformatted(json_get(at(spec, 2), "args"));
		assert_int_equal(strstr(args, "\"--http\",\":9095\"") == NULL, host);
		assert_int_equal(json_get(at(spec, 2), "ports") == NULL, host);
	}
}

/* Ray's program would not start if the sidecar had its port. */
static void metrics_take_no_port_that_the_pods_own_containers_name(void **state)
{
	static const struct {
		const char *container, *others, *want; /* NULL: there is no HTTP */
	} rows[] = {
		{ "{name: ray, command: [ray], ports: [{containerPort: 8080}]}", "", ":9095" },
		{ "{name: ray, command: [ray], ports: [{containerPort: 9095}]}", "", ":9096" },
		{ "{name: ray, command: [bash, -c], args: [\"ray start --metrics-export-port=9095\"]}", "", ":9096" },
		{ "{name: ray, command: [ray], env: [{name: PORT, value: \"9095\"}, {name: F, valueFrom: {}}]}", "", ":9096" },
		{ "{name: ray, command: [ray], ports: [{containerPort: 9095}]}", "initContainers: [{name: i, args: [\"--port=9096\"]}]\n", ":9097" },
		{ "{name: ray, command: [ray, \"9095 9096 9097\", \"9098,9099\"]}", "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct injection in = { .cluster = "demo",
					.policy = &policy,
					.launchers = testing_launchers() };
		char yaml[512];
		snprintf(yaml, sizeof(yaml), "containers: [%s]\n%s", rows[i].container,
			 rows[i].others);
		_cleanup_json_ cJSON *spec = json_of(yaml);
		assert_true(inject(spec, &in));
		_cleanup_free_ char *args = cJSON_PrintUnformatted(json_get(at(spec, 1), "args"));
		assert_true(strstr(args, rows[i].want ? rows[i].want : "") &&
			    !strstr(args, "--http") == !rows[i].want);
		assert_int_equal(json_int(cJSON_GetArrayItem(json_get(at(spec, 1), "ports"), 0),
					  "containerPort", 0),
				 rows[i].want ? strtol(rows[i].want + 1, NULL, 10) : 0);
	}
}

static void bundles_take_a_share_of_the_ephemeral_storage_at_most(void **state)
{
	static const struct {
		const char *storage;
		int64_t max;
		const char *option; /* NULL: the sidecar's default */
	} rows[] = {
		{ "200Mi", 0, "\"--spool-max\",\"52428800\"" },
		{ "200Mi", INT64_C(1) << 30, "\"--spool-max\",\"52428800\"" },
		{ "200Mi", 1 << 20, "\"--spool-max\",\"1048576\"" },
		{ "100Gi", 0, NULL },
		{ NULL, 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy p = policy;
		struct injection in = { .cluster = "demo",
					.policy = &p,
					.launchers = testing_launchers() };
		_cleanup_json_ cJSON *spec = spec_with("true");

		p.store.spool_max = rows[i].max;
		if (rows[i].storage)
			json_set_str(
				json_object_at(json_object_at(ray_container(spec), "resources"),
					       "limits"),
				"ephemeral-storage", rows[i].storage);
		assert_true(inject(spec, &in));
		_cleanup_free_ char *args = cJSON_PrintUnformatted(json_get(at(spec, 2), "args"));
		assert_int_equal(strstr(args, "--spool-max") != NULL, rows[i].option != NULL);
		assert_true(!rows[i].option || strstr(args, rows[i].option));
	}
}

static void the_largest_spool_makes_a_volume_of_a_valid_size(void **state)
{
	struct policy p = policy;
	struct injection in = { .cluster = "demo", .policy = &p, .launchers = testing_launchers() };
	_cleanup_json_ cJSON *spec = spec_with("true");
	const char *size;

	(void)state;
	p.store.spool_max = INT64_MAX;
	assert_true(inject(spec, &in));
	size = json_str(json_find(json_get(spec, "volumes"), "name", "afterglow-spool"),
			"emptyDir.sizeLimit");
	assert_non_null(size);
	assert_true(strtoll(size, NULL, 10) > INT64_MAX / 2);
}

/* Only the sidecar gets credentials. */
static void the_secrets_of_a_store_are_only_in_the_sidecar(void **state)
{
	struct policy p = policy;
	struct injection in = {
		.cluster = "demo", .store = true, .policy = &p, .launchers = testing_launchers()
	};
	_cleanup_json_ cJSON *spec = spec_with("true"), *volume = NULL;
	_cleanup_free_ char *args = NULL, *others = NULL;

	(void)state;
	p.store.url = (char *)"s3://b/p";
	p.store.s3_endpoint = (char *)"https://minio:9000";
	p.store.s3_path_style = true;
	p.store.cores_prefix = (char *)"_cores";
	p.store.credentials_secret = (char *)"keys";
	p.store.ca_secret = (char *)"ca";
	p.store.spool_max = INT64_C(3) << 30;
	p.store.s3_encryption = (char *)"aws:kms";
	p.store.s3_kms_key_id = (char *)"alias/a";
	p.store.s3_bucket_key = true;
	p.store.proxy = (char *)"http://p:1";
	p.store.no_proxy = (char *)".svc";
	assert_true(inject(spec, &in));
	args = cJSON_PrintUnformatted(json_get(at(spec, 2), "args"));
	assert_non_null(strstr(
		args,
		"\"--store\",\"s3://b/p\",\"--store-s3-endpoint\",\"https://minio:9000\","
		"\"--store-s3-encryption\",\"aws:kms\",\"--store-s3-kms-key-id\",\"alias/a\","
		"\"--store-cores-prefix\",\"_cores\",\"--store-s3-path-style\",\"--store-s3-bucket-key\","
		"\"--store-proxy\",\"http://p:1\",\"--store-no-proxy\",\".svc\","
		"\"--store-ca\",\"/afterglow/store-ca/ca.crt\",\"--spool-max\",\"3221225472\""));
	volume = json_of(
		"{name: afterglow-credentials, secret: {secretName: keys, optional: true, defaultMode: 292}}\n");
	assert_json(json_find(json_get(spec, "volumes"), "name", "afterglow-credentials"), volume);
	assert_non_null(json_find(json_get(at(spec, 2), "volumeMounts"), "mountPath",
				  "/afterglow/credentials"));
	assert_non_null(json_find(json_get(at(spec, 2), "volumeMounts"), "mountPath",
				  "/afterglow/store-ca"));
	assert_null(json_find(json_get(spec, "volumes"), "name", "afterglow-store"));
	assert_string_equal(
		json_str(json_find(json_get(spec, "volumes"), "name", "afterglow-spool"),
			 "emptyDir.sizeLimit"),
		"4Gi");
	for (int i = 0; i < 2; i++) {
		free(others);
		others = cJSON_PrintUnformatted(at(spec, i));
		assert_null(strstr(others, "afterglow-credentials"));
		assert_null(strstr(others, "afterglow-store-ca"));
	}
}

/* The same holds for the token that takes their place. */
static void web_identity_is_a_token_for_the_sidecar_alone(void **state)
{
	static const struct {
		const char *audience;
		int64_t expiry;
		const char *token;
	} rows[] = {
		{ NULL, 0, "{audience: sts.amazonaws.com, expirationSeconds: 3600, path: web-identity-token}" },
		{ "minio", 600, "{audience: minio, expirationSeconds: 600, path: web-identity-token}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy p = policy;
		struct injection in = { .cluster = "demo",
					.store = true,
					.policy = &p,
					.launchers = testing_launchers() };
		_cleanup_json_ cJSON *spec = spec_with("true"), *volume = NULL;
		_cleanup_free_ char *args = NULL, *others = NULL;
		char yaml[300];

		p.store.url = (char *)"s3://b/p";
		p.store.s3_role_arn = (char *)"arn:aws:iam::1:role/r";
		p.store.s3_sts_endpoint = (char *)"https://sts";
		p.store.s3_token_audience = (char *)rows[i].audience;
		p.store.s3_token_expiry = rows[i].expiry;
		if (i)
			json_set_str(spec, "serviceAccountName", "ray");
		assert_true(inject(spec, &in));
		args = cJSON_PrintUnformatted(json_get(at(spec, 2), "args"));
		assert_non_null(strstr(
			args,
			"\"--store-s3-role-arn\",\"arn:aws:iam::1:role/r\",\"--store-s3-sts-endpoint\",\"https://sts\""));
		snprintf(
			yaml, sizeof(yaml),
			"{name: afterglow-credentials, projected: {defaultMode: 292, sources: [{serviceAccountToken: %s}]}}\n",
			rows[i].token);
		volume = json_of(yaml);
		assert_json(json_find(json_get(spec, "volumes"), "name", "afterglow-credentials"),
			    volume);
		assert_true(json_bool(json_find(json_get(at(spec, 2), "volumeMounts"), "mountPath",
						"/afterglow/credentials"),
				      "readOnly", false));
		assert_string_equal(json_str(spec, "serviceAccountName"), i ? "ray" : "default");
		others = cJSON_PrintUnformatted(at(spec, 0));
		assert_null(strstr(others, "afterglow-credentials"));
	}
}

static void a_claim_is_kept_within_bounds_if_that_is_asked_for(void **state)
{
	struct policy p = policy;
	struct injection in = {
		.cluster = "demo", .store = true, .policy = &p, .launchers = testing_launchers()
	};
	_cleanup_json_ cJSON *spec = spec_with("true");
	_cleanup_free_ char *args = NULL;

	(void)state;
	p.store.keep_days = 30;
	p.store.keep_max = 1 << 30;
	assert_true(inject(spec, &in));
	args = cJSON_PrintUnformatted(json_get(at(spec, 2), "args"));
	assert_non_null(strstr(
		args,
		"\"--store\",\"/afterglow/store\",\"--keep-days\",\"30\",\"--keep-max\",\"1073741824\""));
}

/* Replaces $$ by $, in the text itself, as Kubernetes does. */
static char *as_kubernetes_hands_it_over(char *text)
{
	char *to = text;

	for (const char *from = text; (*to++ = *from); from++)
		from += from[0] == '$' && from[1] == '$';
	return text;
}

/* Runs the Ray container's command and args as the kubelet would. Returns the exit code. */
static int run(const cJSON *container)
{
	const char *parts[] = { "command", "args" };
	char *argv[32] = { 0 };
	const cJSON *item;
	int n = 0, status;
	pid_t pid;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		cJSON_ArrayForEach(item, json_get(container, parts[i]))
			argv[n++] = as_kubernetes_hands_it_over(item->valuestring);
	pid = fork();
	if (pid == 0) {
		execv(argv[0], argv);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void without_a_launcher_the_command_runs_all_the_same(void **state)
{
	struct injection in = { .cluster = "demo",
				.policy = &policy,
				.launchers = testing_launchers() };
	_cleanup_json_ cJSON *spec = spec_with("a='x y'; test \\\"$a\\\" = 'x y' && exit 7");

	(void)state;
	assert_true(inject(spec, &in));
	assert_int_equal(run(at(spec, 0)), 7);
}

/* The image may have only the shell that the user's own command uses. */
static void bash_is_asked_for_only_where_the_command_does_so_too(void **state)
{
	static const struct {
		const char *command, *shell;
	} rows[] = {
		{ "/bin/bash, -c, --", "/bin/bash" },
		{ "bash, -c", "/bin/bash" },
		{ "/bin/sh, -c", "/bin/sh" },
		{ "python3, -m", "/bin/sh" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct injection in = { .cluster = "demo",
					.policy = &policy,
					.launchers = testing_launchers() };
		char yaml[256];

		snprintf(yaml, sizeof(yaml),
			 "containers: [{name: ray, image: i, command: [%s], args: [x]}]\n",
			 rows[i].command);
		_cleanup_json_ cJSON *spec = json_of(yaml);
		assert_true(inject(spec, &in));
		assert_string_equal(
			cJSON_GetArrayItem(json_get(at(spec, 0), "command"), 0)->valuestring,
			rows[i].shell);
		/* bash would run BASH_ENV; other shells do not know the option. */
		assert_int_equal(
			strcmp(cJSON_GetArrayItem(json_get(at(spec, 0), "command"), 1)->valuestring,
			       "--posix") == 0,
			strcmp(rows[i].shell, "/bin/bash") == 0);
	}
}

/* Returns a port on which nobody listens yet. */
static int unused_port(char port[static 8])
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(address);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	snprintf(port, 8, "%d", ntohs(address.sin_port));
	return fd;
}

static void expect_wait(const cJSON *container, int fd)
{
	pid_t pid;
	int status;

	setenv("FQ_RAY_IP", "127.0.0.1", 1);
	pid = fork();
	if (pid == 0)
		_exit(run(container));
	usleep(300 * 1000);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0); /* it waits */
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void without_a_launcher_a_worker_still_waits_for_the_head(void **state)
{
	struct injection in = { .cluster = "demo",
				.policy = &policy,
				.launchers = testing_launchers() };
	_cleanup_json_ cJSON *spec = spec_with("exit 7");
	char port[8];
	_cleanup_close_ int fd = unused_port(port);

	(void)state;
	in.wait_port = port;
	assert_true(inject(spec, &in));
	expect_wait(at(spec, 0), fd);
}

static void a_worker_without_a_sidecar_waits_for_the_head_as_well(void **state)
{
	_cleanup_json_ cJSON *spec = spec_with("exit 7");
	char port[8];
	_cleanup_close_ int fd = unused_port(port);

	(void)state;
	assert_true(launch_command_wait(ray_container(spec), port));
	/* No container was added. */
	assert_int_equal(cJSON_GetArraySize(json_get(spec, "containers")), 2);
	expect_wait(at(spec, 0), fd);
}

static void a_command_that_is_no_shells_does_not_wait(void **state)
{
	static const char *const commands[] = { "command: [python3, -m, x], ", "command: [], ",
						"command: [/opt/bashful], ", "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		char yaml[256];

		snprintf(yaml, sizeof(yaml), "containers: [{name: ray, image: i, %sargs: [x]}]\n",
			 commands[i]);
		_cleanup_json_ cJSON *spec = json_of(yaml), *before = json_of(yaml);
		assert_false(launch_command_wait(ray_container(spec), "6379"));
		assert_true(cJSON_Compare(spec, before, true));
	}
}

static void annotations_of_the_template_win(void **state)
{
	static const struct {
		const char *cluster, *template;
		bool wanted, oom_group;
	} rows[] = {
		{ "{}", "{}", true, false },
		{ "{afterglow.dev/inject: \"false\"}", "{}", false, false },
		{ "{afterglow.dev/inject: \"false\"}", "{afterglow.dev/inject: \"true\"}", true, false },
		{ "{}", "{afterglow.dev/inject: \"false\"}", false, false },
		{ "{afterglow.dev/inject: \"no\"}", "{}", true, false },
		{ "{afterglow.dev/oom-group: \"true\"}", "{}", true, true },
		{ "{afterglow.dev/oom-group: \"true\"}", "{afterglow.dev/oom-group: \"false\"}", true,
		  false },
		{ "null", "null", true, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *cluster = json_of(rows[i].cluster),
				     *template = json_of(rows[i].template);

		assert_int_equal(inject_wanted(cluster, template), rows[i].wanted);
		assert_int_equal(inject_oom_group(cluster, template, &policy), rows[i].oom_group);
	}
}

static void cores_are_what_the_policy_says_for_launcher_and_sidecar(void **state)
{
	static const struct {
		enum core_dumps core_dumps;
		bool asked_for;
		const char *args;
		int64_t limit;
	} rows[] = {
		{ CORE_DUMPS_SUMMARY, true, NULL, 0 },
		{ CORE_DUMPS_SUMMARY, true, NULL, INT64_C(1) << 30 },
		{ CORE_DUMPS_FULL, true, "\"--cores\",\"full\"", INT64_C(1) << 30 },
		{ CORE_DUMPS_OFF, false, "\"--cores\",\"off\"", INT64_C(1) << 30 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy p = policy;
		struct injection in = { .cluster = "demo",
					.policy = &p,
					.launchers = testing_launchers() };
		_cleanup_json_ cJSON *spec = spec_with("true");
		_cleanup_free_ char *args = NULL, *command = NULL;

		p.recording.core_dumps = rows[i].core_dumps;
		p.recording.core_dump_limit = rows[i].limit;
		assert_true(inject(spec, &in));
		command = cJSON_PrintUnformatted(json_get(at(spec, 0), "command"));
		args = cJSON_PrintUnformatted(json_get(at(spec, 2), "args"));
		assert_int_equal(strstr(command, " --cores ") != NULL, rows[i].asked_for);
		assert_int_equal(strstr(args, "--cores") != NULL, rows[i].args != NULL);
		if (rows[i].args)
			assert_non_null(strstr(args, rows[i].args));
		assert_int_equal(strstr(command, " --cores-max ") != NULL,
				 rows[i].limit && rows[i].asked_for);
		if (rows[i].limit && rows[i].asked_for)
			assert_non_null(strstr(command, " --cores-max 1073741824 "));
		/* Whole cores are asked for, so they are worth the container's memory. */
		assert_int_equal(strstr(command, " --cores-in-memory ") != NULL,
				 rows[i].core_dumps == CORE_DUMPS_FULL);
	}
}

static void a_core_takes_a_share_of_the_ephemeral_storage_at_most(void **state)
{
	static const struct {
		const char *storage;
		int64_t limit;
		const char *option; /* NULL: the launcher's default */
	} rows[] = {
		{ "300Mi", INT64_C(4) << 30, " --cores-max 39321600 " },
		{ "300Mi", 0, " --cores-max 39321600 " },
		{ "300Mi", 1 << 20, " --cores-max 1048576 " },
		{ "100Gi", INT64_C(4) << 30, " --cores-max 4294967296 " },
		{ "0", INT64_C(4) << 30, " --cores-max 4294967296 " },
		{ "much", 0, NULL },
		{ NULL, 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy p = policy;
		struct injection in = { .cluster = "demo",
					.policy = &p,
					.launchers = testing_launchers() };
		_cleanup_json_ cJSON *spec = spec_with("true");
		_cleanup_free_ char *command = NULL;

		p.recording.core_dump_limit = rows[i].limit;
		if (rows[i].storage)
			json_set_str(
				json_object_at(
					json_object_at(
						cJSON_GetArrayItem(json_get(spec, "containers"), 0),
						"resources"),
					"limits"),
				"ephemeral-storage", rows[i].storage);
		assert_true(inject(spec, &in));
		command = cJSON_PrintUnformatted(json_get(at(spec, 0), "command"));
		assert_int_equal(strstr(command, " --cores-max ") != NULL, rows[i].option != NULL);
		assert_true(!rows[i].option || strstr(command, rows[i].option));
	}
}

/*
 * Returns the command of a container with these volumes, whose cores may have 4 GiB; the caller
 * frees it.
 */
static char *core_command_with(const char *mounts, const char *volumes)
{
	struct policy p = policy;
	struct injection in = { .cluster = "demo", .policy = &p, .launchers = testing_launchers() };
	_cleanup_json_ cJSON *spec = spec_with("true");

	p.recording.core_dump_limit = INT64_C(4) << 30;
	json_set(cJSON_GetArrayItem(json_get(spec, "containers"), 0), "volumeMounts",
		 json_of(mounts));
	json_set(spec, "volumes", json_of(volumes));
	assert_true(inject(spec, &in));
	return cJSON_PrintUnformatted(json_get(at(spec, 0), "command"));
}

/* Which volume it is that a core goes to is not known before the crash. */
static void a_core_takes_a_share_of_the_smallest_volume_at_most(void **state)
{
	_cleanup_free_ char *command = core_command_with(
		"[{name: work}, {name: dshm}, {name: tmp}, {name: other}, {name: claim}, {name: absent}]",
		"[{name: work, emptyDir: {sizeLimit: 1Gi}}, {name: tmp, emptyDir: {medium: \"\", sizeLimit: 80Mi}}, "
		"{name: dshm, emptyDir: {medium: Memory, sizeLimit: 1Mi}}, {name: other, emptyDir: {}}, {name: claim, persistentVolumeClaim: {}}, "
		"{name: not-mounted, emptyDir: {sizeLimit: 8Mi}}]");

	(void)state;
	assert_non_null(strstr(command, " --cores-max 10485760 "));
}

static void a_volume_of_a_few_bytes_bounds_the_core_as_well(void **state)
{
	_cleanup_free_ char *command = core_command_with(
		"[{name: work}]",
		"[{name: work, emptyDir: {sizeLimit: \"7\"}}]");

	(void)state;
	assert_non_null(strstr(command, " --cores-max 1 "));
}

static void hooks_reach_the_sidecar_as_they_are_written(void **state)
{
	struct policy p = policy;
	struct injection in = {
		.cluster = "demo", .policy = &p, .launchers = testing_launchers(), .hold_s = 600
	};
	_cleanup_json_ cJSON *spec = spec_with("true"),
			     *hooks = json_of("{atThreshold: [\"py-spy dump --pid $AFTERGLOW_PID\", b], "
					      "atDeath: [\"echo $(id) $$ it's\"]}");
	_cleanup_free_ char *args = NULL;

	(void)state;
	p.recording.hooks = hooks;
	assert_true(inject(spec, &in));
	args = cJSON_PrintUnformatted(json_get(at(spec, 2), "args"));
	/* Each $ is doubled, because Kubernetes removes one of two. */
	assert_non_null(strstr(args,
			       "\"--hook-at-threshold\",\"py-spy dump --pid $$AFTERGLOW_PID\","
			       "\"--hook-at-threshold\",\"b\","
			       "\"--hook-at-death\",\"echo $$(id) $$$$ it's\","
			       "\"--hold-on-failure\",\"600\""));
}

static void stacks_are_taken_shortly_before_the_grace_period_is_over(void **state)
{
	static const struct {
		int grace; /* -1: Kubernetes' default */
		const char *seconds;
	} rows[] = {
		{ -1, "\"24\"" }, { 0, "\"1\"" }, { 2, "\"1\"" }, { 5, "\"3\"" }, { 30, "\"24\"" }, { 300, "\"290\"" }, { 2147483647, "\"86400\"" },
	};
	struct policy p = policy;
	struct injection in = { .cluster = "demo", .policy = &p, .launchers = testing_launchers() };
	(void)state;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *spec = spec_with("true");
		_cleanup_free_ char *args = NULL;
		char wanted[64];

		p.recording.stacks_at_stop = i < ARRAY_SIZE(rows);
		p.recording.stacks_at_threshold = i % 2;
		p.recording.stacks_at_wait = i % 2 ? 1800 : 0;
		if (rows[i % ARRAY_SIZE(rows)].grace >= 0)
			json_set_int(spec, "terminationGracePeriodSeconds",
				     rows[i % ARRAY_SIZE(rows)].grace);
		assert_true(inject(spec, &in));
		args = cJSON_PrintUnformatted(json_get(at(spec, 2), "args"));
		snprintf(wanted, sizeof(wanted), "\"--stacks-at-stop\",%s",
			 rows[i % ARRAY_SIZE(rows)].seconds);
		assert_int_equal(strstr(args, wanted) != NULL, p.recording.stacks_at_stop);
		assert_int_equal(strstr(args, "--stacks-at-stop") != NULL,
				 p.recording.stacks_at_stop);
		assert_int_equal(strstr(args, "\"--stacks-at-threshold\"") != NULL,
				 p.recording.stacks_at_threshold);
		assert_int_equal(strstr(args, "\"--stacks-at-wait\",\"1800\"") != NULL, i % 2);
		assert_int_equal(strstr(args, "\"--stacks-at-wait\"") != NULL, i % 2);
	}
}

static void the_sidecar_asks_what_the_liveness_probe_asks_if_it_is_plain_http(void **state)
{
	static const struct {
		const char *probe, *target; /* NULL: it asks nothing */
	} rows[] = {
		{ "{httpGet: {port: 52365, path: /api/healthz, scheme: HTTP}}",
		  "52365/api/healthz" },
		{ "{httpGet: {port: 80}}", "80/" },
		{ "{httpGet: {port: 80, path: /, scheme: HTTPS}}", NULL },
		{ "{httpGet: {port: 80, path: /, host: example.com}}", NULL },
		{ "{httpGet: {port: web, path: /}}", NULL },
		{ "{httpGet: {port: 80, path: \"/a b\"}}", NULL },
		{ "{httpGet: {port: 80, path: \"/\\r\\nX: y\"}}", NULL },
		{ "{tcpSocket: {port: 80}}", NULL },
		{ "{exec: {command: [bash, -c, \"wget --tries 1 -T 2 -q -O- http://localhost:52365/api/local_raylet_healthz | grep success && wget "
		  "-q http://localhost:8265/api/gcs_healthz | grep success\"]}}",
		  "52365/api/local_raylet_healthz" },
		{ "{exec: {command: [bash, -c, \"wget -qO- 'http://localhost:8000/-/healthz' | grep success\"]}}",
		  "8000/-/healthz" },
		{ "{exec: {command: [bash, -c, \"wget http://localhost:$PORT/x\"]}}", NULL },
		{ "{exec: {command: [bash, -c, \"curl http://localhost:8265\"]}}", NULL },
		{ "{exec: {command: [test, -e, /tmp/well]}}", NULL },
		{ "{exec: {command: []}}", NULL },
		{ "{}", NULL },
	};
	struct policy p = policy;
	struct injection in = { .cluster = "demo", .policy = &p, .launchers = testing_launchers() };
	(void)state;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		const char *target = rows[i / 2].target;
		_cleanup_json_ cJSON *spec = spec_with("true");
		_cleanup_free_ char *args = NULL;
		char wanted[64];

		json_set(cJSON_GetArrayItem(json_get(spec, "containers"), 0), "livenessProbe",
			 json_of(rows[i / 2].probe));
		p.recording.stacks_at_stop = i % 2;
		assert_true(inject(spec, &in));
		args = cJSON_PrintUnformatted(json_get(at(spec, 2), "args"));
		snprintf(wanted, sizeof(wanted), "\"--stacks-at-probe\",\"%s\"",
			 target ? target : "");
		if ((strstr(args, target ? wanted : "--stacks-at-probe") != NULL) !=
		    (target && i % 2))
			fail_msg("%s: %s", rows[i / 2].probe, args);
	}
}

static void hold_and_prefix_are_the_templates_then_the_clusters_then_the_policys(void **state)
{
	static const struct {
		const char *cluster, *template, *prefix;
		int64_t hold;
	} rows[] = {
		{ "{}", "{}", NULL, 5 },
		{ "{afterglow.dev/hold-on-failure: \"60\"}", "{}", NULL, 60 },
		{ "{afterglow.dev/hold-on-failure: \"60\"}", "{afterglow.dev/hold-on-failure: \"0\"}", NULL, 0 },
		{ "{afterglow.dev/hold-on-failure: \"86401\"}", "{}", NULL, 5 },
		{ "{afterglow.dev/hold-on-failure: \"-1\"}", "{afterglow.dev/hold-on-failure: \"1h\"}", NULL, 5 },
		{ "{afterglow.dev/start-prefix: \"memray run\"}", "{}", "memray run", 5 },
		{ "{afterglow.dev/start-prefix: \"memray run\"}", "{afterglow.dev/start-prefix: \" \"}", NULL, 5 },
		{ "null", "{afterglow.dev/start-prefix: \"mprof run\"}", "mprof run", 5 },
	};
	struct policy p = { .recording.hold_on_failure = 5 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *cluster = json_of(rows[i].cluster),
				     *template = json_of(rows[i].template);
		const char *prefix = inject_prefix(cluster, template);

		assert_int_equal(inject_hold(cluster, template, &p), rows[i].hold);
		if (!rows[i].prefix)
			assert_null(prefix);
		else
			assert_string_equal(prefix, rows[i].prefix);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_put_in_once_and_last),
		cmocka_unit_test(the_sidecar_stays_as_long_as_the_pod_has_for_its_end),
		cmocka_unit_test(it_knows_what_the_ray_container_may_write_to_the_disk),
		cmocka_unit_test(a_pod_that_is_not_restarted_for_ever_ends_with_its_last_container),
		cmocka_unit_test(
			the_sidecar_of_a_container_that_its_rules_may_restart_leaves_after_a_success),
		cmocka_unit_test(the_sidecar_alone_reaches_the_nodes_socket),
		cmocka_unit_test(a_pod_that_mounts_a_volume_to_come_goes_without),
		cmocka_unit_test(without_the_sidecar_the_pod_is_as_before_but_for_the_launcher),
		cmocka_unit_test(the_sidecars_resources_and_pull_secrets_are_the_policys),
		cmocka_unit_test(only_the_kernel_log_needs_a_capability),
		cmocka_unit_test(a_nodes_syslog_is_mounted_into_the_sidecar_alone),
		cmocka_unit_test(metrics_take_no_port_of_the_node),
		cmocka_unit_test(metrics_take_no_port_that_the_pods_own_containers_name),
		cmocka_unit_test(bundles_take_a_share_of_the_ephemeral_storage_at_most),
		cmocka_unit_test(the_largest_spool_makes_a_volume_of_a_valid_size),
		cmocka_unit_test(the_secrets_of_a_store_are_only_in_the_sidecar),
		cmocka_unit_test(web_identity_is_a_token_for_the_sidecar_alone),
		cmocka_unit_test(a_claim_is_kept_within_bounds_if_that_is_asked_for),
		cmocka_unit_test(without_a_launcher_the_command_runs_all_the_same),
		cmocka_unit_test(bash_is_asked_for_only_where_the_command_does_so_too),
		cmocka_unit_test(without_a_launcher_a_worker_still_waits_for_the_head),
		cmocka_unit_test(a_worker_without_a_sidecar_waits_for_the_head_as_well),
		cmocka_unit_test(a_command_that_is_no_shells_does_not_wait),
		cmocka_unit_test(annotations_of_the_template_win),
		cmocka_unit_test(cores_are_what_the_policy_says_for_launcher_and_sidecar),
		cmocka_unit_test(a_core_takes_a_share_of_the_ephemeral_storage_at_most),
		cmocka_unit_test(a_core_takes_a_share_of_the_smallest_volume_at_most),
		cmocka_unit_test(hooks_reach_the_sidecar_as_they_are_written),
		cmocka_unit_test(a_volume_of_a_few_bytes_bounds_the_core_as_well),
		cmocka_unit_test(stacks_are_taken_shortly_before_the_grace_period_is_over),
		cmocka_unit_test(the_sidecar_asks_what_the_liveness_probe_asks_if_it_is_plain_http),
		cmocka_unit_test(
			hold_and_prefix_are_the_templates_then_the_clusters_then_the_policys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
