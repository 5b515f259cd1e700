/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of what is taken from a sidecar's answer, and of what a Ray container that pretends to be
 * the sidecar cannot do.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/units.h"
#include "operator/failures/pod_report.h"
#include "operator/injection/report_key.h"


#define NOW (1795224600 * NS_PER_SEC) /* 2026-11-21T01:30:00Z */
#define POD \
	"{\"metadata\":{\"name\":\"w\",\"namespace\":\"ml\",\"uid\":\"u1\",\"labels\":{\"ray.io/cluster\":\"demo\"," \
	"\"ray.io/group\":\"g\"}},\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"ray-worker\"},{\"name\":\"afterglow\"," \
	"\"ports\":[{\"name\":\"afterglow-http\",\"containerPort\":9095}]}]},\"status\":{\"podIP\":\"10.1.2.3\"," \
	"\"containerStatuses\":[{\"name\":\"ray-worker\",\"restartCount\":3,\"containerID\":\"containerd://abc\"," \
	"\"state\":{\"running\":{\"startedAt\":\"2026-11-21T01:00:00Z\"}}},{\"name\":\"afterglow\"," \
	"\"state\":{\"running\":{}}}]}}"
#define ENTRY(id, container, lives, summary) \
	"{\"id\":" id ",\"container\":\"" container "\",\"containerLives\":" lives ",\"summary\":" summary "}"
#define SUMMARY(class, more) \
	"{\"class\":\"" class "\",\"confidence\":\"likely\",\"sentence\":\"A worker died.\"," \
	"\"startedAt\":\"2026-11-21T01:00:00.000Z\",\"endedAt\":\"2026-11-21T01:29:06.324Z\"" more ",\"final\":true}"
#define ANSWER(entries) "{\"podUID\":\"u1\",\"tag\":\"1-2\",\"failures\":[" entries "]}"
#define GOOD ENTRY("\"a\"", "ray-worker", "true", SUMMARY("WorkerCrash", ""))

static cJSON *json_of(const char *text)
{
	cJSON *json = NULL;

	if (json_parse(text, strlen(text), &json, NULL) < 0)
		fail_msg("%s", text);
	return json;
}

static struct pod_report report_of(const char *answer)
{
	_cleanup_json_ cJSON *pod = json_of(POD);
	struct pod_report report;
	struct err err = { 0 };

	if (pod_report_parse(pod, answer, strlen(answer), NOW, &report, &err) < 0)
		fail_msg("%s: %s", answer, err_text(&err));
	return report;
}

static void a_sidecars_answer_becomes_failures_and_holds(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(POD_REPORT_MAX);
	struct pod_report report;
	const cJSON *spec;
	(void)state;

	assert_int_equal(file_read(AT_FDCWD,
				   "operator/failures/testdata/fuzz/pod_report/worker-crash.json",
				   &text, NULL),
			 0);
	report = report_of(strbuf_str(&text));
	assert_string_equal(report.tag, "18a-2");
	assert_int_equal(report.refused, 0);
	/* The end of the other container is in the pod's status. */
	assert_int_equal(report.failures.n, 1);
	_cleanup_json_ cJSON *failure = ray_failure_to_json(report.failures.list[0]);
	spec = json_get(failure, "spec");
	assert_string_equal(json_str(failure, "kind"), "RayFailure");
	assert_string_equal(json_str(failure, "metadata.namespace"), "ml");
	assert_int_equal(strncmp(json_str(failure, "metadata.name"), "w-ray-worker-", 13), 0);
	assert_string_equal(json_str(spec, "cluster"), "demo");
	assert_string_equal(json_str(spec, "podUID"), "u1");
	assert_string_equal(json_str(spec, "node"), "n1");
	assert_string_equal(json_str(spec, "containerID"), "containerd://abc");
	assert_int_equal(json_int(spec, "restartCount", -1), 3);
	assert_true(json_bool(spec, "containerLives", false));
	assert_null(json_get(spec, "exitCode"));
	assert_string_equal(json_str(spec, "class"), "WorkerCrash");
	assert_string_equal(json_str(spec, "confidence"), "likely");
	assert_string_equal(json_str(spec, "endedAt"), "2026-11-21T01:29:06.324Z");
	assert_string_equal(json_str(spec, "memoryText"), "600.0 MiB");
	assert_string_equal(json_str(json_get(spec, "processes")->child, "name"), "ray::stop");
	assert_string_equal(json_str(json_get(spec, "evidence")->child, "source"), "raylet.out");
	assert_string_equal(json_str(spec, "bundle"),
			    "pvc:c/ml/demo/w.u1/ray-worker/20261121T012906.324Z-WorkerCrash");
	assert_int_equal(report.n_holds, 1);
	assert_string_equal(report.holds[0].container, "ray-worker");
	pod_report_release(&report);
}

