/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of which policies exist and which apply, change by change, and of what each of them
 * governs.
 */
#include "operator/policy/policy_book.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/json.h"
#include "operator/policy/policy_count.h"
#include "operator/testing.h"

/* Of the processor; sanitizers take ten times as long. */
#ifdef __SANITIZE_ADDRESS__
#define TURN_MAX_MS 500
#else
#define TURN_MAX_MS 50
#endif

static int setup(void **state)
{
	struct policy_book *book = calloc(1, sizeof(*book));
	struct policy own;
	struct err err = { 0 };

	assert_int_equal(policy_init(&own, &err), 0);
	own.sidecar_image = strdup("sidecar");
	own.store.keep_days = 1;
	assert_int_equal(policy_book_init(book, &own, own.retention, &err), 0);
	policy_release(&own);
	*state = book;
	return 0;
}

static int teardown(void **state)
{
	policy_book_release(*state);
	free(*state);
	return 0;
}

/*
 * Makes a RayPolicy of namespace ml, or a ClusterRayPolicy, that was created at that minute and has
 * these members in its spec.
 */
static cJSON *policy_of(const char *name, bool is_cluster_wide, int minute, int generation,
			const char *spec)
{
	char yaml[1024];

	snprintf(
		yaml, sizeof(yaml),
		"apiVersion: afterglow.dev/v1alpha1\nkind: %s\nmetadata: {name: %s%s, uid: u-%s, generation: %d, "
		"creationTimestamp: '2026-11-21T01:%02d:00Z'}\nspec: {%s}\n",
		is_cluster_wide ? "ClusterRayPolicy" : "RayPolicy", name,
		is_cluster_wide ? "" : ", namespace: ml", name, generation, minute, spec);
	return json_of(yaml);
}

static bool see(struct policy_book *book, const char *name, bool is_cluster_wide, int minute,
		int generation, const char *spec)
{
	_cleanup_json_ cJSON *object = policy_of(name, is_cluster_wide, minute, generation, spec);

	return policy_book_see_policy(book, is_cluster_wide, NULL, object);
}

static void goes(struct policy_book *book, const char *name, bool is_cluster_wide)
{
	_cleanup_json_ cJSON *object = policy_of(name, is_cluster_wide, 0, 1, "");

	assert_true(policy_book_see_policy(book, is_cluster_wide, object, NULL));
}

/* Returns how many days the bundles of a cluster with these labels are kept. */
static int64_t keep_days(struct policy_book *book, const char *namespace, const char *labels)
{
	_cleanup_json_ cJSON *json = json_of(labels);
	const char *origin;

	return policy_book_for(book, namespace, json, &origin)->store.keep_days;
}

static void without_policies_the_operators_own_holds(void **state)
{
	struct policy_book *book = *state;
	const char *origin = "?";

	assert_true(policy_book_is_empty(book));
	assert_int_equal(policy_book_for(book, "ml", NULL, &origin)->store.keep_days, 1);
	assert_null(origin);
}

static void a_policy_holds_where_it_selects_until_it_is_gone(void **state)
{
	struct policy_book *book = *state;

	assert_true(see(book, "a", false, 1, 1,
			"selector: {matchLabels: {team: x}}, store: {claim: c, keep: {days: 7}}"));
	assert_false(policy_book_is_empty(book));
	assert_int_equal(keep_days(book, "ml", "{team: x}"), 7);
	assert_int_equal(keep_days(book, "ml", "{team: y}"), 1);
	assert_int_equal(keep_days(book, "other", "{team: x}"), 1);
	goes(book, "a", false);
	assert_int_equal(keep_days(book, "ml", "{team: x}"), 1);
	assert_true(policy_book_is_empty(book));
}

static void a_policy_that_is_seen_again_is_a_change_only_in_another_generation(void **state)
{
	struct policy_book *book = *state;

	assert_true(see(book, "a", false, 1, 1, "store: {claim: c, keep: {days: 7}}"));
	assert_false(see(book, "a", false, 1, 1, "store: {claim: c, keep: {days: 7}}"));
	assert_true(see(book, "a", false, 1, 2, "store: {claim: c, keep: {days: 9}}"));
	assert_int_equal(keep_days(book, "ml", "{}"), 9);
}

static void of_two_that_select_a_cluster_the_older_holds(void **state)
{
	struct policy_book *book = *state;

	see(book, "young", false, 9, 1, "store: {claim: c, keep: {days: 9}}");
	see(book, "old", false, 3, 1, "store: {claim: c, keep: {days: 3}}");
	assert_int_equal(keep_days(book, "ml", "{}"), 3);
	goes(book, "old", false);
	assert_int_equal(keep_days(book, "ml", "{}"), 9);
}

