/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the warnings of a pod, also of one that lies, and of the Event that they become. */
#include "operator/failures/growth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/json.h"
#include "lib/macros.h"

#define NOW (1795224600 * NS_PER_SEC)
#define POD "{\"metadata\":{\"name\":\"h\",\"namespace\":\"ml\",\"uid\":\"u1\"},\"spec\":{\"containers\":[{\"name\":\"ray-head\"},{\"name\":\"b\"}]}}"
#define CLUSTER "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"demo\",\"namespace\":\"ml\",\"uid\":\"c1\"}}"
#define FIGURES "\"bytes\":1895825408,\"growthBytesPerHour\":20971520,\"grewSeconds\":14400,\"limitBytes\":2147483648,\"secondsLeft\":43200"
#define WARNING(container, more) "{\"kind\":\"MemoryGrowing\",\"container\":\"" container "\"," more "}"
#define GOOD WARNING("ray-head", "\"process\":\"gcs_server\"," FIGURES)

static cJSON *json_of(const char *text)
{
	cJSON *json = NULL;

	if (json_parse(text, strlen(text), &json, NULL) < 0)
		fail_msg("%s", text);
	return json;
}

static size_t taken(const char *warnings, struct growth ret[static GROWTHS_MAX])
{
	_cleanup_json_ cJSON *pod = json_of(POD), *json = json_of(warnings);

	return growth_take(json, pod, ret);
}

static cJSON *event_of(const char *warnings, int64_t now_ns)
{
	_cleanup_json_ cJSON *pod = json_of(POD), *cluster = json_of(CLUSTER);
	struct growth growths[GROWTHS_MAX];

	assert_int_equal(taken(warnings, growths), 1);
	return growth_event(cluster, pod, &growths[0], now_ns);
}

static void a_warning_is_an_event_of_the_cluster_with_slope_and_time_left(void **state)
{
	_cleanup_json_ cJSON *event = event_of("[" GOOD "]", NOW);
	(void)state;

	assert_string_equal(json_str(event, "reason"), "MemoryGrowing");
	assert_string_equal(json_str(event, "type"), "Warning");
	assert_string_equal(json_str(event, "metadata.namespace"), "ml");
	assert_string_equal(json_str(event, "regarding.kind"), "RayCluster");
	assert_string_equal(json_str(event, "regarding.uid"), "c1");
	assert_string_equal(
		json_str(event, "note"),
		"Memory of gcs_server in container ray-head of pod h grew by 20.0 MiB per hour for 4 h 0 min, to 1.8 GiB. "
		"At that rate the container meets its memory limit of 2.0 GiB in 12 h 0 min.");
}

static void without_a_process_it_is_all_of_them(void **state)
{
	_cleanup_json_ cJSON *event =
		event_of("[" WARNING("ray-head", "\"process\":null," FIGURES) "]", NOW);
	(void)state;

	assert_int_equal(strncmp(json_str(event, "note"),
				 "Memory of the processes in container ray-head ", 46),
			 0);
}

static void it_has_one_name_for_six_hours_whatever_the_figures(void **state)
{
	const int64_t begin = NOW / GROWTH_AGAIN_NS * GROWTH_AGAIN_NS;
	_cleanup_json_ cJSON *first = event_of("[" GOOD "]", begin),
			     *later = event_of("[" GOOD "]", begin + GROWTH_AGAIN_NS);
	_cleanup_json_ cJSON *again = event_of(
		"[" WARNING(
			"ray-head",
			"\"bytes\":1900000000,\"growthBytesPerHour\":21000000,"
			"\"grewSeconds\":18000,\"limitBytes\":2147483648,\"secondsLeft\":40000") "]",
		begin + GROWTH_AGAIN_NS - 1);
	_cleanup_json_ cJSON *other = event_of("[" WARNING("b", FIGURES) "]", begin);
	const char *name = json_str(first, "metadata.name");
	(void)state;

	assert_int_equal(strncmp(name, "demo.", 5), 0);
	assert_string_equal(json_str(again, "metadata.name"), name);
	assert_string_not_equal(json_str(later, "metadata.name"), name);
	assert_string_not_equal(json_str(other, "metadata.name"), name);
}

static void what_is_no_warning_of_this_pod_is_passed_over(void **state)
{
	static const char *const rows[] = {
		"null", "{}", "[]", "\"MemoryGrowing\"", "[1, null, [], {}]",
		"[" WARNING("other", FIGURES) "]",
		"[" WARNING("", FIGURES) "]",
		"[{\"kind\":\"DiskFilling\",\"container\":\"ray-head\"," FIGURES "}]",
		"[{\"container\":\"ray-head\"," FIGURES "}]",
		"[" WARNING("ray-head", "\"bytes\":1") "]",
		"[" WARNING("ray-head", "\"bytes\":-1,\"growthBytesPerHour\":1,\"grewSeconds\":1,\"limitBytes\":1,\"secondsLeft\":1") "]",
		"[" WARNING("ray-head", "\"bytes\":1,\"growthBytesPerHour\":0,\"grewSeconds\":1,\"limitBytes\":1,\"secondsLeft\":1") "]",
		"[" WARNING("ray-head", "\"bytes\":1,\"growthBytesPerHour\":1e300,\"grewSeconds\":1,\"limitBytes\":1,\"secondsLeft\":1") "]",
		"[" WARNING("ray-head", "\"bytes\":1,\"growthBytesPerHour\":1,\"grewSeconds\":1e9,\"limitBytes\":1,\"secondsLeft\":1") "]",
		"[" WARNING("ray-head", "\"bytes\":1,\"growthBytesPerHour\":1,\"grewSeconds\":1,\"limitBytes\":0,\"secondsLeft\":1") "]",
		"[" WARNING("ray-head", "\"bytes\":1,\"growthBytesPerHour\":1,\"grewSeconds\":1,\"limitBytes\":1,\"secondsLeft\":86401") "]",
		"[" WARNING("ray-head", "\"bytes\":\"1\",\"growthBytesPerHour\":1,\"grewSeconds\":1,\"limitBytes\":1,\"secondsLeft\":1") "]",
	};
	struct growth growths[GROWTHS_MAX];
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (taken(rows[i], growths))
			fail_msg("%s", rows[i]);
}

static void each_container_has_one_and_a_name_cannot_steer_a_terminal(void **state)
{
	struct growth growths[GROWTHS_MAX];
	(void)state;

	assert_int_equal(
		taken("[" GOOD "," GOOD
		      "," WARNING("b", "\"process\":\"a\\u001b[31m\\nb\"," FIGURES) "," GOOD "]",
		      growths),
		2);
	assert_string_equal(growths[0].process, "gcs_server");
	assert_string_equal(growths[1].container, "b");
	assert_string_equal(growths[1].process, "a?[31m?b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_warning_is_an_event_of_the_cluster_with_slope_and_time_left),
		cmocka_unit_test(without_a_process_it_is_all_of_them),
		cmocka_unit_test(it_has_one_name_for_six_hours_whatever_the_figures),
		cmocka_unit_test(what_is_no_warning_of_this_pod_is_passed_over),
		cmocka_unit_test(each_container_has_one_and_a_name_cannot_steer_a_terminal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
