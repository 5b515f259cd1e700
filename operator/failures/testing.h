/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: RayFailures from JSON, and as JSON. Include after cmocka.h. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/failures/earlier_end.h"
#include "operator/failures/ray_failure.h"
#include "operator/failures/termination.h"
#include "operator/injection/report_key.h"
#include "operator/testing.h"

/* Returns a time in the hour of the tests, from its minutes and seconds ("30:02"). */
static inline int64_t time_in_hour(const char *text)
{
	char whole[64];
	int64_t ns;

	snprintf(whole, sizeof(whole), "2026-11-21T01:%sZ", text);
	assert_true(end_time_parse(whole, &ns));
	return ns;
}

static inline struct ended_by sender_of_json(const cJSON *object)
{
	const char *kind = json_str(object, "kind"), *at = json_str(object, "time");
	struct ended_by by = { 0 };

	for (int i = 0; kind && i < ENDED_BY_KIND_COUNT; i++)
		if (strcmp(kind, ended_by_kind_name((enum ended_by_kind)i)) == 0)
			ended_by_init(&by, (enum ended_by_kind)i, NULL, json_str(object, "name"),
				      json_str(object, "reason"));
	if (at)
		assert_int_equal(time_parse(at, &by.at_ns, NULL), 0);
	return by;
}

static inline void texts_of_json(const cJSON *json, struct ray_failure *f)
{
	const struct {
		char **field;
		const char *path;
	} texts[] = {
		{ &f->namespace, "metadata.namespace" },
		{ &f->name, "metadata.name" },
		{ &f->cluster, "spec.cluster" },
		{ &f->group, "spec.group" },
		{ &f->pod, "spec.pod" },
		{ &f->pod_uid, "spec.podUID" },
		{ &f->node, "spec.node" },
		{ &f->container, "spec.container" },
		{ &f->container_id, "spec.containerID" },
		{ &f->started_at, "spec.startedAt" },
		{ &f->ended_at, "spec.endedAt" },
		{ &f->kubernetes_reason, "spec.kubernetesReason" },
		{ &f->signal, "spec.signal" },
		{ &f->verdict, "spec.verdict" },
		{ &f->bundle, "spec.bundle" },
		{ &f->signature, "spec.signature" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		ray_failure_set(texts[i].field, json_str(json, texts[i].path));
}

static inline void owner_of_json(const cJSON *json, struct ray_failure *f)
{
	struct owner owner;

	if (owner_get(json, &owner))
		ray_failure_set_owner(f, &owner);
}

/*
 * Makes a RayFailure of which ray_failure_to_json makes json again, except for labels and
 * annotations.
 */
static inline struct ray_failure *failure_of_json(const cJSON *json)
{
	struct ray_failure *f = ray_failure_new();
	const cJSON *spec = json_get(json, "spec");
	const char *class = json_str(spec, "class"), *confidence = json_str(spec, "confidence");

	assert_non_null(f);
	texts_of_json(json, f);
	owner_of_json(json, f);
	if (class)
		f->class = (enum failure_class)failure_class_from_name(class);
	if (confidence)
		f->confidence = (enum confidence)confidence_from_name(confidence);
	f->restart = json_int(spec, "restartCount", RAY_FAILURE_NONE);
	f->exit_code = json_int(spec, "exitCode", RAY_FAILURE_NONE);
	f->container_lives = json_bool(spec, "containerLives", false);
	f->ended_by = sender_of_json(json_get(spec, "endedBy"));
	ray_failure_take_memory(f, spec);
	ray_failure_take_first(f, spec);
	ray_failure_take_notes(f, spec);
	return f;
}

static inline struct ray_failure *failure_of_yaml(const char *yaml)
{
	_cleanup_json_ cJSON *json = json_of(yaml);

	return failure_of_json(json);
}

/* Takes ownership of failure. */
static inline cJSON *json_of_failure(struct ray_failure *failure)
{
	cJSON *json = ray_failure_to_json(failure);

	ray_failure_free(failure);
	return json;
}

/* Makes an array. Takes ownership of the content of failures. */
static inline cJSON *json_of_failures(struct ray_failures *failures)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < failures->n; i++)
		json_append(array, ray_failure_to_json(failures->list[i]));
	ray_failures_release(failures);
	return array;
}

#define TESTING_KEY "00112233445566778899aabbccddeeff"

/* Signs the last line of a termination message, as the sidecar does. */
static inline void sign_message(cJSON *terminated)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 16);
	const char *message = json_str(terminated, "message"), *line;
	_cleanup_free_ char *json = NULL;
	size_t len;

	line = message ? termination_line(message, strlen(message), &len) : NULL;
	if (!line)
		return;
	json = strndup(line, len);
	strbuf_add(&text, message, (size_t)(line - message));
	report_mac_append(TESTING_KEY, REPORT_MAC_TERMINATION, json, &text);
	strbuf_adds(&text, line + len);
	json_set_str(terminated, "message", strbuf_str(&text));
}

/* Gives the pod a key, with which its sidecar signed the messages. */
static inline void sign_pod(cJSON *pod)
{
	const cJSON *status;

	json_set_str(json_object_at(json_get(pod, "metadata"), "annotations"),
		     REPORT_KEY_ANNOTATION, TESTING_KEY);
	cJSON_ArrayForEach(status, json_get(pod, "status.containerStatuses")) {
		sign_message(json_get(status, "state.terminated"));
		sign_message(json_get(status, "lastState.terminated"));
	}
}
