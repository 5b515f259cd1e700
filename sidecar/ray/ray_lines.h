/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses what Ray's logs say about workers that died, from the text of a log record.
 * Pure. The text is hostile: tasks choose their names, and any process of the container
 * can write to the logs.
 *
 * Ray 2.60 logs kills by its memory monitor and crashed workers in
 * logs/events/event_RAYLET.log, one JSON line each ("message" has the text, with
 * line breaks doubly escaped). It logs the kills also in raylet.out, with real line
 * breaks and a summary of each minute. Older versions write ';' in place of line
 * breaks. gcs_server.out has the workers of every node.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/ray/gpu_lines.h"
#include "sidecar/ray/ray_event.h"

/* Bytes of a record, which is a line and the lines that belong to it. Longer records are cut. */
#define RAY_RECORD_MAX (16 * 1024)

/* An event, with what the sidecar found out about it. */
struct ray_finding {
	struct ray_event event;
	char file[32]; /* which of Ray's logs says so */
	int64_t at_ns; /* when it was read (CLOCK_BOOTTIME): up to a second after it happened */
	bool gone; /* there is no process with that PID any more, or it is on its way out */
	char logged_signal[16]; /* "SIGSEGV", if the worker's own log has it; else "" */
	unsigned int left_out; /* similar events since the last report, which got no report */
	struct gpu_error gpu; /* what the worker's own logs say of CUDA and NCCL at their end */
};

/* Whether a line begins a new record of a Ray log, rather than continuing the previous record. */
bool ray_line_begins_record(const char *line, size_t len);

/*
 * Copies a line of a log, shortened to size - 1 bytes: without the sentences that each failed check
 * of Ray begins with, which are longer than its cause, and then by its middle.
 */
void ray_line_shorten(const char *line, size_t len, char *out, size_t size);

/* Parses a record. Returns false, with kind RAY_NOTHING, if the record is not of interest. */
bool ray_record_parse(const char *record, size_t len, struct ray_event *ret_event);

/*
 * Reads from the beginning or end of a worker's own out or err file the task or actor
 * that it ran (":task_name:leak", ":actor_name:A"; the last counts) as "ray::leak", and
 * the signal that ended it, if Ray's handler could log it ("*** SIGSEGV received at").
 * What the text does not contain is left as it is.
 */
void ray_worker_log_parse(const char *text, size_t len, char *task, size_t task_size,
			  char *logged_signal, size_t signal_size);
