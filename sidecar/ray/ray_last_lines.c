/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the last lines that one of Ray's own processes wrote into its logs. */
#include "sidecar/ray/ray_last_lines.h"

#include <stdio.h>
#include <string.h>

#include "lib/macros.h"
#include "lib/printable.h"
#include "lib/strbuf.h"
#include "sidecar/ray/ray_files.h"

#define TAIL_MAX (32 * 1024) /* bytes; a dump of raylet's state has twenty */

static bool is_worth(const char *line, size_t len)
{
	static const char dump[] = "[state-dump]";

	if (len >= sizeof(dump) - 1 && memcmp(line, dump, sizeof(dump) - 1) == 0)
		return false;
	/*
	 * These lines are skipped: statistics of the GCS server, and frames of a stack, whose first
	 * line says what the stack is about.
	 */
	if ((len && line[0] == '\t') || memmem(line, len, ") [0x", 5))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] > ' ')
			return true;
	return false;
}

static void append(const char *file, const char *line, size_t len, char *out, size_t size)
{
	char clean[RAY_LAST_LINE_MAX];
	size_t n = strlen(out);

	copy_printable(clean, sizeof(clean), line, len);
	/*
	 * Ray's Python logs have tabs between their columns, and a line of a report may not contain
	 * tabs.
	 */
	for (size_t i = 0; i < len && clean[i]; i++)
		if (line[i] == '\t' && clean[i] == '?')
			clean[i] = ' ';
	if (n + strlen(file) + strlen(clean) + 4 <= size)
		snprintf(out + n, size - n, "%s: %s\n", file, clean);
}

void ray_last_lines_of(const char *file, const char *text, size_t len, char *out, size_t size)
{
	struct {
		const char *at;
		size_t len;
	} last[RAY_LAST_LINES_MAX];
	size_t n = 0;

	for (const char *end = text + len; end > text && n < RAY_LAST_LINES_MAX;) {
		const char *newline = memrchr(text, '\n', (size_t)(end - text)), *line = newline ? newline + 1 : text;

		if (is_worth(line, (size_t)(end - line))) {
			last[n].at = line;
			last[n++].len = (size_t)(end - line);
		}
		end = newline ? newline : text;
	}
	while (n > 0) {
		n--;
		append(file, last[n].at, last[n].len, out, size);
	}
}

void ray_last_lines(int dir_fd, enum ray_process_kind kind, char *out, size_t size)
{
	const char *names[RAY_PROCESS_LOGS_MAX];

	ray_process_logs(kind, names);
	for (size_t i = 0; dir_fd >= 0 && i < RAY_PROCESS_LOGS_MAX && names[i]; i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(TAIL_MAX);

		if (ray_file_tail(dir_fd, names[i], TAIL_MAX, &text))
			ray_last_lines_of(names[i], strbuf_str(&text), text.len, out, size);
	}
}
