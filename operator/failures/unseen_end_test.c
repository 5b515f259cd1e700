/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which ends of containers have no record. Times are minutes and seconds of one hour. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/failures/testing.h"
#include "operator/failures/unseen_end.h"

#define AT(t) "'2026-11-21T01:" t "Z'"

/* An instance failed at 30:02, and the next one runs. */
#define RUNS_AFTER(count) \
	"restartCount: " count \
	", lastState: {terminated: {startedAt: " AT("30:00") ", finishedAt: " AT( \
		"30:02") ", exitCode: 1}}, state: {running: {startedAt: " AT("30:03") "}}"
#define FIFTH_RUNS RUNS_AFTER("4")

static cJSON *pod_with(const char *created, const char *sidecar_began, const char *ray_status)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(1 << 16);

	strbuf_addf(
		&sb,
		"metadata: {name: demo-worker-x, namespace: ml, uid: 0123456789ab, creationTimestamp: '%s', "
		"labels: {ray.io/cluster: demo, ray.io/group: g}}\n"
		"status:\n  containerStatuses:\n  - {name: ray-worker, %s}\n"
		"  - {name: afterglow, restartCount: 9, lastState: {terminated: {startedAt: " AT(
			"01:00") ", exitCode: 2}}, "
				 "state: {running: {startedAt: '2026-11-21T01:%sZ'}}}\n",
		created, ray_status, sidecar_began);
	return json_of(strbuf_str(&sb));
}

/*
 * Finds them. "-": it is too early. Otherwise: how many ends each RayFailure stands for, and the
 * last one's number.
 */
static void find(const cJSON *pod, const struct known_end *known, size_t n_known, const char *now,
		 struct strbuf *ret_found)
{
	struct ray_failures failures = { 0 };

	if (!unseen_ends_find(pod, known, n_known, time_in_hour(now), &failures))
		strbuf_addf(ret_found, "-");
	for (size_t i = 0; i < failures.n; i++)
		strbuf_addf(ret_found, "%" PRId64 " up to %" PRId64,
			    failures.list[i]->more_ends + 1, failures.list[i]->restart);
	ray_failures_release(&failures);
}

#define TODAY "2026-11-21T01:00:00Z"
#define KNOWN_ROW_MAX 4

