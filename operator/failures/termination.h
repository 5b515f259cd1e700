/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a container's termination message: text for people, then a last line
 * "#afterglow/1 {json}" from the sidecar. The Ray container can write that file
 * too, so everything in it is hostile: the parser takes over only fields it
 * knows, of the right type and within bounds, and drops the rest.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURES_TERMINATION_H
#define AFTERGLOW_OPERATOR_FAILURES_TERMINATION_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "lib/err.h"

#define TERMINATION_MESSAGE_MAX 16384 /* Kubernetes keeps 4096 bytes; longer is not read */
#define TERMINATION_PROCESSES_MAX 5
#define TERMINATION_NOTES_MAX 16 /* of evidence and of missing, each */

/*
 * A new object with those of these members that were there: class, confidence
 * (names from failure_class.def), sentence, exitCode, signal, startedAt, endedAt,
 * bundle, signature, memory{}, processes[], evidence[], missing[]; final is always there.
 * Text is cut, on one line and free of control characters; numbers are whole and
 * not negative (growthBytesPerSecond may be). A process without a pid, evidence without text, a gap without a name is none.
 * -ENOENT: no such line; -EPROTO: a line, but not ours.
 */
int termination_parse(const char *text, size_t len, cJSON **ret_report, struct err *err);

/* The same of that line's JSON, from wherever it came; -EPROTO: it is no object. */
int termination_take(const cJSON *json, cJSON **ret_report, struct err *err);

/* Copies text of others into buf (size > 0): cut at a character, control characters as '?'. */
void text_tame(const char *text, char *buf, size_t size);

#endif