static void a_cluster_wide_policy_selects_namespaces_by_their_labels(void **state)
{
	struct policy_book *book = *state;
	_cleanup_json_ cJSON *namespace = json_of("metadata: {name: ml, labels: {stage: prod}}");
	_cleanup_json_ cJSON *renamed = json_of("metadata: {name: ml, labels: {stage: test}}");

	see(book, "all", true, 1, 1,
	    "namespaceSelector: {matchLabels: {stage: prod}}, store: {claim: c, keep: {days: 5}}");
	assert_int_equal(keep_days(book, "ml", "{}"), 1);
	assert_true(policy_book_see_namespace(book, NULL, namespace));
	assert_false(policy_book_see_namespace(book, namespace, namespace));
	assert_int_equal(keep_days(book, "ml", "{}"), 5);
	assert_true(policy_book_see_namespace(book, namespace, renamed));
	assert_int_equal(keep_days(book, "ml", "{}"), 1);
}

static void a_namespace_of_which_nothing_is_known_has_its_name(void **state)
{
	struct policy_book *book = *state;

	see(book, "all", true, 1, 1,
	    "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ml}}, store: {claim: c, keep: {days: 5}}");
	assert_int_equal(keep_days(book, "ml", "{}"), 5);
	assert_int_equal(keep_days(book, "other", "{}"), 1);
}

static void more_combinations_than_are_kept_ready_hold_all_the_same(void **state)
{
	struct policy_book *book = *state;
	char name[32], spec[256], labels[64];

	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		snprintf(spec, sizeof(spec),
			 "selector: {matchLabels: {n: '%d'}}, store: {claim: c, keep: {days: %d}}",
			 i, i + 2);
		see(book, name, false, i, 1, spec);
		snprintf(name, sizeof(name), "c%d", i);
		snprintf(spec, sizeof(spec),
			 "selector: {matchLabels: {m: '%d'}}, store: {claim: c, keep: {days: %d}}",
			 i, 100 + i);
		see(book, name, true, i, 1, spec);
	}
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 40; i++) {
			snprintf(labels, sizeof(labels), "{n: '%d'}", i);
			assert_int_equal(keep_days(book, "ml", labels), i + 2);
			snprintf(labels, sizeof(labels), "{m: '%d'}", i);
			assert_int_equal(keep_days(book, "ml", labels), 100 + i);
		}
}

static const struct policy_tally *tally_of(const struct policy_book *book, bool is_cluster_wide,
					   const char *key)
{
	const struct known_policy *known = strmap_get(&book->known[is_cluster_wide], key);

	assert_non_null(known);
	return &known->tally;
}

static bool by_cluster(const cJSON *object, char *buf, size_t size)
{
	const char *cluster = json_str(object, "cluster");

	return cluster && snprintf(buf, size, "ml/%s", cluster) < (int)size;
}

static int64_t cpu_ms(void)
{
	return clock() / (CLOCKS_PER_SEC / 1000);
}

/* Returns the processor time of the longest of the calls. */
static int64_t count_all(struct policy_book *book, const struct store *pods)
{
	int64_t longest = 0, from;
	bool over = false;

	while (!over) {
		from = cpu_ms();
		over = policy_count_some(book, pods);
		longest = MAX(longest, cpu_ms() - from);
	}
	return longest;
}

static void each_policy_knows_what_it_governs_and_what_is_in_its_way(void **state)
{
	struct policy_book *book = *state;
	_cleanup_json_ cJSON *x = json_of("metadata: {namespace: ml, name: x, labels: {team: x}}");
	_cleanup_json_ cJSON *y = json_of("metadata: {namespace: ml, name: y, labels: {team: y}}");
	struct store pods;

	store_init(&pods, by_cluster);
	for (int i = 0; i < 3; i++) {
		char yaml[128];

		snprintf(
			yaml, sizeof(yaml),
			"{metadata: {namespace: ml, name: p%d, uid: u%d, resourceVersion: '5'}, cluster: x}",
			i, i);
		assert_int_equal(store_put(&pods, json_of(yaml), false, NULL, NULL), 0);
	}
	see(book, "old", false, 1, 1, "store: {claim: c, keep: {days: 3}}");
	see(book, "young", false, 2, 1,
	    "selector: {matchLabels: {team: x}}, store: {claim: c, keep: {days: 9}}");
	assert_true(policy_book_see_cluster(book, NULL, x));
	assert_true(policy_book_see_cluster(book, NULL, y));
	for (int round = 0; round < 2; round++) {
		count_all(book, &pods);
		assert_int_equal(tally_of(book, false, "ml/old")->clusters, 2);
		assert_int_equal(tally_of(book, false, "ml/old")->pods, 3);
		assert_int_equal(tally_of(book, false, "ml/young")->clusters, 0);
		assert_ptr_equal(
			tally_of(book, false, "ml/young")->losses[POLICY_STORE].winner,
			((struct known_policy *)strmap_get(&book->known[0], "ml/old"))->object);
	}
	assert_true(policy_book_see_cluster(book, y, NULL));
	count_all(book, &pods);
	assert_int_equal(tally_of(book, false, "ml/old")->clusters, 1);
	store_release(&pods);
}

