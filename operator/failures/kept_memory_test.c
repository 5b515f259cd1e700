/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of keeping what the tasks of ended pods needed. */
#include "operator/failures/kept_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/json.h"
#include "operator/testing.h"

#define NEEDS(peak)                                                                                                         \
	"'#afterglow-memory/1 {\"peaks\": {\"anonBytes\": 9}, \"tasks\": [{\"name\": \"ray::load\", \"runs\": 2, \"peakBytes\": " peak \
	", \"runsByPeak\": [[" peak ", 2]]}]}'"

/* A pod whose sidecar left that message, in YAML. */
static cJSON *pod_with(const char *cluster, const char *group, const char *message)
{
	char text[1000];

	snprintf(
		text, sizeof(text),
		"{metadata: {namespace: ml, name: w, annotations: {afterglow.dev/owner: RayJob/train}, labels: {ray.io/cluster: '%s', ray.io/group: '%s'}}, "
		"status: {containerStatuses: [{name: ray-worker}, {name: afterglow, state: {terminated: {finishedAt: '2026-11-27T10:00:00Z', "
		"message: %s}}}]}}",
		cluster, group, message);
	return json_of(text);
}

static void add(cJSON *clusters, const char *cluster, const char *group, const char *message,
		bool expected)
{
	_cleanup_json_ cJSON *pod = pod_with(cluster, group, message);

	assert_int_equal(kept_memory_add(clusters, pod), expected);
}

static cJSON *kept(const cJSON *change, const char *cluster)
{
	const char *text = cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(json_get(change, "data"), cluster));

	return text ? cJSON_Parse(text) : NULL;
}

static void pods_of_a_group_are_one_sum(void **state)
{
	_cleanup_json_ cJSON *clusters = cJSON_CreateObject();
	(void)state;

	add(clusters, "demo", "small", NEEDS("400"), true);
	add(clusters, "demo", "small", NEEDS("500"), true);
	add(clusters, "demo", "headgroup", NEEDS("100"), true);
	_cleanup_json_ cJSON *change = kept_memory_change("ml", NULL, clusters),
			     *demo = kept(change, "demo");
	assert_string_equal(json_str(change, "metadata.name"), "afterglow-memory");
	assert_string_equal(json_str(demo, "owner"), "RayJob/train");
	assert_string_equal(json_str(demo, "endedAt"), "2026-11-27T10:00:00Z");
	assert_int_equal(cJSON_GetArraySize(json_get(demo, "groups")), 2);
	const cJSON *small = json_find(json_get(demo, "groups"), "group", "small"),
		    *task = json_first(json_get(small, "needs.tasks"));
	assert_int_equal(json_int(small, "needs.containers", 0), 2);
	assert_int_equal(json_int(task, "runs", 0), 4);
	assert_int_equal(json_int(task, "peakBytes", 0), 500);
}

static void what_is_kept_already_is_added_to(void **state)
{
	_cleanup_json_ cJSON *clusters = cJSON_CreateObject();
	(void)state;

	add(clusters, "a.b", "small", NEEDS("400"), true);
	_cleanup_json_ cJSON *first = kept_memory_change("ml", NULL, clusters),
			     *second = kept_memory_change("ml", first, clusters);
	_cleanup_json_ cJSON *cluster = kept(second, "a.b");
	assert_int_equal(json_int(json_first(json_get(cluster, "groups")), "needs.containers", 0),
			 2);
	assert_null(json_get(second, "metadata.labels"));
}

static void entries_of_another_form_are_left_out(void **state)
{
	_cleanup_json_ cJSON *clusters = cJSON_CreateObject();
	_cleanup_json_ cJSON *have = json_of(
		"{data: {demo: '{\"groups\": [7, {\"group\": 4}, {\"group\": \"g\", \"needs\": {\"peaks\": 1}}]}', 'x': 'y'}}");
	_cleanup_json_ cJSON *runs = json_of(
		"{metadata: {labels: {ray.io/cluster: d}}, status: {containerStatuses: [{name: afterglow, state: {running: {}}}]}}");
	(void)state;

	assert_null(kept_memory_message(NULL));
	assert_null(kept_memory_message(runs));
	add(clusters, "", "g", NEEDS("1"), false);
	add(clusters, "demo", "g", "'killed'", false);
	add(clusters, "demo", "g", "'#afterglow-memory/1 {\"peaks\": 3}'", false);
	add(clusters, "demo", "g", "'#afterglow-memory/1 {\"peaks\": {}'", false);
	assert_null(clusters->child);
	add(clusters, "demo", "g", NEEDS("1"), true);
	_cleanup_json_ cJSON *change = kept_memory_change("ml", have, clusters),
			     *demo = kept(change, "demo");
	assert_int_equal(cJSON_GetArraySize(json_get(demo, "groups")), 1);
	assert_int_equal(json_int(json_first(json_get(demo, "groups")), "needs.containers", 0), 1);
	assert_null(cJSON_GetObjectItemCaseSensitive(json_get(change, "data"), "x"));
}

