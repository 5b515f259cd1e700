/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the policy file: defaults, every key, and errors that say what would be right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "operator/policy/policy.h"

static void parse(const char *yaml, struct policy *p)
{
	struct err err = { 0 };

	if (policy_parse(yaml, strlen(yaml), "policy.yaml", p, &err) < 0)
		fail_msg("%s", err.text);
}

static void nothing_gives_the_defaults(void **state)
{
	struct policy p;

	(void)state;
	parse("", &p);
	assert_null(p.sidecar_image);
	assert_string_equal(p.memory.head_num_cpus, "0");
	assert_string_equal(p.cluster_domain, "cluster.local");
	assert_int_equal(p.memory.worker_memory_limit, 0);
	assert_int_equal(p.recording.core_dumps, CORE_DUMPS_SUMMARY);
	assert_true(p.recording.warn_at == 0.8 && p.memory.object_store_fraction == 0.3 &&
		    p.memory.headroom_fraction == 0.1);
	assert_int_equal(p.memory.monitor_refresh_ms, -1);
	assert_true(p.memory.mode == MEMORY_MODE_UNSET && p.memory.budgets == MEMORY_MODE_UNSET);
	assert_true(p.redis_cleanup && p.recording.enabled);
	assert_false(p.login_shell);
	policy_release(&p);
}

static void every_key_is_read(void **state)
{
	struct policy p;

	(void)state;
	parse("sidecarImage: r/afterglow:1\nsidecarImagePullPolicy: Never\nstoreClaim: failures\nmemoryMode: Warn\nmemoryBudgets: Off\nrecordingEnabled: false\n"
	      "clusterDomain: k8s.lan\nheadNumCPUs: 2\nworkerMemoryLimit: 8Gi\nrayMemoryFraction: 0.7\n"
	      "objectStoreFraction: 0.2\nheadroom: 500Mi\nusageThreshold: 0.9\nmonitorRefreshMs: 100\n"
	      "warnAt: 0.75\noomGroup: true\nkernelLog: true\ncoreDumps: Full\ncoreDumpLimit: 1Gi\nholdOnFailure: 600\n"
	      "stacksAtStop: true\nstacksAtThreshold: true\nstacksAtWait: 1800\nredisCleanup: false\nloginShell: true\n"
	      "syslog: /var/log\nsyslogGroup: 4\n"
	      "hooks: {atThreshold: [\"py-spy dump --pid $AFTERGLOW_PID\"], atDeath: [a, b]}\n",
	      &p);
	assert_string_equal(p.sidecar_image, "r/afterglow:1");
	assert_string_equal(p.sidecar_image_pull_policy, "Never");
	assert_string_equal(p.store.claim, "failures");
	assert_string_equal(p.cluster_domain, "k8s.lan");
	assert_string_equal(p.syslog, "/var/log");
	assert_int_equal(p.syslog_group, 4);
	assert_string_equal(p.memory.head_num_cpus, "2");
	assert_int_equal(p.memory.worker_memory_limit, INT64_C(8) << 30);
	assert_int_equal(p.memory.headroom_bytes, 500 << 20);
	assert_true(p.memory.headroom_fraction == 0 && p.memory.usage_threshold == 0.9 &&
		    p.recording.warn_at == 0.75);
	assert_int_equal(p.memory.monitor_refresh_ms, 100);
	assert_true(p.recording.oom_group && p.recording.kernel_log && !p.redis_cleanup &&
		    p.login_shell);
	assert_int_equal(p.recording.core_dumps, CORE_DUMPS_FULL);
	assert_int_equal(p.recording.core_dump_limit, INT64_C(1) << 30);
	assert_true(p.memory.mode == MEMORY_MODE_WARN && p.memory.budgets == MEMORY_MODE_OFF);
	assert_false(p.recording.enabled);
	assert_int_equal(p.recording.hold_on_failure, 600);
	assert_true(p.recording.stacks_at_stop && p.recording.stacks_at_threshold);
	assert_int_equal(p.recording.stacks_at_wait, 1800);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(p.recording.hooks, "atDeath")), 2);
	policy_release(&p);
}

