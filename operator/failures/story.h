/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts by which a failure is joined with others, as an annotation of its RayFailure. The operator watches only the metadata of
 * RayFailures, as a large cluster has many. Also the marks that operator/incidents.h leaves in the metadata. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURES_STORY_H
#define AFTERGLOW_OPERATOR_FAILURES_STORY_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "operator/failures/incident.h"

#define STORY_ANNOTATION "afterglow.dev/story"
/* The marks repeat in the metadata what the status says. They are written after the status. */
#define INCIDENT_LABEL "afterglow.dev/incident"
#define CAUSED_BY_ANNOTATION "afterglow.dev/caused-by"	     /* the first cause's name */
#define CONSEQUENCES_ANNOTATION "afterglow.dev/consequences" /* of a first cause: how many */

/* What only the pod tells about a container. */
struct story_facts {
	bool is_rays; /* it runs Ray */
	bool outlives_gcs; /* its Ray survives the loss of the head's GCS */
	bool is_told; /* a sidecar reported the end */
};

struct story_facts story_facts_of(const cJSON *pod, const char *container, bool is_told);
/* Notes them in the annotation. */
void story_begin(const struct story_facts *facts, cJSON *failure);
/* Writes the annotation. Call it last, right before the RayFailure is written. */
void story_write(cJSON *failure);

/*
 * Whether that RayFailure, of which the metadata is enough, is of a process whose container lives on. The sidecar's mark on the
 * failure (spec.containerLives) says it, and nothing else does: most classes can be either.
 */
bool story_container_lives(const cJSON *failure);

struct story {
	struct incident_death death; /* its strings belong to the story, or are static */
	char *text;		     /* the buffer that they point into */
	bool is_told;		     /* a sidecar saw the end and reported it */
};

/* Reads a RayFailure, or its metadata alone. NULL: an older operator wrote it without a story, or there is no memory. */
struct story *story_read(const cJSON *failure);
void story_free(struct story *story); /* NULL is allowed */

#endif
