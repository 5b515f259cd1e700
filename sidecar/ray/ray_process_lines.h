/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses what Ray logs about the ends of its own processes. Pure; the text is hostile.
 *
 * Wording, as Ray's sources and recordings have it: `ray start --block` (2.5x and newer) lists in
 * logs/ray_process_exit.log which of its children ended, with their exit codes. raylet says in
 * raylet.out that an agent of it failed (2.7 and newer "one Ray agent failed, agent_name = NAME",
 * before that "the Ray agent failed"; the exit code that it gives is not the agent's), that it does
 * not reach the GCS any more, and that it or the GCS server was asked to stop with SIGTERM. It says
 * so, too, when it refuses objects because the disk to which it spills others is nearly full. Of
 * that disk it says every ten seconds how full it is, and of each such object that it is refused.
 */
#pragma once

#include "lib/span.h"
#include "sidecar/ray/ray_event.h"

/*
 * Parses one record of a log. Sets e's kind, process, writer and returncode, and *ret_mark to the
 * line in the record that says so. False: the record is not about such an end.
 */
bool ray_process_record_parse(struct span record, struct ray_event *e, const char **ret_mark);

/*
 * The process that wrote a record, by the head that Ray's C++ writes: "[2026-11-22 08:05:59,822 I
 * 341 351] (raylet) "; 0: it has none.
 */
pid_t ray_process_lines_writer(struct span record);

/* The latest record of one kind; all zero: there was none. */
struct ray_process_word {
	int64_t at_ns; /* when it was read, CLOCK_BOOTTIME; 0: never */
	/* the process that ended; RAY_PROCESS_NONE if the record does not name it */
	enum ray_process_kind process;
	pid_t pid; /* that wrote the record; 0: not known */
	int returncode; /* of RAY_PROCESS_EXITED, as Python counts: -9 after SIGKILL */
	char file[32]; /* which log says so */
	char line[RAY_LINE_TEXT_MAX]; /* valid UTF-8 */
};

/* What Ray logged since this start of the container. */
struct ray_process_words {
	struct ray_process_word exited, agent_failed, gcs_lost, gave_up, stopped, disk_full,
		object_refused;
};

/* Notes the event if it is about the end of one of Ray's own processes. now_ns: CLOCK_BOOTTIME. */
void ray_process_words_note(struct ray_process_words *w, const struct ray_event *e,
			    const char *file, int64_t now_ns);
