/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What joins a failure with others, as an annotation of its RayFailure: the operator watches metadata only, and RayFailures
 * of a large cluster are many. Besides the marks that the joining leaves there (operator/incidents.h). Pure.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURES_STORY_H
#define AFTERGLOW_OPERATOR_FAILURES_STORY_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "operator/failures/incident.h"

#define STORY_ANNOTATION "afterglow.dev/story"
/* What status says, for those who see only the metadata; written after status. */
#define INCIDENT_LABEL "afterglow.dev/incident"
#define CAUSED_BY_ANNOTATION "afterglow.dev/caused-by"	     /* the first cause's name */
#define CONSEQUENCES_ANNOTATION "afterglow.dev/consequences" /* of a first cause: how many */

/*
 * Notes what only the pod can say of this container: whether it is Ray's, and whether its Ray outlives its head's GCS; and
 * whether a sidecar told of the end.
 */
void story_begin(const cJSON *pod, const char *container, bool is_told, cJSON *failure);
/* Writes the annotation, right before the RayFailure is. */
void story_write(cJSON *failure);

struct story {
	struct incident_death death; /* its strings belong to the story, or are static */
	char *text;		     /* what they point into; freed by story_free */
	bool is_told;		     /* by a sidecar, which saw the end */
};

/* Of a RayFailure, or of its metadata alone. NULL: it has no story, of an operator before this one; or no memory. */
struct story *story_read(const cJSON *failure);
void story_free(struct story *story); /* NULL is allowed */

#endif
