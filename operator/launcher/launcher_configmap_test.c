/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the launchers' ConfigMap of a namespace, step by step with a fake clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/launcher/launcher_configmap.h"
#include "operator/raycluster/testing.h"

#define OLD_KEY "launch-x86_64-00000000000000aa"
#define MINUTE (60 * NS_PER_SEC)
#define START (1000 * MINUTE)

struct world {
	struct launcher_configmap place;
	cJSON *map; /* the ConfigMap; NULL: it does not exist */
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct world));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct world *w = *state;

	launcher_configmap_release(&w->place);
	cJSON_Delete(w->map);
	free(w);
	return 0;
}

static cJSON *pod_with(const char *key)
{
	char yaml[256];

	snprintf(yaml, sizeof(yaml), "spec: {volumes: [{}, {configMap: {items: [{key: %s}, {}]}}]}",
		 key);
	return json_of(yaml);
}

static void pod_comes(struct world *w, const char *key)
{
	_cleanup_json_ cJSON *pod = pod_with(key);

	launcher_configmap_add_pod(&w->place, pod);
}

static void pod_goes(struct world *w, const char *key, int64_t now)
{
	_cleanup_json_ cJSON *pod = pod_with(key);

	launcher_configmap_remove_pod(&w->place, pod, now);
}

/* Merges as the API server does: RFC 7396, for two levels. */
static void merge(cJSON *map, const cJSON *change)
{
	static const char *const objects[] = { "binaryData", "data" };
	const cJSON *item;

	for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
		cJSON_ArrayForEach(item, json_get(change, objects[i])) {
			cJSON_DeleteItemFromObjectCaseSensitive(json_object_at(map, objects[i]),
								item->string);
			if (!cJSON_IsNull(item))
				json_set(json_object_at(map, objects[i]), item->string,
					 cJSON_Duplicate(item, true));
		}
}

/* Takes a step. Returns whether there was anything to do. */
static bool look_while(struct world *w, bool collect, int64_t now)
{
	_cleanup_json_ cJSON *change = NULL;
	struct err err = { 0 };

	assert_int_equal(launcher_configmap_change(&w->place, "ml", testing_launchers(), w->map,
						   collect, now, &change, &err),
			 0);
	if (!change)
		return false;
	assert_string_equal(json_str(change, "metadata.name"), "afterglow-launch");
	assert_string_equal(json_str(change, "metadata.namespace"), "ml");
	if (w->map)
		merge(w->map, change);
	else
		w->map = cJSON_Duplicate(change, true);
	return true;
}

static bool look(struct world *w, int64_t now)
{
	return look_while(w, true, now);
}

static const char *value(const struct world *w, const char *key)
{
	return cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(json_get(w->map, "binaryData"), key));
}

static const char *current(size_t i)
{
	return testing_launchers()->of[i].key;
}

static void add_old_key(struct world *w)
{
	json_set_str(json_object_at(w->map, "binaryData"), OLD_KEY, "b2xk");
}

static void where_ray_comes_all_launchers_come_too(void **state)
{
	struct world *w = *state;

	launcher_configmap_add_cluster(&w->place);
	assert_true(look(w, START));
	assert_string_equal(json_str(w->map, "kind"), "ConfigMap");
	assert_string_equal(value(w, current(0)), "f0VMRg==");
	assert_string_equal(value(w, current(1)), "f0FSTQ==");
	assert_false(look(w, START + MINUTE));
}

static void what_others_have_there_stays(void **state)
{
	struct world *w = *state;

	w->map = json_of(
		"{binaryData: {mine: AA==, afterglow-launch: AA==}, data: {launch: x, launch-x86_64-zz: y}}");
	launcher_configmap_add_cluster(&w->place);
	assert_true(look(w, START));
	launcher_configmap_remove_cluster(&w->place, START);
	assert_true(look(w, START + LAUNCHER_UNUSED_NS));
	assert_int_equal(cJSON_GetArraySize(json_get(w->map, "binaryData")), 2);
	assert_int_equal(cJSON_GetArraySize(json_get(w->map, "data")), 2);
}

static void a_key_that_somebody_changed_moved_or_removed_is_repaired(void **state)
{
	struct world *w = *state;

	pod_comes(w, current(0));
	assert_true(look(w, START));
	json_set_str(json_get(w->map, "binaryData"), current(0), "ZXZpbA==");
	assert_true(look(w, START));
	assert_string_equal(value(w, current(0)), "f0VMRg==");
	cJSON_DeleteItemFromObjectCaseSensitive(json_get(w->map, "binaryData"), current(1));
	json_set_str(json_object_at(w->map, "data"), current(1), "text");
	assert_true(look(w, START));
	assert_string_equal(value(w, current(1)), "f0FSTQ==");
	assert_int_equal(cJSON_GetArraySize(json_get(w->map, "data")), 0);
	assert_false(look(w, START));
}

static void an_old_key_stays_while_a_pod_refers_to_it_and_an_hour_longer(void **state)
{
	struct world *w = *state;

	pod_comes(w, OLD_KEY);
	pod_comes(w, OLD_KEY);
	pod_comes(w, current(0));
	look(w, START);
	add_old_key(w);
	assert_false(look(w, START + 5000 * MINUTE));
	pod_goes(w, OLD_KEY, START + 5000 * MINUTE);
	assert_false(look(w, START + 5100 * MINUTE));
	pod_goes(w, OLD_KEY, START + 5100 * MINUTE);
	assert_false(look(w, START + 5159 * MINUTE));
	assert_true(look(w, START + 5160 * MINUTE));
	assert_null(value(w, OLD_KEY));
	assert_non_null(value(w, current(0)));
	assert_int_equal(w->place.keys.n, 2); /* the next look forgets it */
	assert_false(look(w, START + 5160 * MINUTE));
	assert_int_equal(w->place.keys.n, 1);
}

