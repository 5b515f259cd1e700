/* SPDX-License-Identifier: Apache-2.0 */
/* Parses what Ray logs about the ends of its own processes. */
#include "sidecar/ray/ray_process_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/macros.h"

#define EXITED_MAX 16 /* children of `ray start` in one record */

static const char *ray_process_lines_find(const char *text, size_t len, const char *what)
{
	return memmem(text, len, what, strlen(what));
}

/*
 * Parses a line of len bytes such as " raylet [exit code=-9 (signal 9)]". Returns false if it has
 * another form.
 */
static bool parse_exited(const char *line, size_t len, enum ray_process_kind *ret_kind, int *ret_code)
{
	static const char mark[] = " [exit code=";
	const char *at = ray_process_lines_find(line, len, mark);
	char code[16] = "";
	size_t begin = 0, code_len;

	if (!at)
		return false;
	while (begin < len && line[begin] == ' ')
		begin++;
	if (line + begin >= at)
		return false;
	code_len = MIN(len - (size_t)(at - line) - (sizeof(mark) - 1), sizeof(code) - 1);
	memcpy(code, at + sizeof(mark) - 1, code_len);
	*ret_kind = ray_process_of_type(line + begin, (size_t)(at - line) - begin);
	*ret_code = (int)strtol(code, NULL, 10);
	return *ret_code >= -64 && *ret_code <= 255;
}

/*
 * Takes the process that ended first. `ray start` logs all children together that had ended when it
 * looked. If the GCS server is among them, it ended first.
 */
static bool parse_exits(const char *record, size_t len, struct ray_event *e)
{
	const char *at = ray_process_lines_find(record, len, "Some Ray subprocesses exited unexpectedly:"), *end = record + len;
	enum ray_process_kind kind;
	int code;

	for (int n = 0; at && n < EXITED_MAX && (at = memchr(at, '\n', (size_t)(end - at))); n++) {
		at++;
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		if (!parse_exited(at, (size_t)((newline ? newline : end) - at), &kind, &code))
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
static enum ray_process_kind agent_named(const char *record, size_t len)
{
	static const char mark[] = "agent_name = ";
	const char *at = ray_process_lines_find(record, len, mark);
	size_t rest, n = 0;

	if (!at)
		return RAY_PROCESS_NONE;
	at += sizeof(mark) - 1;
	rest = len - (size_t)(at - record);
	while (n < rest && (at[n] == '_' || (at[n] >= 'a' && at[n] <= 'z')))
		n++;
	return ray_process_of_type(at, n);
}

static const struct {
	const char *mark;
	enum ray_kind kind;
	enum ray_process_kind process;
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
};

/*
 * Parses the beginning of a record of the level "fatal", "[2026-11-22 08:56:28,512 C 344 344] (gcs_server) ", after
 * which Ray aborts the process. Returns RAY_PROCESS_NONE for other records, and for those of workers.
 */
static enum ray_process_kind ray_process_lines_gave_up(const char *record, size_t len)
{
	const char *level = ray_process_lines_find(record, MIN(len, (size_t)40), " C "),
		   *name = ray_process_lines_find(record, MIN(len, (size_t)80), "] (");
	const char *end = name ? memchr(name, ')', len - (size_t)(name - record)) : NULL;

	if (!level || !end || record[0] != '[' || level > name)
		return RAY_PROCESS_NONE;
	name += strlen("] (");
	enum ray_process_kind kind = ray_process_of_type(name, (size_t)(end - name));
	return kind == RAY_PROCESS_RAYLET || kind == RAY_PROCESS_GCS_SERVER ? kind :
									      RAY_PROCESS_NONE;
}

bool ray_process_record_parse(const char *record, size_t len, struct ray_event *e, const char **ret_mark)
{
	if (parse_exits(record, len, e)) {
		*ret_mark = "[exit code=";
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		if (!ray_process_lines_find(record, len, marks[i].mark))
			continue;
		e->kind = marks[i].kind;
		e->process = marks[i].process ? marks[i].process : agent_named(record, len);
		*ret_mark = marks[i].mark;
		return true;
	}
	e->process = ray_process_lines_gave_up(record, len);
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
	default:
		return NULL;
	}
}

void ray_process_words_note(struct ray_process_words *w, const struct ray_event *e, const char *file, int64_t now_ns)
{
	struct ray_process_word *word = word_of(w, e->kind);

	/*
	 * For raylet only its own log says whether it was asked to stop. The GCS server logs that
	 * later, so its record does not count.
	 */
	if (!word || (e->kind == RAY_STOPPED && word->at_ns && e->process != RAY_PROCESS_RAYLET))
		return;
	*word = (struct ray_process_word){ .at_ns = MAX(now_ns, (int64_t)1), .process = e->process, .returncode = e->returncode };
	snprintf(word->file, sizeof(word->file), "%s", file);
	snprintf(word->line, sizeof(word->line), "%s", e->detail);
}
