/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a container's termination message: text for people, then a last line
 * "#afterglow/1 {json}" from the sidecar. The Ray container can write that file
 * too, so everything in it is hostile: the parser takes over only known fields
 * of the right type and within bounds, and drops the rest.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>

#include "lib/err.h"

/* Kubernetes keeps 4096 bytes; a longer message is not read */
#define TERMINATION_MESSAGE_MAX 16384
#define TERMINATION_PROCESSES_MAX 5
#define TERMINATION_NOTES_MAX 16 /* entries of evidence, and as many of missing */

/*
 * Makes a new object with those of these members that the message has: class, confidence
 * (names from failure_class.def), sentence, exitCode, signal, startedAt, endedAt,
 * bundle, signature, memory{}, processes[], evidence[], missing[]; final is always set.
 * Text is cut, on one line and free of control characters; numbers are whole and
 * not negative (growthBytesPerSecond may be). A process without a pid, evidence
 * without text, and a missing fact without a name are dropped.
 * Returns -ENOENT if there is no such line, and -EPROTO if the line is malformed.
 */
int termination_parse(const char *text, size_t len, cJSON **ret_report, struct err *err);

/* Returns the JSON of that line; NULL if there is none. */
const char *termination_line(const char *text, size_t len, size_t *ret_len);

/*
 * Does the same with the JSON of that line, whatever its origin. Returns -EPROTO if it is not an
 * object.
 */
int termination_take(const cJSON *json, cJSON **ret_report, struct err *err);

/*
 * Copies a foreign text into buf (size > 0): cuts it at a character and replaces what is not
 * printable (lib/utf8.h) by '?'.
 */
void text_tame(const char *text, char *buf, size_t size);
