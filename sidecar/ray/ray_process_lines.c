/* SPDX-License-Identifier: Apache-2.0 */
/* Parses what Ray logs about the ends of its own processes. */
#include "sidecar/ray/ray_process_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/macros.h"
#include "lib/units.h"

#define EXITED_MAX 16 /* children of `ray start` in one record */

/*
 * Parses a line such as " raylet [exit code=-9 (signal 9)]". Returns false if it has another form.
 */
static bool parse_exited(struct span line, enum ray_process_kind *ret_kind, int *ret_code)
{
	static const char mark[] = " [exit code=";
	struct span name = line, after = span_after(line, mark);
	char code[16] = "";

	while (span_take(&name, " "))
		;
	if (!after.at || name.at >= after.at - strlen(mark))
		return false;
	memcpy(code, after.at, MIN(after.len, sizeof(code) - 1));
	*ret_kind = ray_process_of_type(name.at, (size_t)(after.at - strlen(mark) - name.at));
	*ret_code = (int)strtol(code, NULL, 10);
	return *ret_code >= -64 && *ret_code <= 255;
}

/*
 * Takes the process that ended first. `ray start` logs all children together that had ended when it
 * looked. If the GCS server is among them, it ended first.
 */
static bool parse_exits(struct span record, struct ray_event *e)
{
	struct span rest = span_find(record, "Some Ray subprocesses exited unexpectedly:");
	enum ray_process_kind kind;
	int code;

	span_take_line(&rest);
	for (int n = 0; rest.len && n < EXITED_MAX; n++) {
		if (!parse_exited(span_take_line(&rest), &kind, &code))
			continue;
		if (e->kind == RAY_PROCESS_EXITED && kind != RAY_PROCESS_GCS_SERVER)
			continue;
		e->kind = RAY_PROCESS_EXITED;
		e->process = kind;
		e->returncode = code;
	}
	return e->kind == RAY_PROCESS_EXITED;
}

/* Parses "agent_name = dashboard_agent." or, before Ray 2.50, "dashboard_agent/1015601482". */
static enum ray_process_kind agent_named(struct span record)
{
	struct span name = span_after(record, "agent_name = ");
	size_t n = 0;

	while (n < name.len && (name.at[n] == '_' || (name.at[n] >= 'a' && name.at[n] <= 'z')))
		n++;
	return ray_process_of_type(name.at, n);
}

static const struct {
	const char *mark;
	enum ray_kind kind;
	enum ray_process_kind process;
	/* clang-format off */
} marks[] = {
	{ "The raylet exited immediately because one Ray agent failed", RAY_AGENT_FAILED, RAY_PROCESS_NONE },
	{ "The raylet exited immediately because the Ray agent failed", RAY_AGENT_FAILED, RAY_PROCESS_DASHBOARD_AGENT },
	{ "The raylet exited immediately because the runtime env agent timed out", RAY_AGENT_FAILED, RAY_PROCESS_RUNTIME_ENV_AGENT },
	{ "Failed to connect to GCS within ", RAY_GCS_LOST, RAY_PROCESS_RAYLET },
	{ "GCS returned an authentication error", RAY_GCS_LOST, RAY_PROCESS_RAYLET },
	{ "GCS consider this node to be dead", RAY_GCS_LOST, RAY_PROCESS_RAYLET },
	{ "mistakenly been marked as dead by the GCS", RAY_GCS_LOST, RAY_PROCESS_RAYLET },
	{ "received SIGTERM. Existing local drain request", RAY_STOPPED, RAY_PROCESS_RAYLET },
	{ "reason_message: \"received SIGTERM\"", RAY_STOPPED, RAY_PROCESS_RAYLET },
	{ "Raylet received SIGTERM, shutting down", RAY_STOPPED, RAY_PROCESS_RAYLET },
	{ "GCS server received SIGTERM, shutting down", RAY_STOPPED, RAY_PROCESS_GCS_SERVER },
	{ "% full, available space: ", RAY_DISK_FULL, RAY_PROCESS_RAYLET },
	{ "Out-of-disk: Failed to create object ", RAY_OBJECT_REFUSED, RAY_PROCESS_RAYLET },
};
/* clang-format on */

