/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a log record of OpenTelemetry from a RayFailure. */
#include "operator/export/otlp_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/failure_class.h"
#include "lib/json.h"
#include "lib/macros.h"
#include "lib/oom.h"
#include "lib/units.h"
#include "lib/utf8.h"
#include "operator/failures/story.h"

/* OpenTelemetry's numbers for the lowest of the four levels of a severity. */
#define SEVERITY_INFO 9
#define SEVERITY_ERROR 17

/* --- Attributes ------------------------------------------------------------------------------- */

/* Makes a copy of at most the length of a record's text. */
static cJSON *text_of(const char *text)
{
	_cleanup_free_ char *copy = strndup(text, utf8_cut(text, strnlen(text, OTLP_TEXT_MAX)));

	if (!copy)
		oom_note();
	return copy ? cJSON_CreateString(copy) : NULL;
}

static void put(cJSON *attributes, const char *key, const char *type, cJSON *value)
{
	cJSON *item = cJSON_CreateObject();

	json_set_str(item, "key", key);
	json_set(json_object_at(item, "value"), type, value);
	json_append(attributes, item);
}

/* Adds a text. NULL or an empty text means that it is not known. */
static void put_text(cJSON *attributes, const char *key, const char *text)
{
	if (text && *text)
		put(attributes, key, "stringValue", text_of(text));
}

/* Makes a text of an integer of 64 bits, as the JSON encoding demands. */
static cJSON *number_of(int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	return cJSON_CreateString(text);
}

static void put_number(cJSON *attributes, const char *key, const cJSON *failure, const char *path)
{
	if (cJSON_IsNumber(json_get(failure, path)))
		put(attributes, key, "intValue", number_of(json_int(failure, path, 0)));
}

/* --- The resource ----------------------------------------------------------------------------- */

static const struct {
	const char *key, *path;
} resource_texts[] = {
	/* The Ray pods of one cluster are one service, unless a setting overrides that. */
	{ "service.name", "spec.cluster" },
	{ "service.namespace", "metadata.namespace" },
	{ "k8s.namespace.name", "metadata.namespace" },
	{ "k8s.pod.name", "spec.pod" },
	{ "k8s.pod.uid", "spec.podUID" },
	{ "k8s.container.name", "spec.container" },
	{ "k8s.node.name", "spec.node" },
	{ "container.id", "spec.containerID" },
};

static void put_settings(cJSON *attributes, const struct otlp_settings *settings)
{
	for (size_t i = 0; i < settings->n_attributes; i++) {
		const char *attribute = settings->attributes[i];
		char name[OTLP_ATTRIBUTE_MAX + 1];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(attribute, "="), attribute);
		put_text(attributes, name, strchr(attribute, '=') + 1);
	}
}

static void put_resource(cJSON *record, const cJSON *failure, const struct otlp_settings *settings)
{
	cJSON *attributes = json_array_at(json_object_at(record, "resource"), "attributes");

	for (size_t i = 0; i < ARRAY_SIZE(resource_texts); i++)
		if (!otlp_settings_has(settings, resource_texts[i].key))
			put_text(attributes, resource_texts[i].key,
				 json_str(failure, resource_texts[i].path));
	if (!otlp_settings_has(settings, "k8s.container.restart_count"))
		put_number(attributes, "k8s.container.restart_count", failure, "spec.restartCount");
	put_settings(attributes, settings);
}

/* --- The record ------------------------------------------------------------------------------- */

static const struct {
	const char *key, *path;
} record_texts[] = {
	{ "afterglow.failure", "metadata.name" },
	{ "afterglow.cluster", "spec.cluster" },
	{ "afterglow.group", "spec.group" },
	{ "afterglow.class", "spec.class" },
	{ "afterglow.confidence", "spec.confidence" },
	{ "afterglow.signature", "spec.signature" },
	{ "afterglow.bundle", "spec.bundle" },
	{ "afterglow.signal", "spec.signal" },
	{ "afterglow.kubernetes_reason", "spec.kubernetesReason" },
	{ "afterglow.process.name", "spec.process.name" },
	{ "afterglow.process.signal", "spec.process.signal" },
	{ "afterglow.ended_by.kind", "spec.endedBy.kind" },
	{ "afterglow.ended_by.name", "spec.endedBy.name" },
	{ "afterglow.owner.kind", "spec.owner.kind" },
	{ "afterglow.owner.name", "spec.owner.name" },
	{ "afterglow.job.submission_id", "spec.job.submissionId" },
};

/*
 * In a cluster the name of a RayFailure follows from the container, so a reader that gets a record
 * twice can recognise it.
 */
