/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of parsing RayPolicies and ClusterRayPolicies, also hostile ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/units.h"
#include "operator/policy/policy_object.h"
#include "operator/raycluster/testing.h"

static struct policy_object *object_of(const char *kind, const char *spec)
{
	_cleanup_json_ cJSON *json =
		json_of("{metadata: {namespace: ml, name: p, uid: u1, generation: 3, "
			"creationTimestamp: \"2026-11-21T01:29:06Z\"}}");
	struct policy_object *o;

	json_set_str(json, "kind", kind);
	json_set(json, "spec", json_of(spec));
	o = policy_object_new(json);
	assert_non_null(o);
	return o;
}

static struct policy_object *valid(const char *kind, const char *spec)
{
	struct policy_object *o = object_of(kind, spec);

	if (o->trouble.code)
		fail_msg("%s: %s", spec, o->trouble.text);
	return o;
}

static void a_block_is_read_over_the_built_in_defaults(void **state)
{
	struct policy_object *o = valid(
		"RayPolicy",
		"{memory: {headNumCPUs: 2, headroom: 500Mi, usageThreshold: null}, "
		"recording: {kernelLog: {enabled: true}, coreDumps: \"Off\", resources: {limits: {cpu: 1}}}}");

	(void)state;
	assert_string_equal(o->name, "p");
	assert_int_equal(o->generation, 3);
	assert_true(o->created_ns == 1795224546 * NS_PER_SEC);
	assert_int_equal(o->given, 1 << POLICY_MEMORY | 1 << POLICY_RECORDING);
	assert_string_equal(o->values.memory.head_num_cpus, "2");
	assert_int_equal(o->values.memory.headroom_bytes, 500 << 20);
	assert_true(o->values.memory.object_store_fraction == 0.3 &&
		    o->values.recording.warn_at == 0.8);
	assert_true(o->values.recording.kernel_log &&
		    o->values.recording.core_dumps == CORE_DUMPS_OFF &&
		    o->values.recording.enabled);
	assert_string_equal(o->ignored, "");
	policy_object_free(o);
}

static void of_head_cpus_null_and_nothing_are_all_of_them(void **state)
{
	static const char *const specs[] = { "{memory: {headNumCPUs: null}}",
					     "{memory: {headNumCPUs: \"\"}}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		struct policy_object *o = valid("RayPolicy", specs[i]);

		assert_null(o->values.memory.head_num_cpus);
		policy_object_free(o);
	}
}