/*
 * Parses the beginning of a record of the level "fatal", "[2026-11-22 08:56:28,512 C 344 344]
 * (gcs_server) ", after which Ray aborts the process. Returns RAY_PROCESS_NONE for other records,
 * and for those of workers.
 */
static enum ray_process_kind ray_process_lines_gave_up(struct span record)
{
	struct span head = { record.at, MIN(record.len, (size_t)80) },
		    name = span_after(head, "] (");
	struct span level =
		span_find((struct span){ record.at, MIN(record.len, (size_t)40) }, " C ");
	const char *end = name.at ? span_find(span_from(record, name.at), ")").at : NULL;

	if (!level.at || !end || record.at[0] != '[' || level.at > name.at)
		return RAY_PROCESS_NONE;
	enum ray_process_kind kind = ray_process_of_type(name.at, (size_t)(end - name.at));
	return kind == RAY_PROCESS_RAYLET || kind == RAY_PROCESS_GCS_SERVER ? kind :
									      RAY_PROCESS_NONE;
}

pid_t ray_process_lines_writer(struct span record)
{
	struct span rest = span_after(span_after(span_after(span_line(record), " "), " "), " ");
	int64_t pid = 0, thread;
	bool known = span_begins(record, "[") && span_number(&rest, PID_MAX_LIMIT, &pid) &&
		     span_take(&rest, " ") && span_number(&rest, PID_MAX_LIMIT, &thread) &&
		     span_begins(rest, "] (");

	return known ? (pid_t)pid : 0;
}

bool ray_process_record_parse(struct span record, struct ray_event *e, const char **ret_mark)
{
	e->writer = ray_process_lines_writer(record);
	if (parse_exits(record, e)) {
		*ret_mark = "[exit code=";
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		if (!span_find(record, marks[i].mark).at)
			continue;
		e->kind = marks[i].kind;
		e->process = marks[i].process ? marks[i].process : agent_named(record);
		*ret_mark = marks[i].mark;
		return true;
	}
	e->process = ray_process_lines_gave_up(record);
	e->kind = e->process ? RAY_GAVE_UP : RAY_NOTHING;
	*ret_mark = " C ";
	return e->kind != RAY_NOTHING;
}

static struct ray_process_word *word_of(struct ray_process_words *w, enum ray_kind kind)
{
	switch (kind) {
	case RAY_PROCESS_EXITED:
		return &w->exited;
	case RAY_AGENT_FAILED:
		return &w->agent_failed;
	case RAY_GCS_LOST:
		return &w->gcs_lost;
	case RAY_GAVE_UP:
		return &w->gave_up;
	case RAY_STOPPED:
		return &w->stopped;
	case RAY_DISK_FULL:
		return &w->disk_full;
	case RAY_OBJECT_REFUSED:
		return &w->object_refused;
	default:
		return NULL;
	}
}

void ray_process_words_note(struct ray_process_words *w, const struct ray_event *e,
			    const char *file, int64_t now_ns)
{
	struct ray_process_word *word = word_of(w, e->kind);

	/*
	 * For raylet only its own log says whether it was asked to stop. The GCS server logs that
	 * later, so its record does not count.
	 */
	if (!word || (e->kind == RAY_STOPPED && word->at_ns && e->process != RAY_PROCESS_RAYLET))
		return;
	*word = (struct ray_process_word){ .at_ns = MAX(now_ns, (int64_t)1),
					   .process = e->process,
					   .pid = e->writer,
					   .returncode = e->returncode };
	snprintf(word->file, sizeof(word->file), "%s", file);
	snprintf(word->line, sizeof(word->line), "%s", e->detail);
}
