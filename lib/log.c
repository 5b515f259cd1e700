/* SPDX-License-Identifier: Apache-2.0 */
/* One line per event on stderr. */
#include "lib/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/outlet.h"
#include "lib/printable.h"

#define LOG_LINE_MAX 2048
#define JSON_FRAME_MAX 100 /* length of a JSON line without its text */

static enum log_level log_level = LOG_LEVEL_INFO;
static enum log_format log_format = LOG_FORMAT_TEXT;

void log_set_level(enum log_level level)
{
	log_level = level;
}

void log_set_format(enum log_format format)
{
	log_format = format;
}

bool log_limit_passes(struct log_limit *limit, int64_t now_ns)
{
	if (!limit->since_ns || now_ns - limit->since_ns >= 60 * NS_PER_SEC)
		*limit = (struct log_limit){ .since_ns = now_ns };
	if (limit->n++ < LOG_LIMIT_PER_MINUTE)
		return true;
	if (limit->n == LOG_LIMIT_PER_MINUTE + 1)
		log_warning("further lines of this kind are left out for a minute");
	return false;
}

/*
 * Writes text as a JSON string to a buffer that takes each of its bytes twice, and the quotes;
 * returns the length.
 */
static size_t add_json_string(char *to, const char *text)
{
	size_t len = 0;

	to[len++] = '"';
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			to[len++] = '\\';
		to[len++] = *text;
	}
	to[len++] = '"';
	return len;
}

/*
 * One write, so that lines of several processes do not mix; a lost log line is not worth an error.
 */
static void write_json(const char *when, const char *level, const char *text)
{
	char line[JSON_FRAME_MAX + 2 * LOG_LINE_MAX];
	size_t len = (size_t)snprintf(line, JSON_FRAME_MAX,
				      "{\"time\":\"%s\",\"level\":\"%s\",\"msg\":", when, level);

	len += add_json_string(line + len, text);
	line[len++] = '}';
	line[len++] = '\n';
	outlet_write(STDERR_FILENO, line, len);
}

static void write_text(const char *when, const char *level, const char *text)
{
	char line[LOG_LINE_MAX];
	int n = snprintf(line, sizeof(line) - 1, "%s %s %s", when, level, text);
	size_t len = MIN((size_t)n, sizeof(line) - 2);

	line[len++] = '\n';
	outlet_write(STDERR_FILENO, line, len);
}

void log_line(enum log_level level, const char *fmt, ...)
{
	static const char *const names[] = { "error", "warning", "info", "debug" };
	char text[LOG_LINE_MAX], when[TIME_TEXT_MAX];
	va_list ap;

	if (level > log_level)
		return;
	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	mend_printable(text, strlen(text), "");
	time_format(now_realtime_ns(), when);
	if (log_format == LOG_FORMAT_JSON)
		write_json(when, names[level], text);
	else
		write_text(when, names[level], text);
}
