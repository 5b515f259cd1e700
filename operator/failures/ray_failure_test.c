/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of whole RayFailures, byte for byte. Each line of testdata/ray_failures.jsonl has a pod of
 * the tests beside this one and the RayFailures that follow from it. Members of objects are
 * compared in the order of their names. RECORD=1 writes the present results.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/units.h"
#include "operator/failures/failures.h"
#include "operator/failures/pod_report.h"
#include "operator/failures/ray_failure.h"
#include "operator/failures/testing.h"

#define LINES "operator/failures/testdata/ray_failures.jsonl"
#define MEMBERS_MAX 64

static int by_name(const void *a, const void *b)
{
	return strcmp((*(cJSON *const *)a)->string, (*(cJSON *const *)b)->string);
}

static void sort_members(cJSON *value)
{
	cJSON *members[MEMBERS_MAX], *member;
	size_t n = 0;

	cJSON_ArrayForEach(member, value)
		sort_members(member);
	if (!cJSON_IsObject(value))
		return;
	while (value->child) {
		assert_true(n < MEMBERS_MAX);
		members[n++] = cJSON_DetachItemViaPointer(value, value->child);
	}
	qsort(members, n, sizeof(*members), by_name);
	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(value, members[i]);
}

static cJSON *of_answer(const cJSON *line, const cJSON *pod, int64_t now_ns)
{
	const char *answer = json_str(line, "answer");
	struct pod_report report;
	cJSON *failures;

	if (pod_report_parse(pod, answer, strlen(answer), now_ns, &report, NULL) < 0)
		return cJSON_CreateArray();
	pod_ends_missed(&report.ends, pod, NULL, 0, &report.failures);
	failures = json_of_failures(&report.failures);
	pod_report_release(&report);
	return failures;
}

/*
 * Returns the failures as they are made, with the story and the signature that each has when it is
 * written.
 */
static cJSON *failures_of(const cJSON *line)
{
	const cJSON *pod = json_get(line, "pod");
	int64_t now_ns = json_int(line, "now", 0) * NS_PER_SEC;
	struct ray_failures found = { 0 };
	cJSON *failures, *failure;
	struct err err = { 0 };

	if (json_bool(line, "gone", false))
		assert_int_equal(failures_from_gone_pod(pod, now_ns, &found, &err), 0);
	else if (!json_str(line, "answer"))
		assert_int_equal(failures_from_pod(pod, now_ns, &found, &err), 0);
	failures =
		json_str(line, "answer") ? of_answer(line, pod, now_ns) : json_of_failures(&found);
	cJSON_ArrayForEach(failure, failures) {
		_cleanup_json_ cJSON *sealed = cJSON_Duplicate(failure, true);
		const cJSON *annotations;

		failure_seal(sealed);
		annotations = json_get(sealed, "metadata.annotations");
		json_set_str(failure, "story",
			     cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(
				     annotations, "afterglow.dev/facts")));
		json_set_str(failure, "signature", json_str(sealed, "spec.signature"));
	}
	sort_members(failures);
	return failures;
}

static void whole_rayfailures_follow_from_pods(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(4 << 20);
	FILE *record = getenv("RECORD") ? fopen(LINES ".new", "w") : NULL;
	size_t n_lines = 0, n_failures = 0;
	(void)state;

	assert_int_equal(file_read(AT_FDCWD, LINES, &text, NULL), 0);
	for (const char *at = strbuf_str(&text), *end; (end = strchr(at, '\n'));
	     at = end + 1, n_lines++) {
		_cleanup_json_ cJSON *line = NULL;

		assert_int_equal(json_parse(at, (size_t)(end - at), &line, NULL), 0);
		_cleanup_json_ cJSON *failures = failures_of(line);
		_cleanup_free_ char *have = cJSON_PrintUnformatted(failures);
		_cleanup_free_ char *want = cJSON_PrintUnformatted(json_get(line, "failures"));
		n_failures += (size_t)cJSON_GetArraySize(failures);
		if (record) {
			json_set(line, "failures", TAKE_PTR(failures));
			_cleanup_free_ char *new = cJSON_PrintUnformatted(line);
			fprintf(record, "%s\n", new);
		} else if (strcmp(have, want ? want : "") != 0) {
			fail_msg("line %zu:\nhave %s\nwant %s", n_lines + 1, have, want);
		}
	}
	if (record)
		fclose(record);
	assert_true(n_lines > 100 && n_failures > 100);
}

