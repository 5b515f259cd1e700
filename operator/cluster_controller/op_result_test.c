/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what answers mean. */
#include "operator/cluster_controller/op_result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void each_answer_means_one_thing_for_each_operation(void **state)
{
	static const struct {
		enum plan_op_kind kind;
		int status;
		const char *reason;
		enum verdict verdict;
	} rows[] = {
		{ PLAN_CREATE, 201, "", WENT_WELL },
		/* The answer to the write that created it was lost. */
		{ PLAN_CREATE, 409, "AlreadyExists", WENT_WELL },
		/* A conflict over the quota's count */
		{ PLAN_CREATE, 409, "Conflict", MUST_REPLAN },
		{ PLAN_CREATE, 404, "NotFound", WENT_WRONG },	  /* the namespace is missing */
		{ PLAN_APPLY, 409, "AlreadyExists", MUST_REPLAN },
		{ PLAN_APPLY, 404, "NotFound", WENT_WRONG },
		{ PLAN_DELETE, 404, "NotFound", WENT_WELL },
		/* It has changed since the plan was made. */
		{ PLAN_DELETE, 409, "Conflict", MUST_REPLAN },
		{ PLAN_STATUS, 404, "NotFound", WENT_WELL },
		{ PLAN_MERGE, 404, "NotFound", WENT_WELL },
		{ PLAN_CREATE, 429, "TooManyRequests", WENT_WRONG },
		{ PLAN_STATUS, 500, "", WENT_WRONG },
		{ PLAN_DELETE, 0, "", WENT_WRONG },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct plan_op op = { .kind = rows[i].kind };
		const struct client_response response = { .status = rows[i].status,
							  .reason = rows[i].reason };
		if (op_result_verdict(&op, &response) != rows[i].verdict)
			fail_msg("%s: %d %s", op_name(&op), rows[i].status, rows[i].reason);
	}
}

static void a_name_is_taken_only_where_the_server_says_so(void **state)
{
	const struct plan_op create = { .kind = PLAN_CREATE }, apply = { .kind = PLAN_APPLY };
	(void)state;

	assert_true(op_result_is_taken(
		&create, &(struct client_response){ .status = 409, .reason = "AlreadyExists" }));
	assert_false(op_result_is_taken(
		&create, &(struct client_response){ .status = 409, .reason = "Conflict" }));
	assert_false(op_result_is_taken(&create,
					&(struct client_response){ .status = 201, .reason = "" }));
	assert_false(op_result_is_taken(
		&apply, &(struct client_response){ .status = 409, .reason = "AlreadyExists" }));
}

static void only_a_pod_that_the_server_does_not_want_is_refused(void **state)
{
	_cleanup_json_ cJSON *pod = cJSON_Parse("{\"kind\":\"Pod\"}"),
			     *service = cJSON_Parse("{\"kind\":\"Service\"}");
	static const int refusals[] = { 400, 403, 422, 500 }, others[] = { 0, 201, 409, 429 };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		const struct client_response response = { .status = refusals[i] };
		assert_true(op_result_is_refusal(
			&(struct plan_op){ .kind = PLAN_CREATE, .body = pod }, &response));
		assert_false(op_result_is_refusal(
			&(struct plan_op){ .kind = PLAN_APPLY, .body = service }, &response));
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(
			op_result_is_refusal(&(struct plan_op){ .kind = PLAN_CREATE, .body = pod },
					     &(struct client_response){ .status = others[i] }));
}

static void a_pod_whose_labels_cannot_be_put_back_stops_nothing(void **state)
{
	_cleanup_json_ cJSON *pod = cJSON_Parse("{\"kind\":\"Pod\"}");
	static const struct {
		int status;
		enum verdict verdict;
	} rows[] = { { 200, WENT_WELL }, { 403, WENT_WELL }, { 409, WENT_WELL },
		     { 422, WENT_WELL }, { 0, WENT_WRONG },  { 429, WENT_WRONG },
		     { 503, WENT_WRONG } };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct client_response response = { .status = rows[i].status, .reason = "" };
		assert_int_equal(
			op_result_verdict(&(struct plan_op){ .kind = PLAN_MERGE, .body = pod },
					  &response),
			rows[i].verdict);
		assert_false(op_result_is_refusal(
			&(struct plan_op){ .kind = PLAN_MERGE, .body = pod }, &response));
	}
}

static void an_operation_tells_what_it_is_of(void **state)
{
	_cleanup_json_ cJSON *body = cJSON_Parse(
		"{\"kind\":\"ConfigMap\",\"metadata\":{\"labels\":{\"ray.io/group\":\"g\"}}}");
	struct plan_op op = { .kind = PLAN_MERGE, .body = body }, none = { .kind = PLAN_EVENT };
	(void)state;

	assert_true(op_is_kind(&op, "ConfigMap"));
	assert_false(op_is_kind(&op, "Pod") || op_is_kind(&none, "Pod"));
	assert_string_equal(op_label(&op, "ray.io/group"), "g");
	assert_null(op_label(&op, "ray"));
	assert_string_equal(op_name(&op), "merge");
	assert_string_equal(op_name(&none), "event");
	assert_string_equal(op_name(&(struct plan_op){ .kind = PLAN_STATUS }), "status");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_answer_means_one_thing_for_each_operation),
		cmocka_unit_test(a_name_is_taken_only_where_the_server_says_so),
		cmocka_unit_test(only_a_pod_that_the_server_does_not_want_is_refused),
		cmocka_unit_test(a_pod_whose_labels_cannot_be_put_back_stops_nothing),
		cmocka_unit_test(an_operation_tells_what_it_is_of),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