static void the_name_is_the_same_whenever_and_another_for_another(void **state)
{
	struct pod_report first = report_of(ANSWER(GOOD)), again = report_of(ANSWER(GOOD));
	struct pod_report other =
		report_of(ANSWER(ENTRY("\"b\"", "ray-worker", "true", SUMMARY("WorkerCrash", ""))));
	const char *name = first.failures.list[0]->name;
	(void)state;

	assert_string_equal(name, again.failures.list[0]->name);
	assert_string_not_equal(name, other.failures.list[0]->name);
	pod_report_release(&first);
	pod_report_release(&again);
	pod_report_release(&other);
}

/* A process of the Ray container may have taken the port before the sidecar did. */
static void an_answer_that_the_sidecar_did_not_sign_is_refused(void **state)
{
	static const char key[] = "00112233445566778899aabbccddeeff";
	_cleanup_strbuf_ struct strbuf good = STRBUF_INIT(4096), forged = STRBUF_INIT(4096),
				       other = STRBUF_INIT(4096);
	_cleanup_json_ cJSON *pod = json_of(POD);
	const struct strbuf *bad[] = { &forged, &other };
	struct pod_report report;
	(void)state;

	json_set_str(json_object_at(json_get(pod, "metadata"), "annotations"),
		     REPORT_KEY_ANNOTATION, key);
	report_mac_append(key, REPORT_MAC_FAILURES, ANSWER(GOOD), &good);
	report_mac_append(NULL, REPORT_MAC_FAILURES, ANSWER(GOOD), &forged);
	report_mac_append(key, REPORT_MAC_TERMINATION, ANSWER(GOOD), &other);
	strbuf_addc(&good, '\n');
	assert_int_equal(pod_report_parse(pod, good.data, good.len, NOW, &report, NULL), 0);
	assert_int_equal(report.failures.n, 1);
	pod_report_release(&report);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(
			pod_report_parse(pod, bad[i]->data, bad[i]->len, NOW, &report, NULL),
			-EPROTO);
}

static void what_is_no_answer_of_this_pods_sidecar_is_refused(void **state)
{
	static const struct {
		const char *answer;
		int code;
	} rows[] = {
		{ "", EPROTO },
		{ "<html>", EPROTO },
		{ "[]", EPROTO },
		{ "{}", EPROTO },
		{ "{\"failures\":{}}", EPROTO },
		{ "{\"failures\":[]}", ESTALE },
		{ "{\"podUID\":\"u2\",\"failures\":[" GOOD "]}", ESTALE },
		{ "{\"podUID\":1,\"failures\":[]}", ESTALE },
	};
	_cleanup_json_ cJSON *pod = json_of(POD);
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_report report;
		struct err err = { 0 };

		if (pod_report_parse(pod, rows[i].answer, strlen(rows[i].answer), NOW, &report,
				     &err) != -rows[i].code)
			fail_msg("row %zu: %s", i, err_text(&err));
	}
}

static void an_answer_of_too_many_values_is_not_parsed(void **state)
{
	_cleanup_json_ cJSON *pod = cJSON_Parse(POD);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(POD_REPORT_MAX);
	struct pod_report report;

	(void)state;
	strbuf_adds(&text, "{\"podUID\":\"u1\",\"failures\":[],\"warnings\":[1");
	for (size_t i = 0; i < POD_REPORT_VALUES_MAX - 10; i++)
		strbuf_adds(&text, ",1");
	size_t len = text.len;
	strbuf_adds(&text, "]}");
	assert_int_equal(pod_report_parse(pod, text.data, text.len, NOW, &report, NULL), 0);
	pod_report_release(&report);
	strbuf_truncate(&text, len);
	strbuf_adds(&text, ",1,1,1,1,1,1,1,1,1,1]}");
	assert_int_equal(pod_report_parse(pod, text.data, text.len, NOW, &report, NULL), -EPROTO);
}

