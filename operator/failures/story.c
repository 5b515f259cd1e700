/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the facts by which a failure is joined with others in an annotation. */
#include "operator/failures/story.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/oom.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/failures/termination.h"
#include "operator/kube/object.h"
#include "operator/podspec/pod_spec.h"
#include "operator/policy/retention.h"

#define TEXT_MAX 254
#define ENDED_BY_MAX 600
/*
 * More than the texts of all facts. A longer one was written by a tenant, and each replica would
 * keep a copy.
 */
#define STORY_MAX 8192
/* KubeRay's annotation on the pods of a cluster whose GCS keeps its tables in Redis. */
#define FT_ANNOTATION "ray.io/ft-enabled"

enum fact {
	RUNS_RAY,
	OUTLIVES_GCS,
	REPORTED,
	POD,
	POD_UID,
	POD_IP,
	NODE,
	RAY_NODE,
	CONTAINER,
	LIVES,
	RESTART,
	EXIT_CODE,
	PROCESS,
	PID,
	WORKER,
	SIGNALED,
	ENDED_BY,
	NAMED_NODE,
	NAMED_WORKER,
	NAMED_IP,
	NAMED_PID,
	FACT_COUNT
};

#define TEXT(member) .at = offsetof(struct incident_death, member)

/*
 * path: where the RayFailure has the fact; NULL: it is set otherwise. at: the text's place in a
 * death; 0: it is no text.
 */
static const struct {
	const char *name, *path;
	size_t at;
} facts[FACT_COUNT] = {
	[RUNS_RAY] = { "runsRay", NULL, 0 },
	[OUTLIVES_GCS] = { "outlivesGCS", NULL, 0 },
	[REPORTED] = { "reportedBySidecar", NULL, 0 },
	[POD] = { "pod", "spec.pod", TEXT(pod) },
	[POD_UID] = { "podUID", "spec.podUID", TEXT(uid) },
	[POD_IP] = { "podIP", "spec.podIP", TEXT(ip) },
	[NODE] = { "node", "spec.node", TEXT(node) },
	[RAY_NODE] = { "rayNodeID", "spec.rayNodeID", TEXT(ray_node) },
	[CONTAINER] = { "container", "spec.container", TEXT(container) },
	[LIVES] = { "containerLives", "spec.containerLives", 0 },
	[RESTART] = { "restartCount", "spec.restartCount", 0 },
	[EXIT_CODE] = { "exitCode", "spec.exitCode", 0 },
	[PROCESS] = { "process", "spec.process.name", TEXT(process) },
	[PID] = { "pid", "spec.process.pid", 0 },
	[WORKER] = { "workerID", "spec.process.workerID", TEXT(worker) },
	[SIGNALED] = { "signaled", NULL, 0 },
	[ENDED_BY] = { "endedBy", NULL, TEXT(ended_by) },
	[NAMED_NODE] = { "namesNode", "spec.rayError.nodeID", TEXT(names.ray_node) },
	[NAMED_WORKER] = { "namesWorker", "spec.rayError.workerID", TEXT(names.worker) },
	[NAMED_IP] = { "namesIP", "spec.rayError.ip", TEXT(names.ip) },
	[NAMED_PID] = { "namesPID", "spec.rayError.pid", 0 },
};

struct story_facts story_facts_of(const cJSON *pod, const char *container, bool is_reported)
{
	const char *rays = pod_ray_container_name(pod), *ft = object_annotation(pod, FT_ANNOTATION);

	return (struct story_facts){
		.is_rays = rays && strcmp(rays, container) == 0,
		.outlives_gcs = ft && strcmp(ft, "true") == 0,
		.is_reported = is_reported,
	};
}

/*
 * --- Writing
 * ---------------------------------------------------------------------------------------------
 */

static void fact_add(struct strbuf *story, enum fact fact, const char *text)
{
	char tame[ENDED_BY_MAX];

	if (!text || !*text)
		return;
	text_tame(text, tame, fact == ENDED_BY ? ENDED_BY_MAX : TEXT_MAX);
	strbuf_addf(story, "%s: %s\n", facts[fact].name, tame);
}

static void fact_take(struct strbuf *story, enum fact fact, const cJSON *failure)
{
	const cJSON *value = json_get(failure, facts[fact].path);
	char number[24];

	snprintf(number, sizeof(number), "%" PRId64, json_int(failure, facts[fact].path, 0));
	fact_add(story, fact,
		 cJSON_IsTrue(value)   ? "yes" :
		 cJSON_IsNumber(value) ? number :
					 cJSON_GetStringValue(value));
}

static void sender_take(struct strbuf *story, const cJSON *failure)
{
	const char *kind = json_str(failure, "spec.endedBy.kind"),
		   *name = json_str(failure, "spec.endedBy.name");
	const char *reason = json_str(failure, "spec.endedBy.reason");
	char text[ENDED_BY_MAX];

	if (!kind || !*kind)
		return;
	snprintf(text, sizeof(text), "%.100s/%.253s/%.200s", kind, name ? name : "",
		 reason ? reason : "");
	fact_add(story, ENDED_BY, text);
}

