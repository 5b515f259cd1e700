/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user should know about a cluster, gathered while planning: each note
 * belongs to a topic, which is a condition of the RayCluster's status, and
 * carries a reason in CamelCase and a sentence with the numbers.
 */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_NOTES_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_NOTES_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/macros.h"

enum note_topic {
	NOTE_SPEC_VALID,     /* the spec can be run at all */
	NOTE_MEMORY_SAFE,    /* the memory budgets fit the limits */
	NOTE_RECORDING,      /* deaths will be recorded as configured */
	NOTE_HEAD_STABLE,    /* the head does not die again and again */
	NOTE_WORKERS_STABLE, /* nor do the pods of a worker group */
	NOTE_TOPIC_COUNT
};

/* The condition's type and the reason it has when there is no note. */
const char *note_topic_condition(enum note_topic t);
const char *note_topic_good_reason(enum note_topic t);

/* A JSON array; the same note is kept once, and 32 at most. */
void notes_addf(cJSON *notes, enum note_topic topic, const char *reason, const char *fmt, ...) _printf_(4, 5);

bool notes_have(const cJSON *notes, enum note_topic topic);
/* The first note's reason, NULL when there is none. */
const char *notes_reason(const cJSON *notes, enum note_topic topic);
/* All sentences of the topic joined by "; ", cut to 8 KiB. The caller frees it; NULL: no memory. */
char *notes_text(const cJSON *notes, enum note_topic topic);

#endif