static void a_store_is_made_of_its_parts_as_in_the_chart(void **state)
{
	static const struct {
		const char *spec, *url, *claim;
	} rows[] = {
		{ "{store: {}}", NULL, NULL },
		{ "{store: {claim: failures, keep: {days: 30, max: 100Gi}}}", NULL, "failures" },
		{ "{store: {type: claim, claim: \"\"}}", NULL, NULL },
		{ "{store: {type: s3, s3: {bucket: failures}}}", "s3://failures", NULL },
		{ "{store: {type: s3, claim: \"\", s3: {bucket: failures, prefix: /ray/x/, region: eu-1, pathStyle: true}}}",
		  "s3://failures/ray/x", NULL },
		{ "{store: {type: s3, s3: {bucket: failures, webIdentity: {roleARN: \"arn:aws:iam::1:role/r\", expirySeconds: 600}}}}",
		  "s3://failures", NULL },
		{ "{store: {type: s3, s3: {bucket: failures, serverSideEncryption: {type: AES256, bucketKey: false}}, proxy: {url: \"http://p:1\"}}}",
		  "s3://failures", NULL },
		{ "{store: {type: s3, s3: {bucket: failures, serverSideEncryption: {type: \"aws:kms\", kmsKeyID: alias/a, bucketKey: true}}, "
		  "proxy: {url: \"http://p:1\", noProxy: \".svc,10.0.0.0/8\"}}}",
		  "s3://failures", NULL },
		{ "{store: {type: azure, azure: {account: failures1, container: ray-1}, coresPrefix: _c}}", "azure://failures1/ray-1", NULL },
		{ "{store: {type: azure, azure: {account: failures1, container: ray-1, prefix: /a/b/, endpoint: \"https://x.example\"}, credentialsSecret: x}}",
		  "azure://failures1/ray-1/a/b", NULL },
		{ "{store: {type: webhdfs, webhdfs: {url: \"webhdfs://nn:9870/failures\", user: ray}, credentialsSecret: x, coresPrefix: _c}}",
		  "webhdfs://nn:9870/failures", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy_object *o = valid("RayPolicy", rows[i].spec);

		assert_true(!o->values.store.url == !rows[i].url &&
			    !o->values.store.claim == !rows[i].claim);
		if (rows[i].url)
			assert_string_equal(o->values.store.url, rows[i].url);
		if (rows[i].claim)
			assert_string_equal(o->values.store.claim, rows[i].claim);
		policy_object_free(o);
	}
}

static void retention_is_read_with_the_charts_defaults(void **state)
{
	struct policy_object *o = valid("RayPolicy", "{retention: {maxAge: 7d}}");

	(void)state;
	assert_true(o->values.retention.max_age_ns == 7 * 86400 * NS_PER_SEC &&
		    o->values.retention.max_count == 1000);
	policy_object_free(o);
	o = valid("RayPolicy", "{retention: {maxAge: \"0\", maxPerNamespace: 0}}");
	assert_true(o->values.retention.max_age_ns == 0 && o->values.retention.max_count == 0);
	policy_object_free(o);
}

static void a_cluster_policy_has_a_namespace_selector_and_locks(void **state)
{
	struct policy_object *o =
		valid("ClusterRayPolicy",
		      "{namespaceSelector: {matchLabels: {team: a}}, locked: [store, retention]}");

	(void)state;
	assert_true(o->is_cluster_wide && o->namespace_selector.n == 1 && o->given == 0);
	assert_int_equal(o->locked, 1 << POLICY_STORE | 1 << POLICY_RETENTION);
	policy_object_free(o);
	o = valid("RayPolicy", "{namespaceSelector: {matchLabels: {team: a}}, locked: [store]}");
	assert_true(!o->is_cluster_wide && o->namespace_selector.n == 0 && o->locked == 0);
	assert_string_equal(o->ignored, "spec.namespaceSelector, spec.locked");
	policy_object_free(o);
}

static void fields_of_a_later_version_are_named_and_passed_over(void **state)
{
	struct policy_object *o = valid(
		"RayPolicy",
		"{memory: {swap: 1, headroom: 5%}, recording: {kernelLog: {level: 3}}, network: {a: b}}");

	(void)state;
	assert_string_equal(o->ignored,
			    "spec.memory.swap, spec.recording.kernelLog.level, spec.network");
	assert_true(o->values.memory.headroom_fraction == 0.05);
	policy_object_free(o);
}

static void an_invalid_one_names_the_field_and_what_would_be_right(void **state)
{
	static const struct {
		const char *kind, *spec, *text;
	} rows[] = {
		{ "RayPolicy", "null", "spec must be an object" },
		{ "RayPolicy", "[memory]", "spec must be an object" },
		{ "RayPolicy", "{memory: [a]}", "spec.memory must be an object" },
		{ "RayPolicy", "{recording: {kernelLog: true}}", "spec.recording.kernelLog must be an object" },
		{ "RayPolicy", "{recording: {warnAt: 80}}", "spec.recording.warnAt must be a number from 0.05 to 1" },
		{ "RayPolicy", "{recording: {warnAt: \"0.8\"}}", "spec.recording.warnAt must be a number from 0.05 to 1" },
		{ "RayPolicy", "{memory: {mode: apply}}", "spec.memory.mode must be Apply, Warn or Off" },
		{ "RayPolicy", "{memory: {workerMemoryLimit: 8 GB}}", "spec.memory.workerMemoryLimit must be a quantity such as \"8Gi\"" },
		{ "RayPolicy", "{memory: {headroom: -5%}}", "spec.memory.headroom must be" },
		{ "RayPolicy", "{memory: {headroom: 60%, objectStoreFraction: 0.5}}", "spec.memory: objectStoreFraction and headroom together" },
		{ "RayPolicy", "{memory: {monitorRefreshMs: 1e300}}", "spec.memory.monitorRefreshMs must be" },
		{ "RayPolicy", "{recording: {holdOnFailure: 90000}}", "spec.recording.holdOnFailure must be seconds from 0 (off) to 86400" },
		{ "RayPolicy", "{recording: {hooks: {atDeath: [a, b, c, d, e, f, g, h, i]}}}", "spec.recording.hooks must be" },
		{ "RayPolicy", "{recording: {resources: {limits: {nvidia.com/gpu: 8}}}}", "spec.recording.resources must be" },
		{ "RayPolicy", "{store: {type: nfs}}", "spec.store.type must be claim, s3, azure or webhdfs" },
		{ "RayPolicy", "{store: {type: s3}}", "spec.store.s3.bucket must be given: spec.store.type is s3" },
		{ "RayPolicy", "{store: {type: azure}}", "spec.store.azure.account must be given: spec.store.type is azure" },
		{ "RayPolicy", "{store: {type: azure, azure: {account: failures1}}}", "spec.store.azure.container must be given" },
		{ "RayPolicy", "{store: {azure: {account: failures1}}}", "spec.store.azure is given, so spec.store.type must be azure, not claim" },
		{ "RayPolicy", "{store: {type: azure, azure: {account: Failures, container: ray}}}", "spec.store.azure.account must be the name of a storage account" },
		{ "RayPolicy", "{store: {type: azure, azure: {account: aa, container: ray}}}", "spec.store.azure.account must be" },
		{ "RayPolicy", "{store: {type: azure, azure: {account: failures, container: a--b}}}", "spec.store.azure.container must be the name of a container" },
		{ "RayPolicy", "{store: {type: azure, azure: {account: failures, container: ab-}}}", "spec.store.azure.container must be" },
		{ "RayPolicy", "{store: {type: azure, azure: {account: failures, container: \"$(X)\"}}}", "spec.store.azure.container must be" },
		{ "RayPolicy", "{store: {type: azure, azure: {account: failures, container: ray, endpoint: \"x\"}}}", "spec.store.azure.endpoint must be an address" },
		{ "RayPolicy", "{store: {type: webhdfs}}", "spec.store.webhdfs.url must be given" },
		{ "RayPolicy", "{store: {s3: {bucket: failures}}}", "spec.store.s3 is given, so spec.store.type must be s3, not claim" },
		{ "RayPolicy", "{store: {type: s3, s3: {bucket: bbb}, keep: {days: 1}}}", "spec.store.keep is given, so spec.store.type must be claim, not s3" },
		{ "RayPolicy", "{store: {credentialsSecret: x}}", "spec.store.credentialsSecret is given, so spec.store.type must be s3, azure or webhdfs" },
		{ "RayPolicy", "{store: {claim: failures, coresPrefix: _cores}}", "spec.store.coresPrefix is given, so spec.store.type must be s3, azure or webhdfs" },
		{ "RayPolicy", "{store: {type: s3, s3: {bucket: bbb}, coresPrefix: cores}}", "spec.store.coresPrefix must be a path that begins with an underscore" },
		{ "RayPolicy", "{store: {claim: \"$(X)\"}}", "spec.store.claim must be the name of a PersistentVolumeClaim" },
		{ "RayPolicy", "{store: {claim: a/../b}}", "spec.store.claim must be the name" },
		{ "RayPolicy", "{store: {type: s3, s3: {bucket: \"$(X)\"}}}", "spec.store.s3.bucket must be the name of a bucket" },
		{ "RayPolicy", "{store: {type: s3, s3: {bucket: bbb, prefix: \"a b\"}}}", "spec.store.s3.prefix must be a path" },
		{ "RayPolicy", "{store: {type: s3, s3: {bucket: bbb, endpoint: \"minio:9000\"}}}", "spec.store.s3.endpoint must be an address" },
		{ "RayPolicy", "{store: {type: s3, s3: {bucket: bbb, webIdentity: {audience: a}}}}", "spec.store.s3.webIdentity.roleARN must be given" },
		{ "RayPolicy", "{store: {type: s3, credentialsSecret: x, s3: {bucket: bbb, webIdentity: {roleARN: \"arn:aws:iam::1:role/r\"}}}}",
		  "spec.store.s3.webIdentity.roleARN and spec.store.credentialsSecret are both given" },
		{ "RayPolicy", "{store: {type: s3, s3: {bucket: bbb, serverSideEncryption: {type: aes}}}}",
		  "spec.store.s3.serverSideEncryption.type must be AES256, aws:kms or aws:kms:dsse" },
		{ "RayPolicy", "{store: {type: s3, s3: {bucket: bbb, serverSideEncryption: {kmsKeyID: a}}}}",
		  "spec.store.s3.serverSideEncryption.type must be given" },
		{ "RayPolicy", "{store: {type: s3, s3: {bucket: bbb, serverSideEncryption: {type: AES256, bucketKey: true}}}}",
		  "so its type must be aws:kms or aws:kms:dsse" },
		{ "RayPolicy", "{store: {type: s3, s3: {bucket: bbb, serverSideEncryption: {type: \"aws:kms\", kmsKeyID: \"$(X)\"}}}}",
		  "spec.store.s3.serverSideEncryption.kmsKeyID must be the id, ARN or alias of a key of KMS" },
		{ "RayPolicy", "{store: {proxy: {url: \"http://p:1\"}}}", "spec.store.proxy is given, so spec.store.type must be s3, azure or webhdfs" },
		{ "RayPolicy", "{store: {type: s3, s3: {bucket: bbb}, proxy: {url: \"http://u:secret@p:1\"}}}", "spec.store.proxy.url must be an address" },
		{ "RayPolicy", "{store: {type: s3, s3: {bucket: bbb}, proxy: {noProxy: a}}}", "spec.store.proxy.url must be given" },
		{ "RayPolicy", "{retention: {maxAge: 1w}}", "spec.retention.maxAge must be a time such as" },
		{ "RayPolicy", "{retention: {maxPerNamespace: -1}}", "spec.retention.maxPerNamespace must be" },
		{ "RayPolicy", "{retention: {maxAge: 1d}, selector: {matchLabels: {a: b}}}", "spec.retention is for whole namespaces" },
		{ "RayPolicy", "{selector: {matchLabels: [a]}}", "spec.selector.matchLabels must be" },
		{ "ClusterRayPolicy", "{namespaceSelector: {a: b}}", "spec.namespaceSelector has a field \"a\"" },
		{ "ClusterRayPolicy", "{locked: [stores]}", "spec.locked must be a list of memory, recording, store and retention" },
		{ "ClusterRayPolicy", "{locked: [store, store]}", "spec.locked must be" },
		{ "ClusterRayPolicy", "{locked: [1]}", "spec.locked must be" },
		{ "ClusterRayPolicy", "{locked: store}", "spec.locked must be" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy_object *o = object_of(rows[i].kind, rows[i].spec);

		if (!strstr(o->trouble.text, rows[i].text))
			fail_msg("%s: \"%s\" does not hold \"%s\"", rows[i].spec, o->trouble.text,
				 rows[i].text);
		policy_object_free(o);
	}
}

static void a_hundred_unknown_fields_and_deep_nests_stay_within_bounds(void **state)
{
	_cleanup_json_ cJSON *json =
		json_of("{kind: RayPolicy, metadata: {name: p}, spec: {memory: {}}}");
	cJSON *memory = json_get(json, "spec.memory");
	char name[200];

	(void)state;
	for (int i = 0; i < 100; i++) {
		memset(name, 'a' + i % 26, sizeof(name));
		snprintf(name + 190, 10, "%d", i);
		json_set_int(memory, name, i);
	}
	struct policy_object *o = policy_object_new(json);
	assert_non_null(o);
	assert_int_equal(o->trouble.code, 0);
	assert_true(strlen(o->ignored) < POLICY_IGNORED_MAX && o->created_ns == INT64_MAX);
	policy_object_free(o);
	assert_null(policy_object_new(NULL));
	json_set(json, "metadata", cJSON_CreateArray());
	assert_null(policy_object_new(json));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_is_read_over_the_built_in_defaults),
		cmocka_unit_test(of_head_cpus_null_and_nothing_are_all_of_them),
		cmocka_unit_test(a_store_is_made_of_its_parts_as_in_the_chart),
		cmocka_unit_test(retention_is_read_with_the_charts_defaults),
		cmocka_unit_test(a_cluster_policy_has_a_namespace_selector_and_locks),
		cmocka_unit_test(fields_of_a_later_version_are_named_and_passed_over),
		cmocka_unit_test(an_invalid_one_names_the_field_and_what_would_be_right),
		cmocka_unit_test(a_hundred_unknown_fields_and_deep_nests_stay_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
