/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the pod through which a bundle is read. */
#include "plugin/reader_pod.h"

#include <errno.h>

#include "plugin/testing.h"

static const char s3_pods[] =
	"{'items':[{'spec':{'containers':[{'name':'ray-worker'}]}},"
	"{'spec':{'serviceAccountName':'ray','imagePullSecrets':[{'name':'pull'}],'securityContext':{'fsGroup':7,'runAsUser':0},"
	"'volumes':[{'name':'afterglow-credentials','secret':{'secretName':'keys'}},{'name':'afterglow-spool','emptyDir':{}}],"
	"'containers':[{'name':'ray-worker','image':'ray'},{'name':'afterglow','image':'sidecar:7','securityContext':{'runAsUser':0},"
	"'args':['--socket','/s','--store','s3://failures/pre','--store-s3-endpoint','https://minio:9000','--store-s3-path-style'],"
	"'volumeMounts':[{'name':'afterglow-credentials','mountPath':'/afterglow/credentials'},"
	"{'name':'afterglow-spool','mountPath':'/afterglow/spool'}]}]}}]}";

static const char claim_pods[] =
	"{'items':[{'spec':{'securityContext':{'fsGroup':7},"
	"'volumes':[{'name':'mine','persistentVolumeClaim':{'claimName':'of-a-tenant'}},"
	"{'name':'afterglow-store','persistentVolumeClaim':{'claimName':'ray-failures'}}],"
	"'containers':[{'name':'ray-worker','image':'ray'},{'name':'afterglow','image':'sidecar:7','args':['--store','/afterglow/store']}]}}]}";

/* Asserts that the arguments, joined by spaces, are these. */
static void args_are(const struct reader_pod *pod, const char *wanted)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 12);

	for (size_t i = 0; pod->args[i]; i++)
		strbuf_addf(&text, "%s%s", i ? " " : "", pod->args[i]);
	assert_string_equal(strbuf_str(&text), wanted);
}

static void a_claim_is_mounted_and_only_to_be_read(void **state)
{
	_cleanup_json_ cJSON *failure = json_of(
		"{'metadata':{'namespace':'ml'},'spec':{'bundle':'pvc:ray-failures/ml/demo/p.1/c/t-Killed'}}");
	_cleanup_json_ cJSON *pods = json_of(claim_pods);
	struct reader_pod pod;
	(void)state;

	assert_int_equal(reader_pod_make(failure, pods, "reader-1", NULL, &pod, NULL), 0);
	args_are(&pod, "--read --store /afterglow/store --as ml/demo/p.1/c/t-Killed");
	cJSON *spec = json_get(pod.pod, "spec"), *volume = json_get(spec, "volumes")->child,
	      *container = json_get(spec, "containers")->child;
	assert_int_equal(cJSON_GetArraySize(json_get(spec, "volumes")), 1);
	assert_string_equal(json_str(volume, "persistentVolumeClaim.claimName"), "ray-failures");
	assert_true(json_bool(volume, "persistentVolumeClaim.readOnly", false));
	assert_string_equal(json_str(pod.pod, "metadata.namespace"), "ml");
	assert_string_equal(json_str(container, "image"), "sidecar:7");
	/* The pod never runs as root, and it ends by itself. */
	assert_int_equal(json_int(container, "securityContext.runAsUser", 0), 65532);
	assert_int_equal(json_int(spec, "securityContext.fsGroup", 0), 7);
	assert_int_equal(json_int(spec, "activeDeadlineSeconds", 0), READER_LIFE_S);
	assert_false(json_bool(spec, "automountServiceAccountToken", true));
	reader_pod_release(&pod);
}

