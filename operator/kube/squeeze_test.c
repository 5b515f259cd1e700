/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of compressing JSON text. */
#include "operator/kube/squeeze.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/json.h"

static size_t round_trip(const char *json)
{
	size_t len = 0, back_len = 0;
	_cleanup_free_ char *data = squeeze(json, strlen(json), &len);
	_cleanup_free_ char *back = data ? unsqueeze(data, len, &back_len) : NULL;

	assert_non_null(back);
	assert_int_equal(back_len, strlen(json));
	assert_memory_equal(back, json, back_len);
	return len;
}

static void what_was_squeezed_comes_back_as_it_was(void **state)
{
	static const char *const rows[] = {
		"", "{}", "\"", "\"\"", "\"na", "\"name\":", "\"name\":\"", "\"name\":\"\"name\":\"", "{\"name\":\"x\"}",
		"\"conditions\":[{\"type\":\"\"conditions\":[{\"type\":", "{\"a\":\"\\\"name\\\":\\\"\"}", "\xff\x7f\xc3\xa4",
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		round_trip(rows[i]);
}

static void a_text_of_any_length_comes_back(void **state)
{
	static char text[300000];
	(void)state;

	for (size_t len = 0; len < sizeof(text); len = len * 3 + 1) {
		for (size_t i = 0; i < len; i++)
			text[i] = "0f3a9c1d7e"[i * i % 10];
		text[len] = '\0';
		round_trip(text);
	}
}

static void control_characters_come_back(void **state)
{
	_cleanup_json_ cJSON *object = cJSON_CreateObject();
	(void)state;

	json_set_str(object, "\x01\x02\x1f", "\x03\x04\t\n\r\x1e");
	_cleanup_free_ char *text = cJSON_PrintUnformatted(object);
	round_trip(text);
}

static void a_pod_is_half_as_long(void **state)
{
	static const char pod[] =
		"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"c1-small-worker-8clq6\",\"namespace\":\"ml\",\"uid\":\"9c195d-4c32\","
		"\"resourceVersion\":\"3370\",\"creationTimestamp\":\"2026-11-21T01:00:00Z\",\"labels\":{"
		"\"app.kubernetes.io/created-by\":\"kuberay-operator\",\"app.kubernetes.io/name\":\"kuberay\",\"ray.io/cluster\":\"c1\","
		"\"ray.io/group\":\"small\",\"ray.io/identifier\":\"c1-worker\",\"ray.io/is-ray-node\":\"yes\","
		"\"ray.io/node-type\":\"worker\"},\"ownerReferences\":[{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\","
		"\"name\":\"c1\",\"uid\":\"cdab78f6\",\"controller\":true,\"blockOwnerDeletion\":true}]},\"spec\":{\"containers\":[{"
		"\"name\":\"ray-worker\",\"resources\":{\"limits\":{\"cpu\":\"1\",\"memory\":\"2Gi\"},\"requests\":{\"cpu\":\"1\","
		"\"memory\":\"2Gi\"}}}],\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":30},\"status\":{"
		"\"phase\":\"Running\",\"conditions\":[{\"type\":\"Initialized\",\"status\":\"True\"},{\"type\":\"Ready\","
		"\"status\":\"True\"}],\"podIP\":\"10.1.2.3\",\"startTime\":\"2026-11-21T01:00:00Z\",\"containerStatuses\":[{"
		"\"name\":\"ray-worker\",\"state\":{\"running\":{\"startedAt\":\"2026-11-21T01:00:00Z\"}},\"lastState\":{},"
		"\"ready\":true,\"restartCount\":0,\"containerID\":\"containerd://3f8e\",\"started\":true}]}}";
	(void)state;

	assert_true(round_trip(pod) < sizeof(pod) / 2);
}

/*
 * The watch keeps pods in this form. A hundred thousand of them are most of the operator's memory.
 */