static void whatever_its_class_the_mark_says_that_the_container_lives(void **state)
{
	static const char *const classes[] = {
		"KernelOOMProcess", "RayMemoryMonitor", "FileDescriptorsExhausted",
		"WorkerCrash",	    "Segfault",		"RayletFailed",
		"GCSFailed",	    "RayProcessFailed", "RayJobFailed",
		"GCSLost",	    "Terminated",	"CUDAOutOfMemory"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(POD_REPORT_MAX);
		struct pod_report report;
		const cJSON *spec;

		strbuf_addf(
			&text,
			"{\"podUID\":\"u1\",\"failures\":[{\"id\":\"a\",\"container\":\"ray-worker\",\"containerLives\":true,"
			"\"summary\":{\"class\":\"%s\",\"confidence\":\"certain\",\"sentence\":\"x\",\"endedAt\":"
			"\"2026-11-21T01:29:06.324Z\",\"final\":true}}]}",
			classes[i]);
		report = report_of(strbuf_str(&text));
		_cleanup_json_ cJSON *failure = ray_failure_to_json(report.failures.list[0]);
		spec = json_get(failure, "spec");
		if (report.refused || !json_bool(spec, "containerLives", false))
			fail_msg("%s was refused", classes[i]);
		assert_null(json_get(spec, "process"));
		pod_report_release(&report);
	}
}

