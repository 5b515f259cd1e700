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
	_cleanup_strbuf_ struct strbuf back = STRBUF_INIT(1 << 20);
	_cleanup_free_ char *text = strdup(json);
	size_t len = squeeze(text, strlen(text));

	unsqueeze(text, len, &back);
	assert_string_equal(strbuf_str(&back), json);
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
		assert_true(round_trip(rows[i]) <= strlen(rows[i]));
}

static void hexadecimal_digits_come_back_as_they_were(void **state)
{
	static const struct {
		const char *text;
		size_t squeezed;
	} rows[] = {
		{ "deadbee", 7 },
		{ "deadbeef", 6 },
		{ "deadbeef0", 7 },
		{ "00000000", 6 },
		{ "DEADBEEF", 8 },
		{ "6b73816d-bd37-4d28-ad53-4e99161cf898", 18 },
		{ "6b73816d-bd37-4d28-ad53-4e99161cf898abcdef01", 24 },
		{ "6b73816dff-bd37-4d28-ad53-4e99161cf898", 7 + 16 + 8 },
		/* These are almost uids: a digit, a dash or the end is missing. */
		{ "6b73816d-bd37-4d28-ad53-4e99161cf89", 6 + 16 + 8 },
		{ "6b73816d-bd37-4d28-ad53-4e99161cf89x", 6 + 16 + 9 },
		{ "6b73816d-bd37-4d28-ad534e99161cf898a", 6 + 11 + 11 },
		{ "6b73816d-bd3-", 6 + 5 },
		{ "6b73816d-", 7 },
		{ "x\"586fbb0f72a958cfed56f6e4375b89c27e30254c06cbae9da1b88769bf6d8cfa\"", 37 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(round_trip(rows[i].text), rows[i].squeezed);
}

static void any_number_of_digits_comes_back(void **state)
{
	char text[700];
	(void)state;

	for (size_t len = 0; len < sizeof(text); len++) {
		for (size_t i = 0; i < len; i++)
			text[i] = "0f3a9c1d7e"[i % 10];
		text[len] = '\0';
		assert_true(round_trip(text) <= MIN(len, len / 2 + 2 * (1 + len / 254) + 8));
	}
}

static void control_characters_in_an_object_are_no_codes(void **state)
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
static void a_running_pod_of_ours_is_less_than_a_third_as_long(void **state)
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

	assert_true(round_trip(pod) * 10 < sizeof(pod) * 3);
}

static void a_code_that_is_cut_off_or_unknown_is_no_harm(void **state)
{
	static const char *const texts[] = { "\x1f",	   "a\x1f",	   "\x1f\xff",	   "\x1f\x1f",
					     "\x1f\x80",   "\x1f\x81",   "\x1f\x84xyz", "\x1f\x7f",
					     "\x1f\x7fxyz", "\x1f\x7e",   "\x1f\x1f\x84" };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_strbuf_ struct strbuf back = STRBUF_INIT(64);

		unsqueeze(texts[i], strlen(texts[i]), &back);
		assert_int_equal(back.len, strlen(texts[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_squeezed_comes_back_as_it_was),
		cmocka_unit_test(hexadecimal_digits_come_back_as_they_were),
		cmocka_unit_test(any_number_of_digits_comes_back),
		cmocka_unit_test(control_characters_in_an_object_are_no_codes),
		cmocka_unit_test(a_pod_is_half_as_long),
		cmocka_unit_test(a_running_pod_of_ours_is_less_than_a_third_as_long),
		cmocka_unit_test(a_code_that_is_cut_off_or_unknown_is_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