static void a_store_is_a_url_with_what_belongs_to_it(void **state)
{
	struct policy p;

	(void)state;
	parse("storeURL: s3://failures/ray\nstoreS3Endpoint: https://minio.example:9000\nstoreS3Region: eu-1\n"
	      "storeS3PathStyle: true\nstoreCoresPrefix: _cores\nstoreCredentialsSecret: keys\nstoreCASecret: ca\nspoolMax: 2Gi\n"
	      "storeKeepDays: 30\nstoreKeepBundles: 500\nstoreKeepMax: 100Gi\n",
	      &p);
	assert_string_equal(p.store.url, "s3://failures/ray");
	assert_string_equal(p.store.s3_endpoint, "https://minio.example:9000");
	assert_string_equal(p.store.s3_region, "eu-1");
	assert_true(p.store.s3_path_style);
	assert_string_equal(p.store.cores_prefix, "_cores");
	assert_string_equal(p.store.credentials_secret, "keys");
	assert_string_equal(p.store.ca_secret, "ca");
	assert_int_equal(p.store.spool_max, INT64_C(2) << 30);
	assert_int_equal(p.store.keep_days, 30);
	assert_int_equal(p.store.keep_bundles, 500);
	assert_int_equal(p.store.keep_max, INT64_C(100) << 30);
	policy_release(&p);
	parse("storeURL: s3://failures\nstoreS3RoleARN: arn:aws:iam::123456789012:role/ray/failures\n"
	      "storeS3STSEndpoint: https://sts.example\nstoreS3TokenAudience: sts.example\nstoreS3TokenExpiry: 600\n",
	      &p);
	assert_string_equal(p.store.s3_role_arn, "arn:aws:iam::123456789012:role/ray/failures");
	assert_string_equal(p.store.s3_sts_endpoint, "https://sts.example");
	assert_string_equal(p.store.s3_token_audience, "sts.example");
	assert_int_equal(p.store.s3_token_expiry, 600);
	policy_release(&p);
	parse("storeURL: s3://b\nstoreS3Encryption: aws:kms\nstoreS3KMSKeyID: alias/failures\nstoreS3BucketKey: true\n"
	      "storeProxy: http://proxy.example:3128\nstoreNoProxy: .svc,10.0.0.0/8\n",
	      &p);
	assert_string_equal(p.store.s3_encryption, "aws:kms");
	assert_string_equal(p.store.s3_kms_key_id, "alias/failures");
	assert_true(p.store.s3_bucket_key);
	assert_string_equal(p.store.proxy, "http://proxy.example:3128");
	assert_string_equal(p.store.no_proxy, ".svc,10.0.0.0/8");
	policy_release(&p);
	parse("storeURL: azure://failures/ray/x\nstoreAzureEndpoint: https://failures.blob.core.usgovcloudapi.net\n",
	      &p);
	assert_string_equal(p.store.url, "azure://failures/ray/x");
	assert_string_equal(p.store.azure_endpoint, "https://failures.blob.core.usgovcloudapi.net");
	policy_release(&p);
	parse("storeURL: webhdfs://nn:9870/failures\nstoreWebHDFSUser: ray\n", &p);
	assert_string_equal(p.store.webhdfs_user, "ray");
	policy_release(&p);
}

static void empty_values_are_as_absent_but_head_cpus_can_be_null(void **state)
{
	struct policy p;

	(void)state;
	parse("storeClaim: \"\"\nworkerMemoryLimit:\nwarnAt: null\nclusterDomain: ''\nheadNumCPUs: null\n",
	      &p);
	assert_null(p.store.claim);
	assert_null(p.memory.head_num_cpus);
	assert_string_equal(p.cluster_domain, "cluster.local");
	assert_true(p.recording.warn_at == 0.8);
	policy_release(&p);
}