/* A key whose use the process has not seen may have been in use a minute ago. */
static void a_key_found_unused_has_its_hour_from_then_on(void **state)
{
	struct world *w = *state;

	launcher_configmap_add_cluster(&w->place);
	look(w, START);
	add_old_key(w);
	assert_false(look(w, START));
	assert_false(look(w, START + 59 * MINUTE));
	pod_comes(w, OLD_KEY);
	pod_goes(w, OLD_KEY, START + 59 * MINUTE);
	assert_false(look(w, START + 61 * MINUTE));
	assert_true(look(w, START + 119 * MINUTE));
	assert_null(value(w, OLD_KEY));
}

static void nothing_is_removed_before_all_pods_are_known(void **state)
{
	struct world *w = *state;

	launcher_configmap_add_cluster(&w->place);
	look(w, START);
	add_old_key(w);
	look_while(w, false, START);
	assert_false(look_while(w, false, START + 600 * MINUTE));
	assert_false(look(w, START + 600 * MINUTE));
	assert_true(look(w, START + 660 * MINUTE));
}

static void an_hour_after_the_last_of_ray_all_keys_go(void **state)
{
	struct world *w = *state;

	launcher_configmap_add_cluster(&w->place);
	pod_comes(w, current(0));
	look(w, START);
	add_old_key(w);
	json_set_str(json_object_at(w->map, "data"), "launch-aarch64-00000000000000bb", "text");
	launcher_configmap_remove_cluster(&w->place, START);
	assert_false(launcher_configmap_is_over(&w->place, START + 100 * MINUTE));
	pod_goes(w, current(0), START + 100 * MINUTE);
	assert_false(launcher_configmap_is_over(&w->place, START + 159 * MINUTE));
	assert_true(launcher_configmap_is_over(&w->place, START + 160 * MINUTE));
	assert_true(look(w, START + 160 * MINUTE));
	assert_int_equal(cJSON_GetArraySize(json_get(w->map, "binaryData")), 0);
	assert_int_equal(cJSON_GetArraySize(json_get(w->map, "data")), 0);
	assert_false(look(w, START + 160 * MINUTE));
	launcher_configmap_add_cluster(&w->place);
	assert_true(look(w, START + 161 * MINUTE));
	assert_non_null(value(w, current(0)));
}

static void without_ray_no_configmap_is_made(void **state)
{
	struct world *w = *state;

	launcher_configmap_add_cluster(&w->place);
	launcher_configmap_remove_cluster(&w->place, START);
	assert_false(look(w, START + MINUTE));
	assert_false(look(w, START + 100 * MINUTE));
}

static void a_user_who_names_many_keys_is_bounded_and_keeps_them(void **state)
{
	struct world *w = *state;
	char key[64];

	look(w, START);
	add_old_key(w);
	for (int i = 0; i < 2 * LAUNCHER_PLACE_KEYS_MAX; i++) {
		snprintf(key, sizeof(key), "launch-x86_64-%016x", i + 1000);
		pod_comes(w, key);
	}
	assert_int_equal(w->place.keys.n, LAUNCHER_PLACE_KEYS_MAX);
	look(w, START);
	assert_false(look(w, START + 600 * MINUTE));
	for (int i = 0; i < 2 * LAUNCHER_PLACE_KEYS_MAX; i++) {
		snprintf(key, sizeof(key), "launch-x86_64-%016x", i + 1000);
		pod_goes(w, key, START + 600 * MINUTE);
	}
	pod_comes(w, current(0));
	assert_false(look(w, START + 600 * MINUTE));
	assert_true(look(w, START + 660 * MINUTE));
	assert_null(value(w, OLD_KEY));
}

static void hostile_pods_and_configmaps_do_no_harm(void **state)
{
	static const char *const pods[] = {
		"{}", "spec: {volumes: 7}", "spec: {volumes: [null, {configMap: 1}, {configMap: {items: x}}]}",
		"spec: {volumes: [{configMap: {items: [null, {key: 1}, {key: ''}]}}]}",
	};
	static const char *const maps[] = { "{}", "{binaryData: 7, data: [x]}",
					    "{binaryData: {launch-x86_64-00000000000000cc: 1}}" };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(pods); i++) {
		_cleanup_json_ cJSON *pod = json_of(pods[i]);

		launcher_configmap_add_pod(&w->place, pod);
		launcher_configmap_remove_pod(&w->place, pod, START);
		launcher_configmap_remove_pod(&w->place, pod, START);
	}
	launcher_configmap_add_cluster(&w->place);
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		_cleanup_json_ cJSON *map = json_of(maps[i]), *change = NULL;

		assert_int_equal(launcher_configmap_change(&w->place, "ml", testing_launchers(),
							   map, true, START, &change, NULL),
				 0);
		assert_non_null(change);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(where_ray_comes_all_launchers_come_too),
		TEST(what_others_have_there_stays),
		TEST(a_key_that_somebody_changed_moved_or_removed_is_repaired),
		TEST(an_old_key_stays_while_a_pod_refers_to_it_and_an_hour_longer),
		TEST(a_key_found_unused_has_its_hour_from_then_on),
		TEST(nothing_is_removed_before_all_pods_are_known),
		TEST(an_hour_after_the_last_of_ray_all_keys_go),
		TEST(without_ray_no_configmap_is_made),
		TEST(a_user_who_names_many_keys_is_bounded_and_keeps_them),
		TEST(hostile_pods_and_configmaps_do_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
