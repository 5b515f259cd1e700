/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the encoding of a RayFailure as a log record. */
#include "operator/export/otlp_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "operator/failures/story.h"

static const char whole[] =
	"{\"metadata\":{\"name\":\"demo-worker-1\",\"namespace\":\"ml\"},\"spec\":{\"cluster\":\"demo\",\"group\":\"gpu\",\"pod\":\"demo-worker\","
	"\"podUID\":\"u-1\",\"container\":\"ray-worker\",\"containerID\":\"containerd://abc\",\"node\":\"n1\",\"restartCount\":2,"
	"\"endedAt\":\"2026-11-21T01:29:06.324Z\",\"exitCode\":137,\"class\":\"KernelOOMContainer\",\"confidence\":\"certain\","
	"\"verdict\":\"The kernel's OOM killer ended the container\",\"signature\":\"v1:KernelOOMContainer:ray-worker:-\","
	"\"bundle\":\"ml/demo/x\",\"signal\":\"SIGKILL\",\"kubernetesReason\":\"OOMKilled\","
	"\"endedBy\":{\"kind\":\"Kernel\",\"name\":\"Node/n1\"},\"owner\":{\"kind\":\"RayJob\",\"name\":\"train\"},"
	"\"job\":{\"submissionId\":\"s-1\"},\"memory\":{\"limitBytes\":2147483648,\"usageBytes\":2147000000}}}";

static cJSON *object_of(const char *text)
{
	cJSON *object = cJSON_Parse(text);

	assert_non_null(object);
	return object;
}

static const cJSON *log_record(const cJSON *record)
{
	return cJSON_GetArrayItem(
		json_get(cJSON_GetArrayItem(json_get(record, "scopeLogs"), 0), "logRecords"), 0);
}

/* The value of an attribute; NULL: there is none. */
static const char *attribute(const cJSON *of, const char *key)
{
	const cJSON *value = json_get(json_find(json_get(of, "attributes"), "key", key), "value");
	const char *text = json_str(value, "stringValue");

	return text ? text : json_str(value, "intValue");
}

static void assert_attribute(const cJSON *of, const char *key, const char *value)
{
	const char *found = attribute(of, key);

	if (!found || strcmp(found, value) != 0)
		fail_msg("%s is %s, not %s", key, found ? found : "not there", value);
}

static void a_failure_becomes_a_record_with_its_resource(void **state)
{
	static const char *const resource[][2] = {
		{ "service.name", "demo" },
		{ "service.namespace", "ml" },
		{ "k8s.namespace.name", "ml" },
		{ "k8s.pod.name", "demo-worker" },
		{ "k8s.pod.uid", "u-1" },
		{ "k8s.container.name", "ray-worker" },
		{ "k8s.container.restart_count", "2" },
		{ "k8s.node.name", "n1" },
		{ "container.id", "containerd://abc" },
	};
	static const char *const attributes[][2] = {
		{ "log.record.uid", "ml/demo-worker-1" },
		{ "process.exit.code", "137" },
		{ "afterglow.failure", "demo-worker-1" },
		{ "afterglow.cluster", "demo" },
		{ "afterglow.group", "gpu" },
		{ "afterglow.class", "KernelOOMContainer" },
		{ "afterglow.confidence", "certain" },
		{ "afterglow.signature", "v1:KernelOOMContainer:ray-worker:-" },
		{ "afterglow.bundle", "ml/demo/x" },
		{ "afterglow.signal", "SIGKILL" },
		{ "afterglow.kubernetes_reason", "OOMKilled" },
		{ "afterglow.container.exit_code", "137" },
		{ "afterglow.ended_by.kind", "Kernel" },
		{ "afterglow.ended_by.name", "Node/n1" },
		{ "afterglow.owner.kind", "RayJob" },
		{ "afterglow.owner.name", "train" },
		{ "afterglow.job.submission_id", "s-1" },
		{ "afterglow.memory.limit", "2147483648" },
		{ "afterglow.memory.usage", "2147000000" },
	};
	_cleanup_json_ cJSON *failure = object_of(whole);
	_cleanup_json_ cJSON *record =
		otlp_record_new(failure, &(struct otlp_settings){ 0 }, 1800000000000000001);
	const cJSON *log = log_record(record);
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(resource); i++)
		assert_attribute(json_get(record, "resource"), resource[i][0], resource[i][1]);
	assert_int_equal(cJSON_GetArraySize(json_get(record, "resource.attributes")),
			 ARRAY_SIZE(resource));
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++)
		assert_attribute(log, attributes[i][0], attributes[i][1]);
	assert_int_equal(cJSON_GetArraySize(json_get(log, "attributes")), ARRAY_SIZE(attributes));
	assert_string_equal(json_str(log, "timeUnixNano"), "1795224546324000000");
	assert_string_equal(json_str(log, "observedTimeUnixNano"), "1800000000000000001");
	assert_int_equal(json_int(log, "severityNumber", 0), 17);
	assert_string_equal(json_str(log, "severityText"), "ERROR");
	assert_string_equal(json_str(log, "body.stringValue"),
			    "The kernel's OOM killer ended the container");
}