static void a_store_is_read_as_the_sidecar_writes_it(void **state)
{
	_cleanup_json_ cJSON *failure = json_of(
		"{'metadata':{'namespace':'ml'},'spec':{'bundle':'s3://failures/pre/ml/demo/x'}}");
	_cleanup_json_ cJSON *pods = json_of(s3_pods);
	struct reader_pod pod;
	(void)state;

	assert_int_equal(reader_pod_make(failure, pods, "reader-1", NULL, &pod, NULL), 0);
	args_are(
		&pod,
		"--read --store s3://failures/pre --as ml/demo/x --s3-endpoint https://minio:9000 --s3-path-style "
		"--credentials /afterglow/credentials");
	cJSON *spec = json_get(pod.pod, "spec");
	assert_int_equal(cJSON_GetArraySize(json_get(spec, "volumes")), 1);
	assert_string_equal(json_str(json_get(spec, "volumes")->child, "secret.secretName"),
			    "keys");
	assert_string_equal(json_str(spec, "serviceAccountName"), "ray");
	reader_pod_release(&pod);
}

/* Pods with workload identity, as AKS's webhook changes their sidecar. */
static const char azure_pods[] =
	"{'items':[{'spec':{'serviceAccountName':'ray',"
	"'volumes':[{'name':'azure-identity-token','projected':{'sources':[{'serviceAccountToken':{'path':'azure-identity-token'}}]}}],"
	"'containers':[{'name':'afterglow','image':'sidecar:7','args':['--store','azure://failures/ray/pre'],"
	"'env':[{'name':'POD_NAME','value':'x'},{'name':'AZURE_CLIENT_ID','value':'c'},{'name':'AZURE_TENANT_ID','value':'t'},"
	"{'name':'AZURE_FEDERATED_TOKEN_FILE','value':'/var/run/secrets/azure/tokens/azure-identity-token'}],"
	"'volumeMounts':[{'name':'azure-identity-token','mountPath':'/var/run/secrets/azure/tokens'}]}]}}]}";

static void with_workload_identity_it_has_the_identity_of_the_sidecar(void **state)
{
	_cleanup_json_ cJSON *failure = json_of(
		"{'metadata':{'namespace':'ml'},'spec':{'bundle':'azure://failures/ray/pre/ml/demo/x'}}");
	_cleanup_json_ cJSON *pods = json_of(azure_pods);
	struct reader_pod pod;
	(void)state;

	assert_int_equal(reader_pod_make(failure, pods, "reader-1", NULL, &pod, NULL), 0);
	args_are(&pod, "--read --store azure://failures/ray/pre --as ml/demo/x");
	cJSON *spec = json_get(pod.pod, "spec"), *container = json_get(spec, "containers")->child;
	assert_string_equal(json_str(spec, "serviceAccountName"), "ray");
	assert_string_equal(json_str(json_get(container, "volumeMounts")->child, "mountPath"),
			    "/var/run/secrets/azure/tokens");
	assert_int_equal(cJSON_GetArraySize(json_get(container, "env")), 3);
	assert_string_equal(
		json_str(json_find(json_get(container, "env"), "name", "AZURE_CLIENT_ID"), "value"),
		"c");
	assert_null(json_find(json_get(container, "env"), "name", "POD_NAME"));
	reader_pod_release(&pod);
}

