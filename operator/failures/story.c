/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the facts by which a failure is joined with others in an annotation. */
#include "operator/failures/story.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/failures/termination.h"
#include "operator/kube/object.h"
#include "operator/podspec/pod_spec.h"
#include "operator/policy/retention.h"

/*
 * With this limit the annotation stays below Kubernetes' limit, even with JSON's quotes, escapes
 * and names.
 */
#define TEXT_MAX 254
#define ENDED_BY_MAX 600
/*
 * Longer than ours can be with every character escaped. A longer one was written by a tenant, and
 * each replica would keep a copy.
 */
#define STORY_MAX 8192
/* KubeRay's annotation on the pods of a cluster whose GCS keeps its tables in Redis. */
#define FT_ANNOTATION "ray.io/ft-enabled"

static cJSON *annotation(const cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(json_get(object, "metadata.annotations"), name);
}

static void set_annotation(cJSON *failure, const cJSON *story)
{
	_cleanup_free_ char *text = cJSON_PrintUnformatted(story);

	/* When memory is short, no story is written rather than an incomplete one. */
	if (text)
		json_set_str(json_object_at(json_get(failure, "metadata"), "annotations"), STORY_ANNOTATION, text);
}

struct story_facts story_facts_of(const cJSON *pod, const char *container, bool is_reported)
{
	const char *rays = pod_ray_container_name(pod);
	const char *ft = cJSON_GetStringValue(annotation(pod, FT_ANNOTATION));

	return (struct story_facts){
		.is_rays = rays && strcmp(rays, container) == 0,
		.outlives_gcs = ft && strcmp(ft, "true") == 0,
		.is_reported = is_reported,
	};
}

void story_begin(const struct story_facts *facts, cJSON *failure)
{
	_cleanup_json_ cJSON *story = cJSON_CreateObject();

	if (facts->is_rays)
		json_set(story, "ray", cJSON_CreateTrue());
	if (facts->outlives_gcs)
		json_set(story, "ft", cJSON_CreateTrue());
	if (facts->is_reported)
		json_set(story, "told", cJSON_CreateTrue());
	set_annotation(failure, story);
}

/* --- Writing --------------------------------------------------------------------------------------------- */

static cJSON *parse(const cJSON *failure)
{
	const char *text = cJSON_GetStringValue(annotation(failure, STORY_ANNOTATION));
	cJSON *story = NULL;

	if (!text || strnlen(text, STORY_MAX) == STORY_MAX || json_parse(text, strlen(text), &story, NULL) < 0)
		return NULL;
	return story;
}

static void copy_text(const cJSON *spec, const char *path, cJSON *story, const char *name)
{
	const char *text = json_str(spec, path);
	char tame[TEXT_MAX];

	if (!text || !*text)
		return;
	text_tame(text, tame, sizeof(tame));
	json_set_str(story, name, tame);
}

static void copy_number(const cJSON *spec, cJSON *story, const char *name)
{
	if (json_get(spec, name))
		json_set_int(story, name, json_int(spec, name, 0));
}

static void copy_sender(const cJSON *spec, cJSON *story)
{
	const char *kind = json_str(spec, "endedBy.kind"), *name = json_str(spec, "endedBy.name");
	const char *reason = json_str(spec, "endedBy.reason");
	char text[ENDED_BY_MAX], tame[ENDED_BY_MAX];

	if (!kind || !*kind)
		return;
	snprintf(text, sizeof(text), "%.100s/%.253s/%.200s", kind, name ? name : "", reason ? reason : "");
	text_tame(text, tame, sizeof(tame));
	json_set_str(story, "endedBy", tame);
}

void story_write(cJSON *failure)
{
	_cleanup_json_ cJSON *story = parse(failure);
	const cJSON *spec = json_get(failure, "spec");
	const char *signal = json_str(spec, "process.signal");

	if (!story)
		return;
	copy_text(spec, "pod", story, "pod");
	copy_text(spec, "podUID", story, "podUID");
	copy_text(spec, "container", story, "container");
	copy_text(spec, "node", story, "node");
	copy_text(spec, "process.name", story, "process");
	copy_number(spec, story, "restartCount");
	copy_number(spec, story, "exitCode");
	copy_text(spec, "podIP", story, "podIP");
	copy_text(spec, "rayNodeID", story, "rayNodeID");
	copy_text(spec, "process.workerID", story, "workerID");
	copy_number(json_get(spec, "process"), story, "pid");
	if (json_get(spec, "rayError"))
		json_set(story, "rayError", cJSON_Duplicate(json_get(spec, "rayError"), true));
	copy_sender(spec, story);
	if (json_bool(spec, "containerLives", false))
		json_set(story, "lives", cJSON_CreateTrue());
	if ((signal && *signal) || json_str(spec, "signal"))
		json_set(story, "signaled", cJSON_CreateTrue());
	set_annotation(failure, story);
}

