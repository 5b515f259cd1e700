/* SPDX-License-Identifier: Apache-2.0 */
/* One line per event on stderr. */
#include "lib/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/outlet.h"
#include "lib/units.h"

#define LOG_LINE_MAX 2048

static enum log_level log_level = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	log_level = level;
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

void log_line(enum log_level level, const char *fmt, ...)
{
	static const char *const names[] = { "error", "warning", "info", "debug" };
	char line[LOG_LINE_MAX], when[TIME_TEXT_MAX];
	va_list ap;
	size_t len;
	int n;

	if (level > log_level)
		return;
	len = (size_t)snprintf(line, sizeof(line), "%s %s ", time_format(now_realtime_ns(), when),
			       names[level]);
	va_start(ap, fmt);
	n = vsnprintf(line + len, sizeof(line) - len, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	len = MIN(len + (size_t)n, sizeof(line) - 2);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = '?';
	line[len++] = '\n';
	/* One write, so that lines of several processes do not mix; a lost log line is not worth an error. */
	outlet_write(STDERR_FILENO, line, len);
}