static void a_running_pod_of_ours_is_a_sixth_as_long(void **state)
{
	static const char pod[] =
		"{\"metadata\":{\"name\":\"fleet-0000-small-worker-25wkv\",\"namespace\":\"fleet\",\"uid\":\"6b73816d-bd37-4d28-ad53-4e99161cf898\","
		"\"resourceVersion\":\"337\",\"creationTimestamp\":\"2026-11-22T15:47:03Z\",\"labels\":{\"app.kubernetes.io/created-by\":"
		"\"kuberay-operator\",\"app.kubernetes.io/name\":\"kuberay\",\"ray.io/cluster\":\"fleet-0000\",\"ray.io/group\":\"small\","
		"\"ray.io/identifier\":\"fleet-0000-worker\",\"ray.io/is-ray-node\":\"yes\",\"ray.io/node-type\":\"worker\","
		"\"ray.io/worker-group-replica-index\":\"72\"},\"annotations\":{\"afterglow.dev/recreate-hash\":"
		"\"v1-d56112726fa9d48f9b07c5f290c43036bdf84e3b\",\"ray.io/kuberay-version\":\"afterglow\"},\"ownerReferences\":[{\"apiVersion\":"
		"\"ray.io/v1\",\"kind\":\"RayCluster\",\"name\":\"fleet-0000\",\"uid\":\"3b3e0543-026b-40df-a0bd-3c8621ddcb6c\","
		"\"controller\":true,\"blockOwnerDeletion\":true}]},\"spec\":{\"volumes\":[{},{\"configMap\":{\"items\":[{\"key\":"
		"\"launch-x86_64-ccbb6db9232f9934\"}]}},{},{},{}],\"containers\":[{\"name\":\"ray-worker\",\"ports\":[{\"name\":\"metrics\","
		"\"containerPort\":8080,\"protocol\":\"TCP\"}],\"resources\":{\"limits\":{\"cpu\":\"1\",\"memory\":\"2Gi\"},\"requests\":{"
		"\"cpu\":\"1\",\"memory\":\"2Gi\"}}},{\"name\":\"afterglow\",\"ports\":[{\"name\":\"afterglow-http\",\"containerPort\":9095,"
		"\"protocol\":\"TCP\"}],\"resources\":{\"limits\":{\"cpu\":\"100m\",\"memory\":\"256Mi\"},\"requests\":{\"cpu\":\"100m\","
		"\"memory\":\"256Mi\"}}}],\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":30,\"nodeName\":\"node-0000\"},"
		"\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Initialized\",\"status\":\"True\"},{\"type\":\"Ready\","
		"\"status\":\"True\"},{\"type\":\"ContainersReady\",\"status\":\"True\"},{\"type\":\"PodScheduled\",\"status\":\"True\"}],"
		"\"podIP\":\"10.101.101.101\",\"startTime\":\"2026-11-22T14:46:17Z\",\"containerStatuses\":[{\"name\":\"ray-worker\",\"state\":{"
		"\"running\":{\"startedAt\":\"2026-11-22T14:46:17Z\"}},\"lastState\":{},\"ready\":true,\"restartCount\":0,\"containerID\":"
		"\"containerd://586fbb0f72a958cfed56f6e4375b89c27e30254c06cbae9da1b88769bf6d8cfa\",\"started\":true},{\"name\":\"afterglow\","
		"\"state\":{\"running\":{\"startedAt\":\"2026-11-22T14:46:17Z\"}},\"lastState\":{},\"ready\":true,\"restartCount\":0,"
		"\"containerID\":\"containerd://4c064321c12d4addd3984305c5652c979789fc9d02a1d09935f4f5f25364974b\",\"started\":true}]},"
		"\"apiVersion\":\"v1\",\"kind\":\"Pod\"}";
	(void)state;

	assert_true(round_trip(pod) * 6 < sizeof(pod));
}

static void what_is_cut_off_or_of_somebody_else_is_refused(void **state)
{
	static const char json[] = "{\"metadata\":{\"name\":\"x\"},\"kind\":\"Pod\"}";
	size_t len, back_len;
	_cleanup_free_ char *data = squeeze(json, strlen(json), &len);
	(void)state;

	for (size_t i = 0; i < len; i++)
		assert_null(unsqueeze(data, i, &back_len));
	assert_null(unsqueeze(json, strlen(json), &back_len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_squeezed_comes_back_as_it_was),
		cmocka_unit_test(a_text_of_any_length_comes_back),
		cmocka_unit_test(control_characters_come_back),
		cmocka_unit_test(a_pod_is_half_as_long),
		cmocka_unit_test(a_running_pod_of_ours_is_a_sixth_as_long),
		cmocka_unit_test(what_is_cut_off_or_of_somebody_else_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