/*
 * A RayPolicy of as many requirements and values as there may be, all of which hold where the
 * labels have other values.
 */
static cJSON *widest_policy(int number)
{
	_cleanup_json_ cJSON *values = cJSON_CreateArray();
	char name[320];
	cJSON *policy, *list;

	snprintf(name, sizeof(name), "p%d", number);
	policy = policy_of(name, false, number % 60, 1, "store: {claim: c}");
	for (int i = 0; i < SELECTOR_VALUES_MAX; i++) {
		snprintf(name, sizeof(name), "%050d", i);
		json_append(values, cJSON_CreateString(name));
	}
	list = json_array_at(json_object_at(json_get(policy, "spec"), "selector"),
			     "matchExpressions");
	for (int i = 0; i < SELECTOR_REQUIREMENTS_MAX; i++) {
		cJSON *item = cJSON_CreateObject();

		snprintf(name, sizeof(name), "%0100d", i);
		json_set_str(item, "key", name);
		json_set_str(item, "operator", "NotIn");
		json_set(item, "values", cJSON_Duplicate(values, true));
		json_append(list, item);
	}
	return policy;
}

static cJSON *widest_cluster(int number)
{
	char name[128];
	cJSON *cluster;

	snprintf(name, sizeof(name), "metadata: {namespace: ml, name: c%d}", number);
	cluster = json_of(name);
	for (int i = 0; i < SELECTOR_LABELS_MAX; i++) {
		snprintf(name, sizeof(name), "%0100d", SELECTOR_LABELS_MAX - 1 - i);
		json_set_str(json_object_at(json_get(cluster, "metadata"), "labels"), name, "x");
	}
	return cluster;
}

static void a_tenants_widest_policies_and_clusters_do_not_hold_the_loop(void **state)
{
	struct policy_book *book = *state;
	struct store pods;

	store_init(&pods, by_cluster);
	for (int i = 0; i < POLICY_OBJECTS_MAX; i++) {
		_cleanup_json_ cJSON *policy = widest_policy(i);

		assert_true(policy_book_see_policy(book, false, NULL, policy));
	}
	for (int i = 0; i < 200; i++) {
		_cleanup_json_ cJSON *cluster = widest_cluster(i);

		assert_true(policy_book_see_cluster(book, NULL, cluster));
	}
	/*
	 * As a whole it was 2.6 s, and a namespace may have five times as many clusters; with the
	 * texts of values compared, 100 ms a turn.
	 */
	assert_in_range(count_all(book, &pods), 0, TURN_MAX_MS);
	assert_int_equal(tally_of(book, false, "ml/p0")->clusters, 200);
	store_release(&pods);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_policies_the_operators_own_holds, setup, teardown),
		cmocka_unit_test_setup_teardown(a_policy_holds_where_it_selects_until_it_is_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(a_policy_that_is_seen_again_is_a_change_only_in_another_generation, setup, teardown),
		cmocka_unit_test_setup_teardown(of_two_that_select_a_cluster_the_older_holds, setup, teardown),
		cmocka_unit_test_setup_teardown(a_cluster_wide_policy_selects_namespaces_by_their_labels, setup, teardown),
		cmocka_unit_test_setup_teardown(a_namespace_of_which_nothing_is_known_has_its_name, setup, teardown),
		cmocka_unit_test_setup_teardown(more_combinations_than_are_kept_ready_hold_all_the_same, setup, teardown),
		cmocka_unit_test_setup_teardown(a_tenants_widest_policies_and_clusters_do_not_hold_the_loop, setup, teardown),
		cmocka_unit_test_setup_teardown(each_policy_knows_what_it_governs_and_what_is_in_its_way, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