/* Whoever makes the pod chooses which options its sidecar has: all of them, too. */
static void all_options_of_a_store_have_room(void **state)
{
	static const char *const given[] = {
		"--store",
		"s3://failures/pre/that/is/long",
		"--store-s3-endpoint",
		"a",
		"--store-s3-region",
		"b",
		"--store-s3-role-arn",
		"c",
		"--store-s3-sts-endpoint",
		"d",
		"--store-s3-path-style",
		"--store-azure-endpoint",
		"e",
		"--store-webhdfs-user",
		"f",
		"--store-ca",
		"g",
		"--store-proxy",
		"h",
		"--store-no-proxy",
		"i",
	};
	_cleanup_json_ cJSON *failure = json_of(
		"{'metadata':{'namespace':'ml'},'spec':{'bundle':'s3://failures/pre/that/is/long/ml/x'}}");
	_cleanup_json_ cJSON *pods = json_of(s3_pods);
	cJSON *sidecar = cJSON_GetArrayItem(
		json_get(cJSON_GetArrayItem(json_get(pods, "items"), 1), "spec.containers"), 1);
	struct reader_pod pod;
	(void)state;

	json_set(sidecar, "args", cJSON_CreateStringArray(given, ARRAY_SIZE(given)));
	assert_int_equal(reader_pod_make(failure, pods, "reader-1", NULL, &pod, NULL), 0);
	assert_string_equal(pod.store, "s3://failures/pre/that/is/long");
	args_are(
		&pod,
		"--read --store s3://failures/pre/that/is/long --as ml/x --s3-endpoint a --s3-region b --s3-role-arn c --s3-sts-endpoint d "
		"--s3-path-style --azure-endpoint e --webhdfs-user f --ca g --proxy h --no-proxy i --credentials /afterglow/credentials");
	reader_pod_release(&pod);
}

static void without_a_way_to_the_bundle_it_says_what_is_missing(void **state)
{
	static const struct {
		const char *bundle, *pods, *image, *part;
		int code;
	} rows[] = {
		{ "/afterglow/spool/x", s3_pods, NULL, "no bundle in a store", -EPROTO },
		{ "pvc:ray-failures", s3_pods, NULL, "names no bundle in a claim", -EPROTO },
		{ "pvc:/x", s3_pods, NULL, "names no bundle in a claim", -EPROTO },
		{ "pvc:c/x", "{'items':[]}", NULL, "--image says which", -EPROTO },
		{ "pvc:of-a-tenant/ml/demo/p.1/c/t-Killed", claim_pods, NULL, "no Ray pod of the namespace has a sidecar with that store", -EPROTO },
		{ "pvc:ray-failures-2/ml/x", claim_pods, NULL, "no Ray pod of the namespace", -EPROTO },
		{ "s3://other/pre/x", s3_pods, NULL,
		  "no Ray pod of the namespace has a sidecar with that store", -EPROTO },
		{ "s3://failures/prefix/x", s3_pods, NULL, "no Ray pod of the namespace", -EPROTO },
		{ "s3://failures/pre/x", "{}", "sidecar:7", "no Ray pod of the namespace",
		  -EPROTO },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *failure = cJSON_CreateObject(), *pods = json_of(rows[i].pods);
		struct reader_pod pod;
		struct err err = { 0 };

		json_set_str(json_object_at(failure, "spec"), "bundle", rows[i].bundle);
		assert_int_equal(reader_pod_make(failure, pods, "r", rows[i].image, &pod, &err),
				 rows[i].code);
		if (!strstr(err.text, rows[i].part))
			fail_msg("%s: no \"%s\"", err.text, rows[i].part);
	}
}

static void an_image_of_ones_own_reads_a_claim_without_any_pod(void **state)
{
	_cleanup_json_ cJSON *failure =
		json_of("{'metadata':{'namespace':'ml'},'spec':{'bundle':'pvc:c/x'}}");
	struct reader_pod pod;
	(void)state;

	assert_int_equal(reader_pod_make(failure, NULL, "r", "sidecar:8", &pod, NULL), 0);
	assert_string_equal(json_str(json_get(pod.pod, "spec.containers")->child, "image"),
			    "sidecar:8");
	reader_pod_release(&pod);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_claim_is_mounted_and_only_to_be_read),
		cmocka_unit_test(a_store_is_read_as_the_sidecar_writes_it),
		cmocka_unit_test(with_workload_identity_it_has_the_identity_of_the_sidecar),
		cmocka_unit_test(all_options_of_a_store_have_room),
		cmocka_unit_test(without_a_way_to_the_bundle_it_says_what_is_missing),
		cmocka_unit_test(an_image_of_ones_own_reads_a_claim_without_any_pod),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