static void the_process_that_ended_first_is_taken_within_bounds(void **state)
{
	static const struct {
		const char *process, *expected;
	} rows[] = {
		{ "{\"name\":\"raylet\",\"pid\":342,\"signal\":\"SIGKILL\",\"exitCode\":null,\"lastLines\":[\"x\"]}",
		  "{\"name\":\"raylet\",\"pid\":342,\"signal\":\"SIGKILL\"}" },
		{ "{\"name\":\"gcs_server\",\"pid\":null,\"signal\":null,\"exitCode\":1}", "{\"name\":\"gcs_server\",\"exitCode\":1}" },
		{ "{\"name\":\"a\\nb\",\"pid\":-5,\"signal\":\"SIGNONE\",\"exitCode\":4711}", "{\"name\":\"a?b\"}" },
		{ "{\"name\":\"raylet\",\"pid\":99999999999}", "{\"name\":\"raylet\"}" },
		{ "{\"pid\":342}", NULL },
		{ "{\"name\":7}", NULL },
		{ "\"raylet\"", NULL },
		{ "[]", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(POD_REPORT_MAX);
		_cleanup_free_ char *process = NULL;
		struct pod_report report;

		strbuf_addf(
			&text,
			"{\"podUID\":\"u1\",\"failures\":[{\"id\":\"a\",\"container\":\"ray-worker\",\"containerLives\":true,"
			"\"summary\":{\"class\":\"RayletFailed\",\"confidence\":\"certain\",\"sentence\":\"x\",\"endedAt\":"
			"\"2026-11-21T01:29:06.324Z\",\"process\":%s,\"final\":true}}]}",
			rows[i].process);
		report = report_of(strbuf_str(&text));
		assert_int_equal(report.refused, 0);
		_cleanup_json_ cJSON *failure = ray_failure_to_json(report.failures.list[0]);
		process = cJSON_PrintUnformatted(json_get(failure, "spec.process"));
		if (rows[i].expected)
			assert_string_equal(process, rows[i].expected);
		else
			assert_null(process);
		pod_report_release(&report);
	}
}

static void entries_that_are_no_such_failures_are_counted_and_dropped(void **state)
{
	static const char *const entries[] = {
		"7", "null", "[]",
		ENTRY("\"a\"", "other", "true", SUMMARY("WorkerCrash", "")),
		ENTRY("\"a\"", "afterglow", "true", SUMMARY("WorkerCrash", "")),
		ENTRY("\"\"", "ray-worker", "true", SUMMARY("WorkerCrash", "")),
		ENTRY("\"a b\"", "ray-worker", "true", SUMMARY("WorkerCrash", "")),
		ENTRY("7", "ray-worker", "true", SUMMARY("WorkerCrash", "")),
		ENTRY("\"a\"", "ray-worker", "true", "null"),
		ENTRY("\"a\"", "ray-worker", "true", "{}"),
		ENTRY("\"a\"", "ray-worker", "true", SUMMARY("NoSuchClass", "")),
		/* Classes that only the pod's status can prove, or that end the container. */
		ENTRY("\"a\"", "ray-worker", "true", SUMMARY("Evicted", "")),
		ENTRY("\"a\"", "ray-worker", "true", SUMMARY("KernelOOMContainer", "")),
		ENTRY("\"a\"", "ray-worker", "true", SUMMARY("Completed", "")),
		ENTRY("\"a\"", "ray-worker", "true", "{\"class\":\"WorkerCrash\",\"sentence\":\"x\",\"final\":true}"),
		ENTRY("\"a\"", "ray-worker", "true", SUMMARY("WorkerCrash", ",\"endedAt\":\"2036-01-01T00:00:00Z\"") ),
		ENTRY("\"a\"", "ray-worker", "true",
		      "{\"class\":\"WorkerCrash\",\"sentence\":\"x\",\"endedAt\":\"2036-01-01T00:00:00Z\",\"final\":true}"),
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(POD_REPORT_MAX);
		struct pod_report report;

		strbuf_addf(&text, "{\"podUID\":\"u1\",\"failures\":[%s," GOOD "]}", entries[i]);
		report = report_of(strbuf_str(&text));
		/* Of two members of one name the first counts, so one row is valid. */
		if ((int)report.refused + (int)report.failures.n != 2 ||
		    (int)report.failures.n < 1 ||
		    (report.refused != 1 && !strstr(entries[i], "01:29:06.324Z\",\"endedAt")))
			fail_msg("%s: %u refused", entries[i], report.refused);
		pod_report_release(&report);
	}
}

static void others_text_is_tamed_and_others_bundles_are_not_passed_on(void **state)
{
	struct pod_report report = report_of(ANSWER(ENTRY(
		"\"a\"", "ray-worker", "true",
		"{\"class\":\"WorkerCrash\",\"sentence\":\"a\\u001b[31mb\\nc\",\"endedAt\":\"2026-11-21T01:29:06Z\","
		"\"bundle\":\"pvc:c/kube-system/x/y.u1/z/T\",\"processes\":[{\"pid\":-1,\"name\":\"\\r\"}],\"final\":true}")));
	_cleanup_json_ cJSON *failure = ray_failure_to_json(report.failures.list[0]);
	const cJSON *spec = json_get(failure, "spec");
	(void)state;

	assert_string_equal(json_str(spec, "verdict"), "a?[31mb?c");
	assert_null(json_get(spec, "bundle"));
	assert_string_equal(json_str(spec, "confidence"), "unknown");
	pod_report_release(&report);
}

static void of_too_many_the_rest_is_counted(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(POD_REPORT_MAX);
	struct pod_report report;
	(void)state;

	strbuf_adds(&text, "{\"podUID\":\"u1\",\"failures\":[");
	for (int i = 0; i < 100; i++)
		strbuf_addf(
			&text,
			"%s{\"id\":\"f%d\",\"container\":\"ray-worker\",\"containerLives\":true,\"heldUntil\":"
			"\"2026-11-21T01:40:%02dZ\",\"summary\":" SUMMARY("WorkerCrash", "") "}",
			i ? "," : "", i, i % 60);
	strbuf_adds(&text, "]}");
	report = report_of(strbuf_str(&text));
	assert_int_equal((int)report.failures.n, POD_REPORT_FAILURES_MAX);
	assert_int_equal(report.refused, 100 - POD_REPORT_FAILURES_MAX);
	assert_int_equal(report.n_holds, POD_REPORT_HOLDS_MAX);
	pod_report_release(&report);
}

static void only_holds_that_go_on_and_end_are_reported(void **state)
{
	static const struct {
		const char *until;
		size_t n;
	} rows[] = {
		{ "\"2026-11-21T01:29:59Z\"", 0 }, { "\"2026-11-21T01:31:00Z\"", 1 }, { "\"2027-11-21T01:31:00Z\"", 0 },
		{ "\"soon\"", 0 },		   { "null", 0 },		      { "17", 0 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(POD_REPORT_MAX);
		struct pod_report report;

		strbuf_addf(
			&text,
			"{\"podUID\":\"u1\",\"failures\":[{\"container\":\"ray-worker\",\"heldUntil\":%s},"
			"{\"container\":\"$(reboot)\",\"heldUntil\":%s}]}",
			rows[i].until, rows[i].until);
		report = report_of(strbuf_str(&text));
		assert_int_equal(report.n_holds, rows[i].n);
		pod_report_release(&report);
	}
}

static void the_event_says_until_when_and_how_to_end_it(void **state)
{
	_cleanup_json_ cJSON *pod = json_of(POD);
	const struct pod_hold hold = { .container = "ray-worker", .until_ns = NOW };
	_cleanup_json_ cJSON *event = pod_hold_event(pod, &hold, NOW),
			     *again = pod_hold_event(pod, &hold, NOW + NS_PER_SEC);
	(void)state;

	assert_string_equal(json_str(event, "regarding.kind"), "Pod");
	assert_string_equal(json_str(event, "regarding.uid"), "u1");
	assert_string_equal(json_str(event, "reason"), "Held");
	assert_non_null(strstr(json_str(event, "note"), "held until 2026-11-21T01:30:00.000Z"));
	assert_non_null(strstr(
		json_str(event, "note"),
		"kubectl exec -n ml w -c ray-worker -- /afterglow/bin/afterglow-launch --release"));
	assert_string_equal(json_str(event, "metadata.name"), json_str(again, "metadata.name"));
}

static void only_sidecars_that_run_and_serve_are_asked(void **state)
{
	static const struct {
		const char *from, *to; /* replacements in POD */
		const char *url;
	} rows[] = {
		{ "", "", "http://10.1.2.3:9095/failures" },
		{ "10.1.2.3", "fd00::7", "http://[fd00::7]:9095/failures" },
		{ "10.1.2.3", "example.com/", NULL },
		{ "10.1.2.3", "", NULL },
		{ "9095", "0", NULL },
		{ "9095", "65536", NULL },
		{ "afterglow-http", "http", NULL },
		{ "\"nodeName\":\"n1\"", "\"hostNetwork\":true", NULL },
		{ "{\"running\":{}}", "{\"waiting\":{}}", NULL },
		{ "{\"name\":\"afterglow\",\"ports\"", "{\"name\":\"other\",\"ports\"", NULL },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(4096);
		const char *at = strstr(POD, rows[i].from);
		_cleanup_json_ cJSON *pod = NULL;
		char url[POD_REPORT_URL_MAX];

		strbuf_add(&text, POD, (size_t)(at - POD));
		strbuf_addf(&text, "%s%s", rows[i].to, at + strlen(rows[i].from));
		pod = json_of(strbuf_str(&text));
		assert_int_equal(pod_report_url(pod, url), rows[i].url != NULL);
		if (rows[i].url)
			assert_string_equal(url, rows[i].url);
	}
}

static void an_end_or_a_deletion_is_an_occasion(void **state)
{
	_cleanup_json_ cJSON *pod = json_of(POD);
	uint64_t before = pod_report_occasion(pod), after;
	cJSON *status = json_get(pod, "status.containerStatuses")->child;
	(void)state;

	json_set_int(status, "restartCount", 4);
	after = pod_report_occasion(pod);
	assert_true(after != before);
	json_object_at(json_get(status, "state"), "terminated");
	assert_true(pod_report_occasion(pod) != after);
	after = pod_report_occasion(pod);
	json_set_str(json_get(pod, "metadata"), "deletionTimestamp", "2026-11-21T01:40:00Z");
	assert_true(pod_report_occasion(pod) != after);
	assert_int_equal(pod_report_occasion(NULL), 0);
}

static void a_driver_that_waits_is_said_in_the_sidecars_words(void **state)
{
	struct pod_report report = report_of(
		"{\"podUID\":\"u1\",\"failures\":[],\"warnings\":[7,{\"kind\":\"DriverWaits\","
		"\"sentence\":\"A driver\\u001b[2J waits.\"}]}");
	(void)state;

	assert_string_equal(report.driver_waits, "A driver?[2J waits.");
	report = report_of(
		"{\"podUID\":\"u1\",\"failures\":[],\"warnings\":[{\"kind\":\"DriverWaits\",\"sentence\":8}]}");
	assert_string_equal(report.driver_waits, "");
	report = report_of("{\"podUID\":\"u1\",\"failures\":[]}");
	assert_string_equal(report.driver_waits, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sidecars_answer_becomes_failures_and_holds),
		cmocka_unit_test(the_name_is_the_same_whenever_and_another_for_another),
		cmocka_unit_test(an_answer_that_the_sidecar_did_not_sign_is_refused),
		cmocka_unit_test(what_is_no_answer_of_this_pods_sidecar_is_refused),
		cmocka_unit_test(an_answer_of_too_many_values_is_not_parsed),
		cmocka_unit_test(whatever_its_class_the_mark_says_that_the_container_lives),
		cmocka_unit_test(the_process_that_ended_first_is_taken_within_bounds),
		cmocka_unit_test(entries_that_are_no_such_failures_are_counted_and_dropped),
		cmocka_unit_test(others_text_is_tamed_and_others_bundles_are_not_passed_on),
		cmocka_unit_test(of_too_many_the_rest_is_counted),
		cmocka_unit_test(only_holds_that_go_on_and_end_are_reported),
		cmocka_unit_test(the_event_says_until_when_and_how_to_end_it),
		cmocka_unit_test(only_sidecars_that_run_and_serve_are_asked),
		cmocka_unit_test(an_end_or_a_deletion_is_an_occasion),
		cmocka_unit_test(a_driver_that_waits_is_said_in_the_sidecars_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