bool story_container_lives(const cJSON *failure)
{
	_cleanup_json_ cJSON *story = parse(failure);

	return json_bool(story, "lives", false);
}

/* --- Reading --------------------------------------------------------------------------------------------- */

enum text {
	NAME, POD, UID, CONTAINER, NODE, PROCESS, ENDED_BY, POD_IP, RAY_NODE, WORKER, NAMED_NODE, NAMED_WORKER, NAMED_IP, TEXT_COUNT
};

static void find_texts(const cJSON *failure, const cJSON *json, const char *texts[static TEXT_COUNT])
{
	static const char *const names[TEXT_COUNT] = { [POD] = "pod", [UID] = "podUID", [CONTAINER] = "container", [NODE] = "node",
						       [PROCESS] = "process", [ENDED_BY] = "endedBy", [POD_IP] = "podIP",
						       [RAY_NODE] = "rayNodeID", [WORKER] = "workerID",
						       [NAMED_NODE] = "rayError.nodeID", [NAMED_WORKER] = "rayError.workerID",
						       [NAMED_IP] = "rayError.ip" };

	texts[NAME] = json_str(failure, "metadata.name");
	for (size_t i = POD; i < TEXT_COUNT; i++)
		texts[i] = json_str(json, names[i]);
}

/* Puts all texts into one block of memory, one after the other. */
static char *copy_texts(const char *const texts[static TEXT_COUNT], const char *ret_copies[static TEXT_COUNT])
{
	size_t size = 0, at = 0;
	char *copy;

	for (size_t i = 0; i < TEXT_COUNT; i++)
		size += strlen(texts[i] ? texts[i] : "") + 1;
	copy = malloc(size);
	for (size_t i = 0; copy && i < TEXT_COUNT; i++) {
		size_t len = strlen(texts[i] ? texts[i] : "") + 1;

		memcpy(copy + at, texts[i] ? texts[i] : "", len);
		ret_copies[i] = copy + at;
		at += len;
	}
	return copy;
}

static bool read_end(const cJSON *failure, const cJSON *json, struct incident_death *death)
{
	const char *ended = cJSON_GetStringValue(annotation(failure, FAILURE_ENDED_ANNOTATION));
	const char *class = object_label(failure, "afterglow.dev/class"),
		   *type = object_label(failure, "ray.io/node-type");
	int number = class ? failure_class_from_name(class) : -1;

	if (number < 0 || !ended || time_parse(ended, &death->ended_ns, NULL) < 0 || !json_str(failure, "metadata.name"))
		return false;
	death->class = (enum failure_class)number;
	death->head = type && strcmp(type, "head") == 0;
	death->ray = json_bool(json, "ray", false);
	death->lives = json_bool(json, "lives", false);
	death->signaled = json_bool(json, "signaled", false);
	death->outlives_gcs = json_bool(json, "ft", false);
	death->restart = json_int(json, "restartCount", -1);
	death->exit_code = json_int(json, "exitCode", -1);
	death->pid = json_int(json, "pid", 0);
	death->names.pid = json_int(json, "rayError.pid", 0);
	return true;
}

struct story *story_read(const cJSON *failure)
{
	_cleanup_json_ cJSON *json = parse(failure);
	const char *texts[TEXT_COUNT], *copies[TEXT_COUNT] = { NULL };
	struct incident_death death = { 0 };
	struct story *story;

	if (!json || !read_end(failure, json, &death))
		return NULL;
	find_texts(failure, json, texts);
	story = calloc(1, sizeof(*story));
	if (story)
		story->text = copy_texts(texts, copies);
	if (!story || !story->text) {
		free(story);
		return NULL;
	}
	death.name = copies[NAME];
	death.pod = copies[POD];
	death.uid = copies[UID];
	death.container = copies[CONTAINER];
	death.node = copies[NODE];
	death.process = copies[PROCESS];
	death.ended_by = copies[ENDED_BY];
	death.ip = copies[POD_IP];
	death.ray_node = copies[RAY_NODE];
	death.worker = copies[WORKER];
	death.names.ray_node = copies[NAMED_NODE];
	death.names.worker = copies[NAMED_WORKER];
	death.names.ip = copies[NAMED_IP];
	story->death = death;
	story->is_reported = json_bool(json, "told", false);
	return story;
}

void story_free(struct story *story)
{
	if (!story)
		return;
	free(story->text);
	free(story);
}