static void ends_that_only_the_restart_count_shows_are_one_failure(void **state)
{
	static const struct {
		const char *what, *status, *found;
		struct {
			const char *at;
			int64_t number, more;
		} known[KNOWN_ROW_MAX];
		const char *created, *sidecar, *now;
	} rows[] = {
		{ "none is recorded", FIFTH_RUNS, "3 up to 2", .known = { { 0 } } },
		{ "the first is", FIFTH_RUNS, "2 up to 2", .known = { { "10:00", 1, 0 } } },
		{ "the first two are", FIFTH_RUNS, "1 up to 2",
		  .known = { { "10:00", 1, 0 }, { "15:00", 2, 0 } } },
		{ "all are", FIFTH_RUNS, "",
		  .known = { { "10:00", 1, 0 }, { "15:00", 2, 0 }, { "20:00", 3, 0 } } },
		{ "only the last before them is left", FIFTH_RUNS, "",
		  .known = { { "20:00", 3, 0 } } },
		{ "that which the status shows does not count", FIFTH_RUNS, "3 up to 2",
		  .known = { { "30:02", 4, 0 } } },
		{ "the sidecar reported one", FIFTH_RUNS, "2 up to 2",
		  .known = { { "20:00.5", 0, 0 } } },
		{ "it reported one after the last that has a number", FIFTH_RUNS, "1 up to 2",
		  .known = { { "10:00", 1, 0 }, { "20:00.5", 0, 0 } } },
		{ "and one before it", FIFTH_RUNS, "1 up to 2",
		  .known = { { "10:00.5", 0, 0 }, { "20:00", 2, 0 } } },
		{ "they have their failure", FIFTH_RUNS, "", .known = { { "30:00", 3, 2 } } },
		{ "the container was started once", RUNS_AFTER("1"), "", .known = { { 0 } } },
		{ "the last end was a success",
		  "restartCount: 4, lastState: {terminated: {startedAt: " AT(
			  "30:00") ", exitCode: 0}}, state: {running: {startedAt: " AT("30:03") "}}",
		  "", .known = { { 0 } } },
		{ "it waits for its next start",
		  "restartCount: 3, lastState: {terminated: {startedAt: " AT(
			  "30:00") ", exitCode: 1}}, state: {waiting: {}}",
		  "3 up to 2", .known = { { 0 } } },
		{ "the status has no times",
		  "restartCount: 3, lastState: {terminated: {exitCode: 1}}, state: {waiting: {}}",
		  "", .known = { { 0 } } },
		{ "an old pod without any", FIFTH_RUNS, "", .known = { { 0 } },
		  .created = "2026-11-20T01:00:00Z" },
		{ "an old pod with one", FIFTH_RUNS, "2 up to 2", .known = { { "10:00", 1, 0 } },
		  .created = "2026-11-20T01:00:00Z" },
		{ "the oldest that is shown is young", FIFTH_RUNS, "-", .known = { { 0 } },
		  .now = "30:59" },
		{ "the sidecar is", FIFTH_RUNS, "-", .known = { { 0 } }, .sidecar = "49:01" },
		{ "the sidecar is, but all are recorded", FIFTH_RUNS, "",
		  .known = { { "20:00", 3, 0 } }, .sidecar = "49:01" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *pod =
			pod_with(rows[i].created ? rows[i].created : TODAY,
				 rows[i].sidecar ? rows[i].sidecar : "05:00", rows[i].status);
		_cleanup_strbuf_ struct strbuf found = STRBUF_INIT(4096);
		struct known_end known[KNOWN_ROW_MAX] = { 0 };
		size_t n = 0;

		for (; n < KNOWN_ROW_MAX && rows[i].known[n].at; n++)
			known[n] = (struct known_end){ .container = "ray-worker",
						     .at_ns = time_in_hour(rows[i].known[n].at),
						     .number = rows[i].known[n].number,
						     .more = rows[i].known[n].more };
		find(pod, known, n, rows[i].now ? rows[i].now : "50:00", &found);
		if (strcmp(strbuf_str(&found), rows[i].found) != 0)
			fail_msg("%s: '%s', not '%s'", rows[i].what, strbuf_str(&found),
				 rows[i].found);
	}
}

static void such_a_failure_says_what_is_not_known(void **state)
{
	const struct known_end known = { .container = "ray-worker",
				       .at_ns = time_in_hour("10:00"),
				       .number = 1 };
	_cleanup_json_ cJSON *pod = pod_with(TODAY, "05:00", FIFTH_RUNS);
	struct ray_failures failures = { 0 };

	(void)state;
	assert_true(unseen_ends_possible(pod));
	for (int i = 0; i < 2; i++)
		assert_true(unseen_ends_find(pod, &known, 1, time_in_hour("50:00"), &failures));
	assert_int_equal(failures.n, 2);
	assert_string_equal(failures.list[0]->name, failures.list[1]->name);
	_cleanup_json_ cJSON *array = json_of_failures(&failures);
	const cJSON *spec = json_get(array->child, "spec"),
		    *metadata = json_get(array->child, "metadata");

	assert_string_equal(json_str(spec, "class"), "Unknown");
	assert_string_equal(json_str(spec, "confidence"), "unknown");
	assert_string_equal(json_str(spec, "endedAt"), "2026-11-21T01:30:00Z");
	assert_string_equal(
		json_str(spec, "verdict"),
		"ray-worker ended 2 times between 2026-11-21T01:10:00.000Z and 2026-11-21T01:30:00Z, and "
		"only the kubelet's restart count shows it");
	assert_int_equal(json_int(spec, "restartCount", -1), 2);
	assert_null(json_get(spec, "exitCode"));
	assert_int_equal(cJSON_GetArraySize(json_get(spec, "missing")), 1);
	metadata = json_get(metadata, "annotations");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(
				    metadata, "afterglow.dev/more-ends")),
			    "1");
}

static void a_pod_without_a_sidecar_is_judged_by_its_own_times(void **state)
{
	_cleanup_json_ cJSON *pod = pod_with(TODAY, "05:00", FIFTH_RUNS);
	_cleanup_strbuf_ struct strbuf early = STRBUF_INIT(4096), later = STRBUF_INIT(4096);

	(void)state;
	cJSON_DeleteItemFromArray(json_get(pod, "status.containerStatuses"), 1);
	find(pod, NULL, 0, "30:59", &early);
	assert_string_equal(strbuf_str(&early), "-");
	find(pod, NULL, 0, "31:01", &later);
	assert_string_equal(strbuf_str(&later), "3 up to 2");
}

static void a_pod_that_is_not_rays_is_not_judged(void **state)
{
	_cleanup_json_ cJSON *pod = pod_with(TODAY, "05:00", FIFTH_RUNS);

	(void)state;
	cJSON_DeleteItemFromObjectCaseSensitive(json_get(pod, "metadata"), "labels");
	assert_false(unseen_ends_possible(pod));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_that_only_the_restart_count_shows_are_one_failure),
		cmocka_unit_test(such_a_failure_says_what_is_not_known),
		cmocka_unit_test(a_pod_without_a_sidecar_is_judged_by_its_own_times),
		cmocka_unit_test(a_pod_that_is_not_rays_is_not_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
