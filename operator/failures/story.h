/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the facts by which a failure is joined with others in an annotation of its RayFailure,
 * because the operator watches only the metadata: a large cluster has many RayFailures. It has a
 * line "name: value" for each, since `kubectl describe` shows annotations before all else, line by
 * line. Also names the marks that operator/failure_controller/incident_writer.h leaves in the
 * metadata. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/incident.h"

#define STORY_ANNOTATION "afterglow.dev/facts"
/* The marks repeat in the metadata what the status says. They are written after the status. */
#define INCIDENT_LABEL "afterglow.dev/incident"
#define CAUSED_BY_ANNOTATION "afterglow.dev/caused-by" /* the first cause's name */
/* the number of consequences of a first cause */
#define CONSEQUENCES_ANNOTATION "afterglow.dev/consequences"

/* The facts about a container that only its pod shows. */
struct story_facts {
	bool is_rays; /* it runs Ray */
	bool outlives_gcs; /* its Ray survives the loss of the head's GCS */
	bool is_reported; /* a sidecar reported the end */
};

struct story_facts story_facts_of(const cJSON *pod, const char *container, bool is_reported);
/* Writes the facts into the annotation. */
void story_begin(const struct story_facts *facts, cJSON *failure);
/* Writes the annotation. Call it last, right before the RayFailure is written. */
void story_write(cJSON *failure);

/*
 * Returns whether that RayFailure, of which the metadata is enough, is about a process whose
 * container lives on. The sidecar's mark on the failure (spec.containerLives) decides it, because
 * most classes can be of either kind.
 */
bool story_container_lives(const cJSON *failure);

struct story {
	struct incident_death death; /* its strings belong to the story, or are static */
	char *text; /* the buffer that the death's strings point into */
	bool is_reported; /* a sidecar saw the end and reported it */
};

/*
 * Reads a RayFailure, or its metadata alone. Returns NULL if it has no story (an older operator
 * wrote it), or for want of memory.
 */
struct story *story_read(const cJSON *failure);
void story_free(struct story *story); /* NULL is allowed */