static void put_uid(cJSON *attributes, const cJSON *failure)
{
	char uid[600];

	snprintf(uid, sizeof(uid), "%.63s/%.253s", json_str(failure, "metadata.namespace"),
		 json_str(failure, "metadata.name"));
	put_text(attributes, "log.record.uid", uid);
}

/*
 * process.pid and process.exit_code belong to the same process: the one that ended first, or else
 * the container's.
 */
static void put_process(cJSON *attributes, const cJSON *failure)
{
	bool has_first = json_get(failure, "spec.process");

	put_number(attributes, "process.pid", failure, "spec.process.pid");
	put_number(attributes, "process.exit.code", failure,
		   has_first ? "spec.process.exitCode" : "spec.exitCode");
	put_number(attributes, "afterglow.container.exit_code", failure, "spec.exitCode");
}

static void put_attributes(cJSON *record, const cJSON *failure)
{
	cJSON *attributes = json_array_at(record, "attributes");

	put_uid(attributes, failure);
	for (size_t i = 0; i < ARRAY_SIZE(record_texts); i++)
		put_text(attributes, record_texts[i].key, json_str(failure, record_texts[i].path));
	put_process(attributes, failure);
	put_number(attributes, "afterglow.memory.limit", failure, "spec.memory.limitBytes");
	put_number(attributes, "afterglow.memory.usage", failure, "spec.memory.usageBytes");
	put_number(attributes, "afterglow.memory.peak", failure, "spec.memory.peakBytes");
}

/* Returns whether somebody asked for such an end. */
static bool is_asked_for(const char *class)
{
	switch (class ? failure_class_from_name(class) : -1) {
	case FAILURE_COMPLETED:
	case FAILURE_INTERRUPTED:
	case FAILURE_TERMINATED:
	case FAILURE_POD_DELETED:
		return true;
	default:
		return false;
	}
}

static void put_times(cJSON *record, const cJSON *failure, int64_t observed_ns)
{
	const char *ended = json_str(failure, "spec.endedAt");
	int64_t ended_ns = observed_ns;

	if (ended)
		(void)time_parse(ended, &ended_ns, NULL);
	json_set(record, "timeUnixNano", number_of(ended_ns));
	json_set(record, "observedTimeUnixNano", number_of(observed_ns));
}

static cJSON *record_of(const cJSON *failure, int64_t observed_ns)
{
	bool asked_for = is_asked_for(json_str(failure, "spec.class"));
	const char *verdict = json_str(failure, "spec.verdict");
	cJSON *record = cJSON_CreateObject();

	put_times(record, failure, observed_ns);
	json_set_int(record, "severityNumber", asked_for ? SEVERITY_INFO : SEVERITY_ERROR);
	json_set_str(record, "severityText", asked_for ? "INFO" : "ERROR");
	json_set_str(record, "eventName", "afterglow.failure");
	json_set(json_object_at(record, "body"), "stringValue", text_of(verdict ? verdict : ""));
	put_attributes(record, failure);
	return record;
}

cJSON *otlp_record_new(const cJSON *failure, const struct otlp_settings *settings,
		       int64_t observed_ns)
{
	_cleanup_json_ cJSON *resource_logs = cJSON_CreateObject();
	cJSON *scope_logs = cJSON_CreateObject(), *scope = json_object_at(scope_logs, "scope");
	size_t lost = oom_count();

	json_append(json_array_at(resource_logs, "scopeLogs"), scope_logs);
	if (!resource_logs || !json_str(failure, "metadata.name") ||
	    !json_str(failure, "metadata.namespace"))
		return NULL;
	put_resource(resource_logs, failure, settings);
	json_set_str(scope, "name", "dev.afterglow.operator");
	json_set_str(scope, "version", AFTERGLOW_VERSION);
	json_append(json_array_at(scope_logs, "logRecords"), record_of(failure, observed_ns));
	return oom_count() == lost ? TAKE_PTR(resource_logs) : NULL;
}

static cJSON *attributes_of(const cJSON *resource_logs)
{
	const cJSON *scope_logs = cJSON_GetArrayItem(json_get(resource_logs, "scopeLogs"), 0);

	return json_get(cJSON_GetArrayItem(json_get(scope_logs, "logRecords"), 0), "attributes");
}

void otlp_record_set_incident(cJSON *record, const cJSON *failure)
{
	const cJSON *labels = json_get(failure, "metadata.labels"),
		    *annotations = json_get(failure, "metadata.annotations");
	cJSON *attributes = attributes_of(record);

	put_text(attributes, "afterglow.incident",
		 cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(labels, INCIDENT_LABEL)));
	put_text(attributes, "afterglow.caused_by",
		 cJSON_GetStringValue(
			 cJSON_GetObjectItemCaseSensitive(annotations, CAUSED_BY_ANNOTATION)));
}
