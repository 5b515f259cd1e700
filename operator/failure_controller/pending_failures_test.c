/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that no namespace can take the room of another, and that no failure is tried for ever. */
#include "operator/failure_controller/pending_failures.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "operator/failures/termination.h"
#include "operator/failures/testing.h"

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct pending_failures));
	return 0;
}

static int teardown(void **state)
{
	pending_failures_release(*state);
	free(*state);
	return 0;
}

static struct ray_failure *failure_new(const char *namespace, int i)
{
	struct ray_failure *failure = failure_of_yaml(
		"metadata: {}\nspec: {cluster: demo, podUID: u1, class: Killed, verdict: It ended}\n");
	char name[32];

	snprintf(name, sizeof(name), "f-%d", i);
	ray_failure_set(&failure->namespace, namespace);
	ray_failure_set(&failure->name, name);
	return failure;
}

static int add(struct pending_failures *p, const char *namespace, int i)
{
	struct ray_failure *failure = failure_new(namespace, i);
	struct pending_failure *pending;
	int r = pending_failures_add(p, failure, NS_PER_SEC, &pending);

	if (r < 0)
		ray_failure_free(failure);
	return r;
}

/* Returns how many failures of a namespace fit. */
static int fill(struct pending_failures *p, const char *namespace)
{
	int n = 0, r;

	while ((r = add(p, namespace, n)) == 0)
		n++;
	assert_int_equal(r, -ENOSPC);
	return n;
}

static void one_namespace_leaves_room_for_the_others(void **state)
{
	struct pending_failures *p = *state;
	char name[32];

	assert_int_equal(fill(p, "greedy"), PENDING_NAMESPACE_MAX);
	assert_int_equal(add(p, "modest", 0), 0);
	/* However many namespaces there are. */
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "greedy-%d", i);
		fill(p, name);
	}
	assert_true(p->all.n < PENDING_MAX);
	for (int i = 0; i < 100 && p->all.n < PENDING_MAX - 1; i++) {
		snprintf(name, sizeof(name), "modest-%d", i);
		assert_int_equal(add(p, name, 0), 0);
	}
}

static void room_comes_back_and_until_then_the_namespace_is_full(void **state)
{
	struct pending_failures *p = *state;

	fill(p, "greedy");
	assert_true(pending_failures_is_full(p, "greedy", 2 * NS_PER_SEC, 60 * NS_PER_SEC));
	assert_false(pending_failures_is_full(p, "greedy", 62 * NS_PER_SEC, 60 * NS_PER_SEC));
	assert_false(pending_failures_is_full(p, "modest", 2 * NS_PER_SEC, 60 * NS_PER_SEC));
	pending_failures_remove(p, pending_failures_get(p, "greedy/f-7"));
	assert_int_equal(add(p, "greedy", 7), 0);
	assert_int_equal(add(p, "greedy", PENDING_NAMESPACE_MAX), -ENOSPC);
	for (int i = 0; i < PENDING_NAMESPACE_MAX; i++) {
		char key[32];

		snprintf(key, sizeof(key), "greedy/f-%d", i);
		pending_failures_remove(p, pending_failures_get(p, key));
	}
	assert_int_equal(p->all.n, 0);
	assert_int_equal(p->namespaces.n, 0);
}

static void a_pod_waits_for_its_failures_for_a_while(void **state)
{
	struct pending_failures *p = *state;

	assert_false(pending_failures_of_pod(p, "u1", NS_PER_SEC, NS_PER_SEC));
	assert_int_equal(add(p, "ml", 0), 0);
	assert_int_equal(add(p, "ml", 1), 0);
	assert_true(pending_failures_of_pod(p, "u1", NS_PER_SEC, NS_PER_SEC));
	assert_false(pending_failures_of_pod(p, "u2", NS_PER_SEC, NS_PER_SEC));
	assert_false(pending_failures_of_pod(p, "u1", 2 * NS_PER_SEC, NS_PER_SEC));
	pending_failures_touch(p, 2 * NS_PER_SEC);
	assert_true(pending_failures_of_pod(p, "u1", 2 * NS_PER_SEC, NS_PER_SEC));
	pending_failures_remove(p, pending_failures_get(p, "ml/f-0"));
	assert_true(pending_failures_of_pod(p, "u1", 2 * NS_PER_SEC, NS_PER_SEC));
	pending_failures_remove(p, pending_failures_get(p, "ml/f-1"));
	assert_false(pending_failures_of_pod(p, "u1", 2 * NS_PER_SEC, NS_PER_SEC));
	assert_int_equal(p->pods.n, 0);
}

static void a_failure_that_waits_can_be_replaced(void **state)
{
	struct pending_failures *p = *state;
	struct pending_failure *pending;

	assert_int_equal(pending_failures_add(p, failure_new("ml", 1), NS_PER_SEC, &pending), 0);
	assert_string_equal(pending->key, "ml/f-1");
	pending_failure_replace(pending, failure_new("ml", 1));
	pending->failure->class = FAILURE_EVICTED;
	assert_int_equal(pending_failures_get(p, "ml/f-1")->failure->class, FAILURE_EVICTED);
}

