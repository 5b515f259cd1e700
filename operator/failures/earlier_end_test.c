/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which ends of containers were missed. Times are minutes and seconds of one hour. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/failures/earlier_end.h"
#include "operator/failures/testing.h"

#define AT(t) "'2026-11-21T01:" t "Z'"

static cJSON *pod_with(const char *ray_status)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(1 << 16);

	strbuf_addf(
		&sb,
		"metadata: {name: demo-worker-x, namespace: ml, uid: 0123456789ab, labels: {ray.io/cluster: demo, ray.io/group: g}, "
		"annotations: {afterglow.dev/report-key: k}}\n"
		"status:\n  containerStatuses:\n  - {name: ray-worker, %s}\n"
		"  - {name: afterglow, restartCount: 9, state: {running: {startedAt: " AT(
			"59:00") "}}}\n",
		ray_status);
	return json_of(strbuf_str(&sb));
}

static bool add(struct pod_ends *ends, const cJSON *pod, const char *container, const char *at,
		const char *more)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(1 << 16);

	strbuf_addf(
		&sb,
		"{id: end-%s, container: %s, endedAt: '2026-11-21T01:%sZ', class: ApplicationError, confidence: certain, exitCode: 7, "
		"sentence: 'It ended at %s', bundle: null, containerLives: false%s}",
		at, container, at, at, more);
	_cleanup_json_ cJSON *entry = json_of(strbuf_str(&sb));
	return pod_ends_add(ends, pod, entry, time_in_hour("50:00"));
}

/* The third instance ended at 30:02 and the fourth runs, so two ends are forgotten. */
#define FOURTH_RUNS                                                                                                        \
	"restartCount: 3, lastState: {terminated: {startedAt: " AT("30:00") ", finishedAt: " AT("30:02") ", exitCode: 1}}, " \
									   "state: {running: {startedAt: " AT("30:03") "}}"

static void ends_that_nobody_reported_were_missed(void **state)
{
	static const struct {
		const char *what, *status;
		const char *journal[8], *known[8], *missed;
		bool undecided;
	} rows[] = {
		{ "two", FOURTH_RUNS, { "10:00.500", "20:00.500", "30:02.100" }, { 0 }, "10:00.500 20:00.500 ", false },
		{ "one was reported", FOURTH_RUNS, { "10:00.500", "20:00.500", "30:02.100" }, { "10:00" }, "20:00.500 ", false },
		{ "both were", FOURTH_RUNS, { "10:00.500", "20:00.500", "30:02.100" }, { "10:01", "20:02" }, "", false },
		{ "known from the journal itself", FOURTH_RUNS, { "10:00.500", "20:00.500" }, { "20:00.500", "10:00.500" }, "", false },
		{ "the launcher lingered", FOURTH_RUNS, { "10:00.500", "20:00.500" }, { "20:03" }, "10:00.500 ", false },
		{ "a second apart, the first known", FOURTH_RUNS, { "10:00.300", "10:01.600" }, { "10:00" }, "10:01.600 ", false },
		{ "a second apart, the second known", FOURTH_RUNS, { "10:00.300", "10:01.600" }, { "10:01" }, "10:00.300 ", false },
		{ "right before the oldest start", FOURTH_RUNS, { "29:59.900", "30:02.100" }, { 0 }, "29:59.900 ", false },
		{ "in the second of the oldest start", FOURTH_RUNS, { "30:00.400", "30:02.100" }, { 0 }, "30:00.400 ", false },
		{ "not more than were counted", FOURTH_RUNS, { "10:00.500", "11:00.500", "12:00.500", "13:00.500" }, { 0 },
		  "10:00.500 11:00.500 ", false },
		{ "nor with those that are known", FOURTH_RUNS, { "10:00.500", "11:00.500", "12:00.500" }, { "12:00" }, "10:00.500 ", false },
		{ "no restart", "restartCount: 0, state: {running: {startedAt: " AT("30:03") "}}", { "10:00.500" }, { 0 }, "", false },
		{ "a status without the last state", "restartCount: 2, state: {running: {startedAt: " AT("30:03") "}}",
		  { "10:00.500", "30:02.100" }, { 0 }, "10:00.500 30:02.100 ", false },
		{ "waiting for its next start",
		  "restartCount: 1, lastState: {terminated: {startedAt: " AT("30:00") ", finishedAt: " AT("30:02") "}}, state: {waiting: {}}",
		  { "10:00.500", "30:02.100" }, { 0 }, "10:00.500 ", false },
		{ "ended for good",
		  "restartCount: 1, state: {terminated: {startedAt: " AT("30:00") ", finishedAt: " AT("30:02") "}}",
		  { "10:00.500", "30:02.100" }, { 0 }, "10:00.500 ", false },
		{ "too early to say", "restartCount: 4, state: {running: {startedAt: " AT("49:59") "}}", { "10:00.500", "49:58.500" }, { 0 },
		  "10:00.500 ", true },
		{ "a status that knows nothing", "restartCount: 3, state: {waiting: {}}", { "10:00.500" }, { 0 }, "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *pod = pod_with(rows[i].status);
		struct ray_failures failures = { 0 };
		_cleanup_strbuf_ struct strbuf found = STRBUF_INIT(4096);
		struct known_end known[8] = { 0 };
		struct pod_ends ends = { 0 };
		size_t n_known = 0;

		for (size_t k = 0; rows[i].journal[k]; k++)
			assert_true(add(&ends, pod, "ray-worker", rows[i].journal[k], ""));
		for (; rows[i].known[n_known]; n_known++)
			known[n_known] =
				(struct known_end){ .container = "ray-worker",
						   .at_ns = time_in_hour(rows[i].known[n_known]) };
		pod_ends_missed(&ends, pod, known, n_known, &failures);
		for (size_t k = 0; k < failures.n; k++)
			strbuf_addf(&found, "%s ",
				    failures.list[k]->verdict + strlen("It ended at "));
		if (strcmp(strbuf_str(&found), rows[i].missed) != 0 ||
		    ends.undecided != rows[i].undecided)
			fail_msg("%s: %s", rows[i].what, strbuf_str(&found));
		ray_failures_release(&failures);
		pod_ends_release(&ends);
	}
}

static void the_only_end_before_those_that_are_shown_was_the_first(void **state)
{
	_cleanup_json_ cJSON *pod =
		pod_with("restartCount: 1, state: {running: {startedAt: " AT("30:03") "}}");
	struct ray_failures failures = { 0 };
	struct pod_ends ends = { 0 };

	(void)state;
	add(&ends, pod, "ray-worker", "10:00.500", "");
	pod_ends_missed(&ends, pod, NULL, 0, &failures);
	_cleanup_json_ cJSON *array = json_of_failures(&failures);
	assert_int_equal(json_int(json_get(array->child, "spec"), "restartCount", -1), 0);
	pod_ends_release(&ends);
}

static void such_a_failure_has_its_own_name_always(void **state)
{
	_cleanup_json_ cJSON *pod = pod_with(FOURTH_RUNS);
	struct ray_failures failures = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct pod_ends ends = { 0 };

		add(&ends, pod, "ray-worker", "10:00.500", "");
		pod_ends_missed(&ends, pod, NULL, 0, &failures);
	}
	assert_int_equal(failures.n, 2);
	assert_string_equal(failures.list[0]->name, failures.list[1]->name);
	_cleanup_json_ cJSON *array = json_of_failures(&failures);
	const cJSON *spec = json_get(array->child, "spec");
	assert_int_equal(json_int(spec, "exitCode", -1), 7);
	assert_string_equal(json_str(spec, "class"), "ApplicationError");
	assert_string_equal(json_str(spec, "endedAt"), "2026-11-21T01:10:00.500Z");
	assert_string_equal(json_str(spec, "podUID"), "0123456789ab");
	assert_null(json_get(spec, "containerLives"));
	assert_int_equal(cJSON_GetArraySize(json_get(spec, "missing")), 1);
}

