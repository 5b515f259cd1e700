/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the status of a policy, and of when it is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/units.h"
#include "operator/policy/policy_status.h"
#include "operator/raycluster/testing.h"

#define NOW (1795224546 * NS_PER_SEC)

static struct policy_object *object_of(const char *yaml)
{
	_cleanup_json_ cJSON *json = json_of(yaml);
	struct policy_object *o = policy_object_new(json);

	assert_non_null(o);
	return o;
}

static void expect_condition(const cJSON *status, const char *type, const char *value,
			     const char *reason, const char *message)
{
	const cJSON *condition = json_find(json_get(status, "conditions"), "type", type);

	assert_non_null(condition);
	assert_string_equal(json_str(condition, "status"), value);
	assert_string_equal(json_str(condition, "reason"), reason);
	if (!strstr(json_str(condition, "message"), message))
		fail_msg("\"%s\" does not hold \"%s\"", json_str(condition, "message"), message);
}

static void the_loser_names_the_winner_of_each_block(void **state)
{
	struct policy_object *o = object_of(
		"{kind: RayPolicy, metadata: {name: b, generation: 4}, spec: {memory: {swap: 1}, store: {}}}");
	struct policy_object *older =
		object_of("{kind: RayPolicy, metadata: {name: a}, spec: {memory: {}}}");
	struct policy_object *lock =
		object_of("{kind: ClusterRayPolicy, metadata: {name: p}, spec: {locked: [store]}}");
	struct policy_tally tally = { .clusters = 2, .pods = 7 };
	_cleanup_json_ cJSON *before = policy_status(o, &tally, NULL, NOW), *after = NULL;

	(void)state;
	assert_int_equal(json_int(before, "observedGeneration", 0), 4);
	assert_int_equal(json_int(before, "clusters", 0), 2);
	assert_int_equal(json_int(before, "pods", 0), 7);
	expect_condition(before, "Accepted", "True", "Accepted",
			 "this operator does not know spec.memory.swap");
	expect_condition(before, "Conflicted", "False", "NoConflict", "no other policy");
	tally.losses[POLICY_MEMORY].winner = older;
	tally.losses[POLICY_STORE].winner = lock;
	tally.losses[POLICY_STORE].locked = true;
	after = policy_status(o, &tally, before, NOW + 10 * NS_PER_SEC);
	expect_condition(after, "Conflicted", "True", "Overlap",
			 "RayPolicy/a is older and decides memory; ClusterRayPolicy/p locks store");
	policy_object_free(o);
	policy_object_free(older);
	policy_object_free(lock);
}

static void an_invalid_one_and_one_too_many_are_not_accepted(void **state)
{
	struct policy_object *o = object_of(
		"{kind: RayPolicy, metadata: {name: b}, spec: {recording: {warnAt: 80}}}");
	struct policy_object *late =
		object_of("{kind: RayPolicy, metadata: {name: c}, spec: {memory: {}}}");
	struct policy_tally none = { 0 }, many = { .too_many = true };
	_cleanup_json_ cJSON *invalid = policy_status(o, &none, NULL, NOW),
			     *beyond = policy_status(late, &many, NULL, NOW);

	(void)state;
	expect_condition(
		invalid, "Accepted", "False", "Invalid",
		"spec.recording.warnAt must be a number from 0.05 to 1; this policy has no effect");
	expect_condition(beyond, "Accepted", "False", "TooMany",
			 "only the oldest 100 RayPolicies of a namespace count");
	policy_object_free(o);
	policy_object_free(late);
}

static void what_says_the_same_keeps_its_time_and_is_not_written(void **state)
{
	struct policy_object *o = object_of(
		"{kind: RayPolicy, metadata: {name: b, generation: 1}, spec: {memory: {}}}");
	struct policy_tally tally = { .clusters = 1 };
	_cleanup_json_ cJSON *first = policy_status(o, &tally, NULL, NOW),
			     *same = policy_status(o, &tally, first, NOW + NS_PER_SEC);
	_cleanup_json_ cJSON
		*counts = NULL,
		*words = NULL,
		*hostile = json_of("{conditions: [1, {type: Accepted, status: [x]}], clusters: a}");

	(void)state;
	assert_string_equal(json_str(json_find(json_get(first, "conditions"), "type", "Accepted"),
				     "lastTransitionTime"),
			    "2026-11-21T01:29:06Z");
	assert_int_equal(policy_status_compare(NULL, first), POLICY_STATUS_WORDS);
	assert_int_equal(policy_status_compare(first, same), POLICY_STATUS_SAME);
	tally.pods = 3;
	counts = policy_status(o, &tally, first, NOW + NS_PER_SEC);
	assert_int_equal(policy_status_compare(first, counts), POLICY_STATUS_COUNTS);
	tally.too_many = true;
	words = policy_status(o, &tally, first, NOW + NS_PER_SEC);
	assert_int_equal(policy_status_compare(first, words), POLICY_STATUS_WORDS);
	assert_string_equal(json_str(json_find(json_get(words, "conditions"), "type", "Accepted"),
				     "lastTransitionTime"),
			    "2026-11-21T01:29:07Z");
	cJSON_Delete(words);
	words = policy_status(o, &tally, hostile, NOW);
	assert_int_equal(policy_status_compare(hostile, words), POLICY_STATUS_WORDS);
	policy_object_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_loser_names_the_winner_of_each_block),
		cmocka_unit_test(an_invalid_one_and_one_too_many_are_not_accepted),
		cmocka_unit_test(what_says_the_same_keeps_its_time_and_is_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
