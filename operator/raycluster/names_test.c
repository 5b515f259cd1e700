/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the names that follow from a RayCluster's. */
#include "operator/raycluster/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "lib/json.h"
#include "operator/testing.h"

static void a_pods_name_is_its_clusters_its_groups_and_five_characters(void **state)
{
	_cleanup_json_ cJSON *cluster = json_of("metadata: {name: demo, uid: u1}");
	char name[POD_NAME_MAX], again[POD_NAME_MAX], other[POD_NAME_MAX];
	(void)state;

	pod_name(cluster, RAY_WORKER, "small", "seed", 0, name);
	assert_int_equal(strncmp(name, "demo-small-worker-", 18), 0);
	assert_int_equal(strlen(name), 18 + 5);
	pod_name(cluster, RAY_WORKER, "small", "seed", 0, again);
	assert_string_equal(name, again);
	/* Another number, seed or cluster gives another name. */
	pod_name(cluster, RAY_WORKER, "small", "seed", 1, other);
	assert_string_not_equal(name, other);
	pod_name(cluster, RAY_WORKER, "small", "other", 0, other);
	assert_string_not_equal(name, other);
	json_set_str(json_get(cluster, "metadata"), "uid", "u2");
	pod_name(cluster, RAY_WORKER, "small", "seed", 0, other);
	assert_string_not_equal(name, other);
}

static void a_long_name_is_cut_and_stays_a_name(void **state)
{
	_cleanup_json_ cJSON *cluster = json_of("metadata: {uid: u1}");
	char name[POD_NAME_MAX], long_name[254];
	(void)state;

	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	json_set_str(json_get(cluster, "metadata"), "name", long_name);
	pod_name(cluster, RAY_HEAD, HEAD_GROUP_NAME, "seed", 7, name);
	assert_true(strlen(name) < POD_NAME_MAX);
	assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-"), strlen(name));
}

static void a_name_that_is_cut_begins_with_a_letter(void **state)
{
	char buf[CUT_NAME_MAX];
	(void)state;

	assert_string_equal(cut_name("demo", buf), "demo");
	cut_name("abcdefghij-1234567890-1234567890-1234567890-1234567890", buf);
	assert_int_equal(strlen(buf), CUT_NAME_MAX - 1);
	assert_true(buf[0] >= 'a' && buf[0] <= 'z');
}

static void services_are_called_after_the_cluster_unless_the_spec_says_otherwise(void **state)
{
	_cleanup_json_ cJSON *cluster =
		json_of("{metadata: {name: demo, namespace: ml}, spec: {headGroupSpec: {}}}");
	_cleanup_json_ cJSON *named = json_of(
		"{metadata: {name: demo}, spec: {headGroupSpec: {headService: {metadata: {name: mine}}}}}");
	_cleanup_free_ char *head = head_service_name(cluster), *own = head_service_name(named),
			    *headless = headless_service_name(cluster);
	(void)state;

	assert_string_equal(head, "demo-head-svc");
	assert_string_equal(own, "mine");
	assert_string_equal(headless, "demo-headless");
}

static void the_heads_port_is_its_start_parameter_or_rays_own(void **state)
{
	_cleanup_json_ cJSON *own =
		json_of("{spec: {headGroupSpec: {rayStartParams: {port: '6380'}}}}");
	_cleanup_json_ cJSON *none = json_of("{spec: {headGroupSpec: {}}}"),
			     *odd = json_of("{spec: {headGroupSpec: {rayStartParams: []}}}");
	(void)state;

	assert_string_equal(head_gcs_port(own), "6380");
	assert_string_equal(head_gcs_port(none), HEAD_GCS_PORT);
	assert_string_equal(head_gcs_port(odd), HEAD_GCS_PORT);
}

static void an_owner_reference_holds_its_cluster_back(void **state)
{
	_cleanup_json_ cJSON *cluster = json_of("metadata: {name: demo, uid: u1}");
	_cleanup_json_ cJSON *references = owner_references(cluster);
	const cJSON *first = cJSON_GetArrayItem(references, 0);
	(void)state;

	assert_string_equal(json_str(first, "kind"), "RayCluster");
	assert_string_equal(json_str(first, "uid"), "u1");
	assert_true(json_bool(first, "controller", false));
	assert_true(json_bool(first, "blockOwnerDeletion", false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pods_name_is_its_clusters_its_groups_and_five_characters),
		cmocka_unit_test(a_long_name_is_cut_and_stays_a_name),
		cmocka_unit_test(a_name_that_is_cut_begins_with_a_letter),
		cmocka_unit_test(services_are_called_after_the_cluster_unless_the_spec_says_otherwise),
		cmocka_unit_test(the_heads_port_is_its_start_parameter_or_rays_own),
		cmocka_unit_test(an_owner_reference_holds_its_cluster_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
