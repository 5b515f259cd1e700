/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a RayFailure's fields from a sidecar's report, and makes the object as it is written. */
#include "operator/failures/ray_failure.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/units.h"
#include "operator/failures/failures.h"
#include "operator/failures/signature.h"
#include "operator/kube/object.h"
#include "operator/policy/retention.h"

/* --- From a report ---------------------------------------------------------------------------- */

static void take_json(char **field, const cJSON *value)
{
	_cleanup_free_ char *text = value && value->child ? cJSON_PrintUnformatted(value) : NULL;

	ray_failure_set(field, text);
}

void ray_failure_take_memory(struct ray_failure *f, const cJSON *report)
{
	take_json(&f->memory, json_get(report, "memory"));
	take_json(&f->processes, json_get(report, "processes"));
}

void ray_failure_take_first(struct ray_failure *f, const cJSON *report)
{
	const cJSON *process = json_get(report, "process");
	int64_t pid = json_int(process, "pid", 0), code = json_int(process, "exitCode", -1);

	ray_failure_set(&f->first.name, json_str(process, "name"));
	ray_failure_set(&f->first.signal, json_str(process, "signal"));
	f->first.pid = pid > 0 && pid <= PID_MAX_LIMIT ? pid : RAY_FAILURE_NONE;
	f->first.exit_code = code >= 0 && code <= 255 ? code : RAY_FAILURE_NONE;
	ray_failure_set(&f->first.worker_id, json_str(process, "workerID"));
	ray_failure_set(&f->ray_node_id, json_str(report, "rayNodeID"));
	ray_failure_set(&f->diagnosis, json_str(report, "diagnosis"));
	ray_failure_set(&f->advice, json_str(report, "advice"));
	take_json(&f->ray_error, json_get(report, "rayError"));
}

void ray_failure_take_notes(struct ray_failure *f, const cJSON *report)
{
	json_each(item, json_get(report, "evidence"))
		ray_failure_add_evidence(f, json_str(item, "source"), json_str(item, "text"));
	json_each(item, json_get(report, "missing"))
		ray_failure_add_missing(f, json_str(item, "what"), json_str(item, "needs"));
}

/* --- As JSON ---------------------------------------------------------------------------------- */

/* name NULL: it is not written there. */
static void put_text(cJSON *to, const char *name, const char *text)
{
	if (name && text && *text)
		json_set_str(to, name, text);
}

static void put_number(cJSON *to, const char *name, int64_t value)
{
	if (value != RAY_FAILURE_NONE)
		json_set_int(to, name, value);
}

static void put_labels(const struct ray_failure *f, cJSON *metadata)
{
	cJSON *labels = json_object_at(metadata, "labels");

	if (f->cluster)
		json_set_str(labels, "ray.io/cluster", f->cluster);
	if (f->group)
		json_set_str(labels, "ray.io/group", f->group);
	if (f->node_type)
		json_set_str(labels, "ray.io/node-type", f->node_type);
	json_set_str(labels, "afterglow.dev/class", failure_class_name(f->class));
}

static void put_annotations(const struct ray_failure *f, cJSON *metadata)
{
	cJSON *annotations = json_object_at(metadata, "annotations");
	char count[24];

	json_set_str(annotations, FAILURE_ENDED_ANNOTATION, f->ended_at);
	if (f->pod_created_at)
		json_set_str(annotations, FAILURE_POD_ANNOTATION, f->pod_created_at);
	if (f->pod_deleted)
		json_set_str(annotations, FAILURE_DELETED_ANNOTATION, "true");
	snprintf(count, sizeof(count), "%" PRId64, f->more_ends);
	if (f->more_ends)
		json_set_str(annotations, FAILURE_MORE_ENDS_ANNOTATION, count);
}

static void put_texts(const struct ray_failure *f, cJSON *spec)
{
#define TEXT(member, name) put_text(spec, name, f->member);
#include "operator/failures/ray_failure_texts.def"
#undef TEXT
}

static void put_end(const struct ray_failure *f, cJSON *spec)
{
	put_number(spec, "restartCount", f->restart);
	if (f->container_lives)
		json_set(spec, "containerLives", cJSON_CreateTrue());
	put_number(spec, "exitCode", f->exit_code);
	json_set_str(spec, "class", failure_class_name(f->class));
	json_set_str(spec, "confidence", confidence_name(f->confidence));
	json_set_str(spec, "verdict", f->verdict);
	ended_by_set(&f->ended_by, spec);
}

static void put_first(const struct ray_failure *f, cJSON *spec)
{
	cJSON *process = f->first.name ? json_object_at(spec, "process") : NULL;

	if (!process)
		return;
	put_text(process, "name", f->first.name);
	put_number(process, "pid", f->first.pid);
	put_text(process, "signal", f->first.signal);
	put_number(process, "exitCode", f->first.exit_code);
	put_text(process, "workerID", f->first.worker_id);
}

static void put_owner(const struct ray_failure *f, cJSON *failure, cJSON *spec)
{
	if (f->submission_id)
		json_set_str(json_object_at(spec, "job"), "submissionId", f->submission_id);
	if (f->owner)
		owner_set(f->owner, failure);
}

static void put_json(cJSON *to, const char *name, const char *text)
{
	if (text)
		json_set(to, name, cJSON_Parse(text));
}

static void put_memory(const struct ray_failure *f, cJSON *spec)
{
	put_json(spec, "memory", f->memory);
	int64_t usage = json_int(spec, "memory.usageBytes", json_int(spec, "memory.peakBytes", -1));
	if (usage >= 0)
		json_set_str(spec, "memoryText", SIZE_TEXT(usage));
	put_json(spec, "processes", f->processes);
}

static void put_notes(const struct ray_failure_notes *notes, const char *subject, const char *text,
		      const char *name, cJSON *spec)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < notes->n; i++) {
		cJSON *item = cJSON_CreateObject();

		put_text(item, subject, notes->list[i].subject);
		put_text(item, text, notes->list[i].text);
		json_append(array, item);
	}

	/* Empty objects and arrays are left out. */
	if (array && !array->child)
		cJSON_Delete(array);
	else
		json_set(spec, name, array);
}

cJSON *ray_failure_to_json(const struct ray_failure *f)
{
	cJSON *failure = object_new("afterglow.dev/v1alpha1", "RayFailure", f->namespace,
				    f->name ? f->name : "");
	cJSON *metadata = json_get(failure, "metadata"), *spec = json_object_at(failure, "spec");

	put_labels(f, metadata);
	put_annotations(f, metadata);
	put_texts(f, spec);
	put_end(f, spec);
	put_owner(f, failure, spec);
	put_first(f, spec);
	put_json(spec, "rayError", f->ray_error);
	put_memory(f, spec);
	put_notes(&f->evidence, "source", "text", "evidence", spec);
	put_notes(&f->missing, "what", "needs", "missing", spec);
	signature_set(f->signature, spec);
	story_begin(&f->story, failure);
	return failure;
}