static void what_is_not_known_is_left_out(void **state)
{
	struct ray_failure f;
	(void)state;

	ray_failure_init(&f);
	ray_failure_set(&f.namespace, "ml");
	ray_failure_set(&f.name, "w-ray-worker-0");
	ray_failure_set(&f.ended_at, "2026-11-21T01:05:00Z");
	ray_failure_set(&f.verdict, "It ended");
	/* An empty text means unknown, except for a label. */
	ray_failure_set(&f.group, "");
	_cleanup_json_ cJSON *failure = ray_failure_to_json(&f);
	_cleanup_free_ char *spec = cJSON_PrintUnformatted(json_get(failure, "spec"));
	_cleanup_free_ char *labels = cJSON_PrintUnformatted(json_get(failure, "metadata.labels"));

	assert_string_equal(
		spec, "{\"endedAt\":\"2026-11-21T01:05:00Z\",\"class\":\"Unknown\",\"confidence\":"
		      "\"unknown\",\"verdict\":\"It ended\",\"signature\":\"v1:Unknown:?:?\"}");
	assert_string_equal(labels, "{\"ray.io/group\":\"\",\"afterglow.dev/class\":\"Unknown\"}");
	ray_failure_release(&f);
}

static void a_report_fills_no_more_than_there_is_room_for(void **state)
{
	_cleanup_json_ cJSON *report = cJSON_CreateObject();
	cJSON *processes = json_array_at(report, "processes"),
	      *evidence = json_array_at(report, "evidence");
	struct ray_failure f;
	(void)state;

	for (int i = 0; i < 1000; i++) {
		json_append(processes,
			    cJSON_Parse("{\"pid\":1,\"growthBytesPerSecond\":-5,\"name\":\"p\"}"));
		json_append(evidence, cJSON_Parse("{\"text\":\"t\"}"));
	}
	ray_failure_init(&f);
	ray_failure_take_memory(&f, report);
	ray_failure_take_notes(&f, report);
	assert_int_equal(f.evidence.n, RAY_FAILURE_NOTES_MAX);
	ray_failure_add_evidence(&f, "kubelet", "too late");
	assert_int_equal(f.evidence.n, RAY_FAILURE_NOTES_MAX);
	_cleanup_json_ cJSON *failure = ray_failure_to_json(&f);
	assert_int_equal(json_int(cJSON_GetArrayItem(json_get(failure, "spec.processes"), 0),
				  "growthBytesPerSecond", 0),
			 -5);
	assert_null(json_get(cJSON_GetArrayItem(json_get(failure, "spec.evidence"), 0), "source"));
	assert_null(json_get(failure, "spec.memory"));
	ray_failure_release(&f);
	/* Releasing twice does no harm. */
	ray_failure_release(&f);
}

static void a_copy_has_all_and_shares_nothing(void **state)
{
	struct ray_failure *f = failure_of_yaml(
		"metadata: {namespace: ml, name: x}\n"
		"spec: {cluster: demo, pod: w, podUID: u1, container: c, endedAt: '2026-11-21T01:05:00Z', verdict: v, exitCode: 1, "
		"owner: {kind: RayJob, name: train, uid: u-1}, endedBy: {kind: Client, time: '2026-11-21T01:05:00Z'}, "
		"process: {name: raylet, signal: SIGKILL}, processes: [{pid: 4, name: p}], evidence: [{source: s, text: t}], "
		"missing: [{what: w, needs: n}, {what: gap}]}\n");
	struct ray_failure *copy = ray_failure_copy(f), *other = ray_failure_copy(f);
	(void)state;

	_cleanup_json_ cJSON *before = json_of_failure(f), *after = ray_failure_to_json(copy);
	assert_true(cJSON_Compare(before, after, true));
	ray_failure_drop_missing(other, "w");
	ray_failure_become(copy, other);
	assert_int_equal(copy->missing.n, 1);
	assert_string_equal(copy->missing.list[0].subject, "gap");
	ray_failure_free(copy);
}

static void numbers_of_a_process_that_are_none_are_not_believed(void **state)
{
	static const char *const rows[] = {
		"{\"process\":{\"name\":\"raylet\",\"pid\":0,\"exitCode\":256}}",
		"{\"process\":{\"name\":\"raylet\",\"pid\":4194305,\"exitCode\":-1}}",
		"{\"process\":{\"name\":\"raylet\",\"pid\":\"7\",\"exitCode\":null}}",
	};
	struct ray_failure f;
	(void)state;

	ray_failure_init(&f);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *report = cJSON_Parse(rows[i]);

		ray_failure_take_first(&f, report);
		_cleanup_json_ cJSON *failure = ray_failure_to_json(&f);
		_cleanup_free_ char *process =
			cJSON_PrintUnformatted(json_get(failure, "spec.process"));
		assert_string_equal(process, "{\"name\":\"raylet\"}");
	}
	ray_failure_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_rayfailures_follow_from_pods),
		cmocka_unit_test(what_is_not_known_is_left_out),
		cmocka_unit_test(a_report_fills_no_more_than_there_is_room_for),
		cmocka_unit_test(a_copy_has_all_and_shares_nothing),
		cmocka_unit_test(numbers_of_a_process_that_are_none_are_not_believed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