static void what_is_no_end_of_a_container_of_the_pod_is_refused(void **state)
{
	_cleanup_json_ cJSON *pod = pod_with(FOURTH_RUNS);
	static const struct {
		const char *container, *more;
	} rows[] = {
		{ "other", "" }, { "afterglow", "" }, { "ray-worker", ", class: Completed" }, { "ray-worker", ", class: Nonsense" },
		{ "ray-worker", ", endedAt: yesterday" }, { "ray-worker", ", endedAt: null" }, { "ray-worker", ", id: '../../x'" },
		{ "ray-worker", ", id: ''" }, { "ray-worker", ", sentence: null" },
	};
	struct pod_ends ends = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(4096);
		_cleanup_json_ cJSON *entry = json_of(
			"{id: x, endedAt: " AT("10:00") ", class: ApplicationError, sentence: S}");
		_cleanup_json_ cJSON *more = NULL;
		cJSON *item;

		json_set_str(entry, "container", rows[i].container);
		strbuf_addf(&sb, "{a: b%s}", rows[i].more);
		more = json_of(strbuf_str(&sb));
		while ((item = cJSON_DetachItemFromArray(more, 0)))
			json_set(entry, item->string, cJSON_Duplicate(item, true)),
				cJSON_Delete(item);
		if (pod_ends_add(&ends, pod, entry, time_in_hour("50:00")))
			fail_msg("%s%s", rows[i].container, rows[i].more);
	}
	assert_int_equal(ends.n, 0);
	for (int i = 0; i < POD_ENDS_MAX; i++)
		assert_true(add(&ends, pod, "ray-worker", "10:00.500", ""));
	assert_false(add(&ends, pod, "ray-worker", "10:00.500", ""));
	pod_ends_release(&ends);
}

static void ends_that_another_failure_stands_for_were_not_missed(void **state)
{
	_cleanup_json_ cJSON *pod = pod_with(FOURTH_RUNS);
	const struct known_end known = {
		.container = "ray-worker", .at_ns = time_in_hour("29:00"), .number = 2, .more = 1
	};
	struct ray_failures failures = { 0 };
	struct pod_ends ends = { 0 };

	(void)state;
	assert_true(add(&ends, pod, "ray-worker", "10:00.500", ""));
	assert_true(add(&ends, pod, "ray-worker", "20:00.500", ""));
	pod_ends_missed(&ends, pod, &known, 1, &failures);
	assert_int_equal(failures.n, 0);
	pod_ends_release(&ends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_that_nobody_reported_were_missed),
		cmocka_unit_test(the_only_end_before_those_that_are_shown_was_the_first),
		cmocka_unit_test(such_a_failure_has_its_own_name_always),
		cmocka_unit_test(what_is_no_end_of_a_container_of_the_pod_is_refused),
		cmocka_unit_test(ends_that_another_failure_stands_for_were_not_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
