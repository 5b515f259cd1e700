/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gathers, while planning, facts that the user should know about a cluster. Each note
 * belongs to a topic, which is a condition of the RayCluster's status, and
 * carries a reason in CamelCase and a sentence with the numbers.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/macros.h"

enum note_topic {
	NOTE_SPEC_VALID, /* the spec can be run at all */
	NOTE_MEMORY_SAFE, /* the memory budgets fit the limits */
	NOTE_RECORDING, /* deaths will be recorded as configured */
	NOTE_HEAD_STABLE, /* the head does not die again and again */
	NOTE_WORKERS_STABLE, /* the pods of a worker group do not die in a loop either */
	NOTE_TOPIC_COUNT
};

/* The condition's type and the reason it has when there is no note. */
const char *note_topic_condition(enum note_topic t);
const char *note_topic_good_reason(enum note_topic t);

/* Adds a note to a JSON array. The same note is kept once; at most 32 notes are kept. */
void notes_addf(cJSON *notes, enum note_topic topic, const char *reason, const char *fmt, ...)
	_printf_(4, 5);

bool notes_have(const cJSON *notes, enum note_topic topic);
/* Returns the first note's reason, NULL if there is no note of that topic. */
const char *notes_reason(const cJSON *notes, enum note_topic topic);
/*
 * Returns all sentences of the topic joined by "; ", cut to 8 KiB. The caller frees it; returns
 * NULL if there is no memory.
 */
char *notes_text(const cJSON *notes, enum note_topic topic);