/* When memory is short, no story is written rather than an incomplete one. */
static void story_put(const struct strbuf *story, cJSON *failure)
{
	if (!strbuf_failed(story))
		json_set_str(json_object_at(json_get(failure, "metadata"), "annotations"),
			     STORY_ANNOTATION, strbuf_str(story));
}

void story_begin(const struct story_facts *its, cJSON *failure)
{
	_cleanup_strbuf_ struct strbuf story = STRBUF_INIT(STORY_MAX);

	fact_add(&story, RUNS_RAY, its->is_rays ? "yes" : "");
	fact_add(&story, OUTLIVES_GCS, its->outlives_gcs ? "yes" : "");
	fact_add(&story, REPORTED, its->is_reported ? "yes" : "");
	story_put(&story, failure);
}

/*
 * Copies the annotation, with room for `more` bytes, and finds the facts in the copy; "": there is
 * none of that name.
 */
static char *facts_find(const cJSON *failure, size_t more, const char *ret_facts[static FACT_COUNT])
{
	const char *text = object_annotation(failure, STORY_ANNOTATION);
	size_t len = text ? strnlen(text, STORY_MAX) : STORY_MAX;
	char *copy = len < STORY_MAX ? malloc(len + 1 + more) : NULL;

	for (size_t i = 0; i < FACT_COUNT; i++)
		ret_facts[i] = "";
	if (len < STORY_MAX && !copy)
		oom_note();
	if (!copy)
		return NULL;
	memcpy(copy, text, len + 1);
	for (char *rest = copy, *line; (line = strsep(&rest, "\n"));)
		for (size_t i = 0, n; i < FACT_COUNT; i++)
			if (strncmp(line, facts[i].name, n = strlen(facts[i].name)) == 0 &&
			    strncmp(line + n, ": ", 2) == 0)
				ret_facts[i] = line + n + 2;
	return copy;
}

void story_write(cJSON *failure)
{
	_cleanup_strbuf_ struct strbuf story = STRBUF_INIT(STORY_MAX);
	const char *signal = json_str(failure, "spec.process.signal"), *begun[FACT_COUNT];
	_cleanup_free_ char *copy = facts_find(failure, 0, begun);

	if (!copy)
		return;
	for (enum fact i = 0; i < FACT_COUNT; i++)
		if (facts[i].path)
			fact_take(&story, i, failure);
		else if (i < POD)
			fact_add(&story, i, begun[i]);
	if ((signal && *signal) || json_str(failure, "spec.signal"))
		fact_add(&story, SIGNALED, "yes");
	sender_take(&story, failure);
	story_put(&story, failure);
}

bool story_container_lives(const cJSON *failure)
{
	const char *its[FACT_COUNT];
	_cleanup_free_ char *copy = facts_find(failure, 0, its);

	return *its[LIVES];
}

/*
 * --- Reading
 * ---------------------------------------------------------------------------------------------
 */

static int64_t fact_number(const char *text, int64_t fallback)
{
	return *text ? strtoll(text, NULL, 10) : fallback;
}

static bool end_read(const cJSON *failure, struct incident_death *death)
{
	const char *ended = object_annotation(failure, FAILURE_ENDED_ANNOTATION),
		   *class = object_label(failure, "afterglow.dev/class"),
		   *type = object_label(failure, "ray.io/node-type");
	int number = class ? failure_class_from_name(class) : -1;

	if (number < 0 || !ended || time_parse(ended, &death->ended_ns, NULL) < 0)
		return false;
	death->class = (enum failure_class)number;
	death->head = type && strcmp(type, "head") == 0;
	return true;
}

static void facts_read(const char *const its[static FACT_COUNT], struct incident_death *death)
{
	for (size_t i = 0; i < FACT_COUNT; i++)
		if (facts[i].at)
			*(const char **)((char *)death + facts[i].at) = its[i];
	death->ray = *its[RUNS_RAY];
	death->lives = *its[LIVES];
	death->signaled = *its[SIGNALED];
	death->outlives_gcs = *its[OUTLIVES_GCS];
	death->restart = fact_number(its[RESTART], -1);
	death->exit_code = fact_number(its[EXIT_CODE], -1);
	death->pid = fact_number(its[PID], 0);
	death->names.pid = fact_number(its[NAMED_PID], 0);
}

struct story *story_read(const cJSON *failure)
{
	const char *name = json_str(failure, "metadata.name"), *its[FACT_COUNT];
	size_t size = name ? strlen(name) + 1 : 0;
	_cleanup_free_ char *text = facts_find(failure, size, its);
	struct incident_death death = { 0 };
	struct story *story;

	if (!text || !name || !end_read(failure, &death))
		return NULL;
	/* The name stands behind the facts. */
	death.name =
		memcpy(text + strlen(object_annotation(failure, STORY_ANNOTATION)) + 1, name, size);
	facts_read(its, &death);
	story = malloc(sizeof(*story));
	if (story)
		*story = (struct story){ .death = death,
					 .text = TAKE_PTR(text),
					 .is_reported = *its[REPORTED] };
	return story;
}

void story_free(struct story *story)
{
	if (!story)
		return;
	free(story->text);
	free(story);
}