static void errors_name_key_line_and_what_is_right(void **state)
{
	static const struct {
		const char *yaml, *text;
	} rows[] = {
		{ "warnAt: 0.8\nworkerMemoryLimit: 8 GB\n",
		  "policy.yaml:2: workerMemoryLimit must be a quantity such as \"8Gi\"" },
		{ "workerMemorylimit: 8Gi\n", "policy.yaml:1: there is no key \"workerMemorylimit\"" },
		{ "warnAt: 80\n", "policy.yaml:1: warnAt must be a number from 0.05 to 1" },
		{ "warnAt: 0.01\n", "policy.yaml:1: warnAt must be a number from 0.05 to 1" },
		{ "storeKeepDays: 40000\n", "policy.yaml:1: storeKeepDays must be days from 0 (for ever) to 36500" },
		{ "oomGroup: yes\n", "policy.yaml:1: oomGroup must be true or false" },
		{ "\n\nsidecarImagePullPolicy: never\n",
		  "policy.yaml:3: sidecarImagePullPolicy must be Always, IfNotPresent or Never" },
		{ "headNumCPUs: 1.5\n", "policy.yaml:1: headNumCPUs must be" },
		{ "headNumCPUs: -1\n", "policy.yaml:1: headNumCPUs must be" },
		{ "headroom: 95%\n", "policy.yaml:1: headroom must be" },
		{ "headroom: 60%\nobjectStoreFraction: 0.4\n", "together take 100 %" },
		{ "- a\n", "policy.yaml: not a mapping" },
		{ "a: [\n", "policy.yaml: line 2: not YAML" },
		{ "sidecarImage: [a]\n", "policy.yaml:1: sidecarImage must be an image" },
		{ "monitorRefreshMs: -1\n", "policy.yaml:1: monitorRefreshMs must be" },
		{ "holdOnFailure: 86401\n", "policy.yaml:1: holdOnFailure must be seconds" },
		{ "holdOnFailure: 10m\n", "policy.yaml:1: holdOnFailure must be seconds" },
		{ "storeURL: http://x/y\n", "policy.yaml:1: storeURL must be s3://BUCKET/PREFIX, azure://ACCOUNT/CONTAINER/PREFIX, webhdfs://" },
		{ "storeURL: s3://\n", "policy.yaml:1: storeURL must be" },
		{ "storeURL: s3:///prefix\n", "policy.yaml:1: storeURL must be" },
		{ "storeURL: \"s3://b/$(reboot)\"\n", "policy.yaml:1: storeURL must be" },
		{ "storeURL: file:///x\n", "policy.yaml:1: storeURL must be" },
		{ "storeURL: s3://b\nstoreS3Endpoint: minio:9000\n", "policy.yaml:2: storeS3Endpoint must be an address" },
		{ "storeURL: s3://b\nstoreClaim: c\n", "policy.yaml: storeClaim goes with no storeURL: one store" },
		{ "storeS3Region: x\n", "policy.yaml: storeS3Region goes with a storeURL s3://BUCKET/PREFIX" },
		{ "storeURL: webhdfs://nn:1/x\nstoreS3PathStyle: true\n", "storeS3PathStyle goes with a storeURL s3://" },
		{ "storeURL: s3://b\nstoreAzureEndpoint: https://x\n", "storeAzureEndpoint goes with a storeURL azure://" },
		{ "storeURL: azure://a/c\nstoreWebHDFSUser: x\n", "storeWebHDFSUser goes with a storeURL webhdfs://" },
		{ "storeURL: azure://\n", "policy.yaml:1: storeURL must be" },
		{ "storeURL: azure://account\n", "policy.yaml:1: storeURL must be" },
		{ "storeURL: azure://account//ray\n", "policy.yaml:1: storeURL must be" },
		{ "storeURL: azure://a/c\nstoreAzureEndpoint: https://user@x\n", "policy.yaml:2: storeAzureEndpoint must be an address" },
		{ "storeURL: s3://b\nstoreWebHDFSUser: x\n", "storeWebHDFSUser goes with a storeURL webhdfs://" },
		{ "storeURL: s3://b\nstoreS3RoleARN: failures\n",
		  "policy.yaml:2: storeS3RoleARN must be a role such as \"arn:aws:iam::123456789012:role/failures\"" },
		{ "storeURL: s3://b\nstoreS3RoleARN: arn:aws:iam::1:role/\n", "policy.yaml:2: storeS3RoleARN must be a role" },
		{ "storeURL: s3://b\nstoreS3RoleARN: \"arn:aws:iam::1:role/$(x)\"\n", "policy.yaml:2: storeS3RoleARN must be a role" },
		{ "storeURL: s3://b\nstoreS3RoleARN: arn:aws:iam::1:role/r\nstoreS3TokenExpiry: 599\n",
		  "policy.yaml:3: storeS3TokenExpiry must be seconds from 600 to 86400" },
		{ "storeURL: s3://b\nstoreS3RoleARN: arn:aws:iam::1:role/r\nstoreS3TokenAudience: a b\n",
		  "policy.yaml:3: storeS3TokenAudience must be a word" },
		{ "storeURL: s3://b\nstoreS3RoleARN: arn:aws:iam::1:role/r\nstoreS3STSEndpoint: minio\n",
		  "policy.yaml:3: storeS3STSEndpoint must be an address" },
		{ "storeURL: s3://b\nstoreS3RoleARN: arn:aws:iam::1:role/r\nstoreCredentialsSecret: x\n",
		  "policy.yaml: storeS3RoleARN goes with no storeCredentialsSecret: one way in" },
		{ "storeURL: webhdfs://nn:1/x\nstoreS3RoleARN: arn:aws:iam::1:role/r\n",
		  "storeS3RoleARN goes with a storeURL s3://" },
		{ "storeURL: s3://b\nstoreS3TokenExpiry: 600\n", "storeS3TokenExpiry goes with a storeS3RoleARN" },
		{ "storeURL: s3://b\nstoreS3Encryption: AES256\nstoreS3KMSKeyID: x\n", "storeS3KMSKeyID goes with a storeS3Encryption aws:kms" },
		{ "storeURL: azure://a/c\nstoreS3Encryption: AES256\n", "storeS3Encryption goes with a storeURL s3://" },
		{ "storeProxy: http://p:1\n", "storeProxy goes with a storeURL" },
		{ "storeURL: s3://b\nstoreNoProxy: x\n", "storeNoProxy goes with a storeProxy" },
		{ "storeCredentialsSecret: x\n", "storeCredentialsSecret goes with a storeURL" },
		{ "storeCoresPrefix: _cores\n", "storeCoresPrefix goes with a storeURL" },
		{ "storeURL: s3://b\nstoreCoresPrefix: cores\n", "policy.yaml:2: storeCoresPrefix must be a path that begins with an underscore" },
		{ "storeURL: s3://b\nstoreCoresPrefix: _cores/../x\n", "policy.yaml:2: storeCoresPrefix must be" },
		{ "storeURL: s3://b\nstoreCoresPrefix: _cores/\n", "policy.yaml:2: storeCoresPrefix must be" },
		{ "storeURL: s3://b\nstoreCoresPrefix: \"_$(HOME)\"\n", "policy.yaml:2: storeCoresPrefix must be" },
		{ "storeKeepDays: -1\n", "policy.yaml:1: storeKeepDays must be days from 0" },
		{ "spoolMax: a lot\n", "policy.yaml:1: spoolMax must be a quantity such as \"768Mi\"" },
		{ "sidecarResources: [1]\n", "policy.yaml:1: sidecarResources must be requests and limits" },
		{ "sidecarResources: {limit: {cpu: 1}}\n", "sidecarResources must be" },
		{ "sidecarResources: {limits: {cpu: [1]}}\n", "sidecarResources must be" },
		{ "sidecarResources: {limits: {nvidia.com/gpu: 1}}\n", "sidecarResources must be" },
		{ "sidecarResources: {limits: {cpu: one}}\n", "sidecarResources must be" },
		{ "sidecarResources: {requests: {memory: 1Gi}, limits: {memory: 512Mi}}\n", "no request above its limit" },
		{ "storeClaim: Failures\n", "policy.yaml:1: storeClaim must be the name of a PersistentVolumeClaim" },
		{ "storeClaim: $(HOME)\n", "policy.yaml:1: storeClaim must be the name" },
		{ "storeURL: s3://b\nstoreS3Region: \"a b\"\n", "policy.yaml:2: storeS3Region must be a region" },
		{ "memoryMode: apply\n", "policy.yaml:1: memoryMode must be Apply, Warn or Off" },
		{ "holdOnFailure: 0.5\n", "policy.yaml:1: holdOnFailure must be seconds" },
		{ "sidecarImagePullSecrets: x\n", "policy.yaml:1: sidecarImagePullSecrets must be a list" },
		{ "sidecarImagePullSecrets: [{name: x}]\n", "sidecarImagePullSecrets must be a list" },
		{ "hooks: [a]\n", "policy.yaml:1: hooks must be lists" },
		{ "hooks: {atthreshold: [a]}\n", "policy.yaml:1: hooks must be lists" },
		{ "hooks: {atDeath: a}\n", "policy.yaml:1: hooks must be lists" },
		{ "hooks: {atDeath: [1]}\n", "policy.yaml:1: hooks must be lists" },
		{ "hooks: {atDeath: [\"\"]}\n", "policy.yaml:1: hooks must be lists" },
		{ "hooks: {atDeath: [a, b, c, d, e, f, g, h, i]}\n", "policy.yaml:1: hooks must be lists" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy p = { 0 };
		struct err err = { 0 };

		assert_true(policy_parse(rows[i].yaml, strlen(rows[i].yaml), "policy.yaml", &p,
					 &err) < 0);
		if (!strstr(err.text, rows[i].text))
			fail_msg("\"%s\" does not hold \"%s\"", err.text, rows[i].text);
	}
}

/* A file that sets memoryMode keeps its meaning; what says nothing follows who makes the pods. */
static void budgets_have_a_mode_of_their_own(void **state)
{
	static const struct {
		const char *text;
		enum memory_mode by_default, settings, budgets;
	} rows[] = {
		{ "", MEMORY_MODE_WARN, MEMORY_MODE_APPLY, MEMORY_MODE_WARN },
		{ "", MEMORY_MODE_APPLY, MEMORY_MODE_APPLY, MEMORY_MODE_APPLY },
		{ "memoryMode: Apply\n", MEMORY_MODE_WARN, MEMORY_MODE_APPLY, MEMORY_MODE_APPLY },
		{ "memoryMode: Warn\n", MEMORY_MODE_APPLY, MEMORY_MODE_WARN, MEMORY_MODE_WARN },
		{ "memoryMode: Off\n", MEMORY_MODE_WARN, MEMORY_MODE_OFF, MEMORY_MODE_OFF },
		{ "memoryMode: null\nmemoryBudgets: ''\n", MEMORY_MODE_WARN, MEMORY_MODE_APPLY, MEMORY_MODE_WARN },
		{ "memoryBudgets: Apply\n", MEMORY_MODE_WARN, MEMORY_MODE_APPLY, MEMORY_MODE_APPLY },
		{ "memoryBudgets: Off\n", MEMORY_MODE_APPLY, MEMORY_MODE_APPLY, MEMORY_MODE_OFF },
		{ "memoryMode: Apply\nmemoryBudgets: Warn\n", MEMORY_MODE_APPLY, MEMORY_MODE_APPLY, MEMORY_MODE_WARN },
		/* The mode of all settings bounds that of budgets. */
		{ "memoryMode: Warn\nmemoryBudgets: Apply\n", MEMORY_MODE_APPLY, MEMORY_MODE_WARN, MEMORY_MODE_WARN },
		{ "memoryMode: Off\nmemoryBudgets: Apply\n", MEMORY_MODE_APPLY, MEMORY_MODE_OFF, MEMORY_MODE_OFF },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct memory_modes modes;
		struct policy p;

		parse(rows[i].text, &p);
		modes = policy_memory_modes(&p, rows[i].by_default);
		if (modes.settings != rows[i].settings || modes.budgets != rows[i].budgets)
			fail_msg("row %zu: %d, %d", i, modes.settings, modes.budgets);
		policy_release(&p);
	}
}

static void a_copy_shares_nothing_and_a_block_is_copied_as_a_whole(void **state)
{
	struct policy p, other, copy;

	(void)state;
	parse("sidecarImage: r/afterglow:1\nheadNumCPUs: 3\nheadroom: 500Mi\nhooks: {atDeath: [a]}\nstoreClaim: c\nwarnAt: 0.5\n",
	      &p);
	parse("headroom: 20%\nmemoryMode: \"Off\"\nstoreURL: s3://bucket\nholdOnFailure: 5\n",
	      &other);
	assert_int_equal(policy_copy(&p, &copy, NULL), 0);
	policy_release(&p);
	assert_string_equal(copy.sidecar_image, "r/afterglow:1");
	assert_string_equal(copy.memory.head_num_cpus, "3");
	assert_int_equal(copy.memory.headroom_bytes, 500 << 20);
	assert_int_equal(policy_copy_block(&copy, POLICY_MEMORY, &other, NULL), 0);
	assert_string_equal(copy.memory.head_num_cpus, "0");
	assert_true(copy.memory.headroom_bytes == 0 && copy.memory.headroom_fraction == 0.2 &&
		    copy.memory.mode == MEMORY_MODE_OFF);
	assert_true(copy.recording.hooks && copy.recording.warn_at == 0.5 &&
		    copy.recording.hold_on_failure == 0);
	assert_string_equal(copy.store.claim, "c");
	assert_int_equal(policy_copy_block(&copy, POLICY_STORE, &other, NULL), 0);
	assert_null(copy.store.claim);
	assert_string_equal(copy.store.url, "s3://bucket");
	assert_string_equal(copy.sidecar_image, "r/afterglow:1");
	policy_release(&copy);
	policy_release(&other);
}

static void a_missing_file_is_an_error_with_its_name(void **state)
{
	struct policy p;
	struct err err = { 0 };

	(void)state;
	assert_true(policy_load("/nonexistent/policy.yaml", &p, &err) < 0);
	assert_non_null(strstr(err.text, "/nonexistent/policy.yaml"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_gives_the_defaults),
		cmocka_unit_test(every_key_is_read),
		cmocka_unit_test(a_store_is_a_url_with_what_belongs_to_it),
		cmocka_unit_test(empty_values_are_as_absent_but_head_cpus_can_be_null),
		cmocka_unit_test(errors_name_key_line_and_what_is_right),
		cmocka_unit_test(budgets_have_a_mode_of_their_own),
		cmocka_unit_test(a_copy_shares_nothing_and_a_block_is_copied_as_a_whole),
		cmocka_unit_test(a_missing_file_is_an_error_with_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
