/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the index of pods: by group and name, with pods that lack either. */
#include "operator/raycluster/pod_index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "operator/raycluster/testing.h"

static cJSON *pod(const char *name, const char *type, const char *group)
{
	cJSON *pod = cJSON_CreateObject(), *metadata = json_object_at(pod, "metadata"), *labels = json_object_at(metadata, "labels");

	if (name)
		json_set_str(metadata, "name", name);
	if (type)
		json_set_str(labels, "ray.io/node-type", type);
	if (group)
		json_set_str(labels, "ray.io/group", group);
	return pod;
}

static void pods_are_found_by_group_in_their_order_and_by_name(void **state)
{
	cJSON *pods[] = {
		pod("a", "worker", "small"), pod("h", "head", "headgroup"), pod("b", "worker", "big"), pod("c", "worker", "small"),
		pod(NULL, "worker", "small"), pod("d", "worker", NULL), pod("e", NULL, NULL), pod("g", "head", "small"),
	};
	const struct pod_list *list;
	struct pod_index index;
	size_t at = 99;
	(void)state;

	assert_int_equal(pod_index_init(&index, (const cJSON *const *)pods, ARRAY_SIZE(pods)), 0);
	list = pod_index_workers(&index, "small");
	assert_int_equal(list->n, 3);
	assert_true(list->at[0] == 0 && list->at[1] == 3 && list->at[2] == 4);
	assert_int_equal(pod_index_workers(&index, "big")->n, 1);
	assert_int_equal(pod_index_workers(&index, "")->n, 2);
	assert_int_equal(pod_index_workers(&index, "none")->n, 0);
	assert_int_equal(index.heads.n, 2);
	assert_true(pod_index_find(&index, "c", &at));
	assert_int_equal(at, 3);
	assert_true(pod_index_find(&index, "a", &at));
	assert_int_equal(at, 0);
	assert_false(pod_index_find(&index, "z", &at));
	pod_index_release(&index);
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
		cJSON_Delete(pods[i]);
}

static void of_no_pods_there_is_none(void **state)
{
	struct pod_index index;
	size_t at;
	(void)state;

	assert_int_equal(pod_index_init(&index, NULL, 0), 0);
	assert_int_equal(pod_index_workers(&index, "small")->n, 0);
	assert_false(pod_index_find(&index, "a", &at));
	pod_index_release(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_are_found_by_group_in_their_order_and_by_name),
		cmocka_unit_test(of_no_pods_there_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