static void ends_that_somebody_asked_for_are_no_errors(void **state)
{
	static const struct {
		const char *class, *severity;
	} rows[] = {
		{ "PodDeleted", "INFO" },   { "Terminated", "INFO" }, { "Interrupted", "INFO" },
		{ "Completed", "INFO" },    { "Evicted", "ERROR" },   { "Unknown", "ERROR" },
		{ "NoSuchClass", "ERROR" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *failure = object_of(whole);

		json_set_str(json_get(failure, "spec"), "class", rows[i].class);
		_cleanup_json_ cJSON *record =
			otlp_record_new(failure, &(struct otlp_settings){ 0 }, 1);
		if (strcmp(json_str(log_record(record), "severityText"), rows[i].severity) != 0)
			fail_msg("%s", rows[i].class);
	}
}

static void pid_and_exit_code_are_of_the_same_process(void **state)
{
	_cleanup_json_ cJSON *failure = object_of(whole);
	cJSON *process = json_object_at(json_get(failure, "spec"), "process");
	(void)state;

	json_set_str(process, "name", "raylet");
	json_set_int(process, "pid", 20);
	json_set_str(process, "signal", "SIGKILL");
	_cleanup_json_ cJSON *record = otlp_record_new(failure, &(struct otlp_settings){ 0 }, 1);
	assert_attribute(log_record(record), "process.pid", "20");
	assert_attribute(log_record(record), "afterglow.process.name", "raylet");
	assert_attribute(log_record(record), "afterglow.process.signal", "SIGKILL");
	assert_attribute(log_record(record), "afterglow.container.exit_code", "137");
	assert_null(attribute(log_record(record), "process.exit.code"));
}

static void attributes_of_the_administrator_win(void **state)
{
	const struct otlp_settings settings = {
		.attributes = { "k8s.cluster.name=prod", "service.name=ray" }, .n_attributes = 2
	};
	_cleanup_json_ cJSON *failure = object_of(whole);
	_cleanup_json_ cJSON *record = otlp_record_new(failure, &settings, 1);
	(void)state;

	assert_attribute(json_get(record, "resource"), "k8s.cluster.name", "prod");
	assert_attribute(json_get(record, "resource"), "service.name", "ray");
	assert_int_equal(cJSON_GetArraySize(json_get(record, "resource.attributes")), 10);
}

static void the_incident_is_added_when_it_is_known(void **state)
{
	_cleanup_json_ cJSON *failure = object_of(whole),
			     *metadata = object_of(
				     "{\"metadata\":{\"labels\":{\"" INCIDENT_LABEL
				     "\":\"i-1\"},\"annotations\":{\"" CAUSED_BY_ANNOTATION
				     "\":\"demo-head-1\"}}}");
	_cleanup_json_ cJSON *record = otlp_record_new(failure, &(struct otlp_settings){ 0 }, 1);
	(void)state;

	otlp_record_set_incident(record, NULL);
	otlp_record_set_incident(record, failure);
	assert_null(attribute(log_record(record), "afterglow.incident"));
	otlp_record_set_incident(record, metadata);
	assert_attribute(log_record(record), "afterglow.incident", "i-1");
	assert_attribute(log_record(record), "afterglow.caused_by", "demo-head-1");
}

static void what_a_failure_lacks_is_left_out_and_what_is_too_long_is_cut(void **state)
{
	_cleanup_json_ cJSON *bare = object_of(
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"ml\"},\"spec\":{\"endedAt\":\"never\"}}");
	_cleanup_json_ cJSON *nameless = object_of("{\"spec\":{\"class\":\"Killed\"}}");
	char text[OTLP_TEXT_MAX + 3] = "";
	(void)state;

	memset(text, 'x', OTLP_TEXT_MAX - 1);
	memcpy(text + OTLP_TEXT_MAX - 1, "\xc3\xa4",
	       3); /* the cut removes a character that does not fit */
	json_set_str(json_get(bare, "spec"), "verdict", text);
	_cleanup_json_ cJSON *record = otlp_record_new(bare, &(struct otlp_settings){ 0 }, 7);
	assert_int_equal(strlen(json_str(log_record(record), "body.stringValue")),
			 OTLP_TEXT_MAX - 1);
	assert_string_equal(json_str(log_record(record), "timeUnixNano"), "7");
	assert_int_equal(cJSON_GetArraySize(json_get(log_record(record), "attributes")), 2);
	assert_null(otlp_record_new(nameless, &(struct otlp_settings){ 0 }, 7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_becomes_a_record_with_its_resource),
		cmocka_unit_test(ends_that_somebody_asked_for_are_no_errors),
		cmocka_unit_test(pid_and_exit_code_are_of_the_same_process),
		cmocka_unit_test(attributes_of_the_administrator_win),
		cmocka_unit_test(the_incident_is_added_when_it_is_known),
		cmocka_unit_test(what_a_failure_lacks_is_left_out_and_what_is_too_long_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