/*
 * Returns how many containers the group has after a further one ended, where the value had n groups
 * of that name.
 */
static int64_t containers_after(size_t n)
{
	_cleanup_json_ cJSON *clusters = cJSON_CreateObject(), *have = cJSON_CreateObject(),
			     *value = cJSON_CreateObject();
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < n; i++)
		json_append(json_array_at(value, "groups"),
			    json_of("{group: g, needs: {peaks: {}}}"));
	text = cJSON_PrintUnformatted(value);
	json_set_str(json_object_at(have, "data"), "demo", text);
	add(clusters, "demo", "g", NEEDS("1"), true);
	_cleanup_json_ cJSON *change = kept_memory_change("ml", have, clusters),
			     *demo = kept(change, "demo");
	return json_int(json_first(json_get(demo, "groups")), "needs.containers", 0);
}

static void of_a_value_with_more_than_we_write_no_more_is_added_up(void **state)
{
	(void)state;
	assert_int_equal(containers_after(KEPT_MEMORY_GROUPS_MAX), KEPT_MEMORY_GROUPS_MAX + 1);
	assert_int_equal(containers_after(1000), KEPT_MEMORY_GROUPS_MAX + 1);
	assert_int_equal(containers_after(2000), 1);
}

static void clusters_that_ended_first_are_removed_first(void **state)
{
	_cleanup_json_ cJSON *clusters = cJSON_CreateObject(), *have = cJSON_CreateObject();
	cJSON *data = json_object_at(have, "data");
	char name[32], text[200];
	(void)state;

	for (int i = 0; i < KEPT_MEMORY_CLUSTERS_MAX; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		snprintf(text, sizeof(text),
			 "{\"endedAt\":\"2026-11-%02dT00:00:00Z\", \"groups\": []}",
			 i < 7 ? 20 + i : 1 + i % 7);
		json_set_str(data, name, text);
	}
	json_set_str(data, "c9", "{\"endedAt\":\"2026-10-01T00:00:00Z\"}");
	json_set_str(data, "c11", "not JSON");
	add(clusters, "demo", "g", NEEDS("1"), true);
	add(clusters, "c3", "g", NEEDS("1"), true);
	add(clusters, "other", "g", NEEDS("1"), true);
	_cleanup_json_ cJSON *change = kept_memory_change("ml", have, clusters);
	assert_true(cJSON_IsNull(json_get(change, "data.c9")));
	assert_true(cJSON_IsNull(json_get(change, "data.c11")));
	assert_int_equal(cJSON_GetArraySize(json_get(change, "data")), 5);
}

static void all_have_room_in_a_configmap(void **state)
{
	_cleanup_json_ cJSON *clusters = cJSON_CreateObject(), *have = cJSON_CreateObject();
	_cleanup_free_ char *much = malloc(KEPT_MEMORY_MAX - 100);
	cJSON *data = json_object_at(have, "data");
	(void)state;

	memset(much, ' ', KEPT_MEMORY_MAX - 101);
	much[KEPT_MEMORY_MAX - 101] = '\0';
	json_set_str(data, "large", much);
	json_set_str(data, "small", "{\"endedAt\":\"2026-10-01T00:00:00Z\"}");
	add(clusters, "demo", "g", NEEDS("1"), true);
	_cleanup_json_ cJSON *change = kept_memory_change("ml", have, clusters);
	assert_true(cJSON_IsNull(json_get(change, "data.large")));
	assert_null(json_get(change, "data.small"));
}

static void a_configmap_with_very_many_foreign_keys_is_not_changed(void **state)
{
	_cleanup_json_ cJSON *clusters = cJSON_CreateObject(), *have = cJSON_CreateObject();
	cJSON *data = json_object_at(have, "data");
	char name[32];
	(void)state;

	for (int i = 0; i <= 2 * KEPT_MEMORY_CLUSTERS_MAX; i++) {
		snprintf(name, sizeof(name), "k%d", i);
		json_set_str(data, name, "x");
	}
	add(clusters, "demo", "g", NEEDS("1"), true);
	assert_null(kept_memory_change("ml", have, clusters));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_of_a_group_are_one_sum),
		cmocka_unit_test(what_is_kept_already_is_added_to),
		cmocka_unit_test(entries_of_another_form_are_left_out),
		cmocka_unit_test(of_a_value_with_more_than_we_write_no_more_is_added_up),
		cmocka_unit_test(clusters_that_ended_first_are_removed_first),
		cmocka_unit_test(all_have_room_in_a_configmap),
		cmocka_unit_test(a_configmap_with_very_many_foreign_keys_is_not_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