/* What was left out for an older CRD is there again in the next write. */
static void an_object_lasts_for_one_write(void **state)
{
	struct pending_failures *p = *state;
	struct pending_failure *pending;

	assert_int_equal(pending_failures_add(p, failure_new("ml", 1), NS_PER_SEC, &pending), 0);
	assert_null(pending->object);
	pending_failure_set_object(pending, ray_failure_to_json(pending->failure));
	pending->reduced = true;
	pending_failure_set_object(pending, NULL);
	assert_null(pending->object);
	assert_false(pending->reduced);
	pending_failure_set_object(pending, ray_failure_to_json(pending->failure));
}

/* Makes a failure from a sidecar's report with everything that it may contain. */
static struct ray_failure *large_failure(int i)
{
	struct ray_failure *failure = failure_new("greedy", i);
	_cleanup_json_ cJSON *report = cJSON_CreateObject();
	char text[301];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ray_failure_set(&failure->verdict, text);
	for (int k = 0; k < TERMINATION_PROCESSES_MAX; k++) {
		cJSON *process = cJSON_Parse(
			"{\"pid\":4194304,\"rssBytes\":9007199254740991,\"sharedBytes\":9007199254740991,"
			"\"growthBytesPerSecond\":-9007199254740991}");

		json_set(process, "name", cJSON_CreateString(text + sizeof(text) - 129));
		json_append(json_array_at(report, "processes"), process);
	}
	ray_failure_take_memory(failure, report);
	for (int k = 0; k < 4; k++) {
		ray_failure_add_evidence(failure, "kubelet", text);
		ray_failure_add_missing(failure, text, "the node's kernel log");
	}
	return failure;
}

/* A sanitizer has another malloc, so nothing is counted under it. */
static void a_full_namespace_takes_bounded_memory(void **state)
{
	struct pending_failures *p = *state;
	size_t before = mallinfo2().uordblks, each;
	struct pending_failure *pending;

	for (int i = 0; i < PENDING_NAMESPACE_MAX; i++)
		assert_int_equal(
			pending_failures_add(p, large_failure(i), NS_PER_SEC, &pending), 0);
	each = (mallinfo2().uordblks - before) / PENDING_NAMESPACE_MAX;
	print_message("%zu bytes of each failure\n", each);
	assert_in_range(each, 0, 8192);
}

static void what_has_no_name_is_refused(void **state)
{
	static const char *const nameless[] = { "metadata: {namespace: ml}\n",
						"metadata: {name: f}\n" };
	struct pending_failure *pending;

	for (size_t i = 0; i < ARRAY_SIZE(nameless); i++) {
		struct ray_failure *failure = failure_of_yaml(nameless[i]);

		assert_int_equal(pending_failures_add(*state, failure, 1, &pending), -EINVAL);
		ray_failure_free(failure);
	}
}

static void a_lasting_refusal_is_given_up_sooner_than_a_server_that_is_down(void **state)
{
	static const struct {
		int status;
		int64_t borne_ns;
	} rows[] = {
		{ 403, PENDING_REFUSED_NS }, { 404, PENDING_REFUSED_NS },
		{ 400, PENDING_REFUSED_NS }, { 429, PENDING_FAILED_NS },
		{ 409, PENDING_FAILED_NS },  { 500, PENDING_FAILED_NS },
		{ 0, PENDING_FAILED_NS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pending_failure pending = { 0 };

		assert_true(pending_failure_may_retry(&pending, rows[i].status, NS_PER_SEC));
		assert_true(pending_failure_may_retry(&pending, rows[i].status, rows[i].borne_ns));
		assert_false(pending_failure_may_retry(&pending, rows[i].status,
						       NS_PER_SEC + rows[i].borne_ns));
	}
}

static void a_refusal_after_an_outage_begins_anew(void **state)
{
	struct pending_failure pending = { 0 };

	(void)state;
	assert_true(pending_failure_may_retry(&pending, 403, NS_PER_SEC));
	assert_true(pending_failure_may_retry(&pending, 0, PENDING_REFUSED_NS));
	assert_true(pending_failure_may_retry(&pending, 403, 2 * PENDING_REFUSED_NS));
	assert_false(pending_failure_may_retry(&pending, 403, 3 * PENDING_REFUSED_NS));
	/* Whatever the server says, it is not tried for ever. */
	pending = (struct pending_failure){ 0 };
	for (int64_t at = NS_PER_SEC; at < PENDING_FAILED_NS; at += PENDING_REFUSED_NS)
		assert_true(pending_failure_may_retry(&pending, at % 2 ? 0 : 503, at));
	assert_false(pending_failure_may_retry(&pending, 0, PENDING_FAILED_NS + NS_PER_SEC));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_namespace_leaves_room_for_the_others),
		TEST(room_comes_back_and_until_then_the_namespace_is_full),
		TEST(a_pod_waits_for_its_failures_for_a_while),
		TEST(a_failure_that_waits_can_be_replaced),
		TEST(an_object_lasts_for_one_write),
		TEST(a_full_namespace_takes_bounded_memory),
		TEST(what_has_no_name_is_refused),
		TEST(a_lasting_refusal_is_given_up_sooner_than_a_server_that_is_down),
		TEST(a_refusal_after_an_outage_begins_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
