/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line per event on stderr: "2026-11-21T01:29:06.324Z info text", or the same
 * as a JSON object. Only programs log (main and the module that takes the decision);
 * libraries return errors. Control characters in the text are replaced: names from
 * a Ray container may stand in it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/macros.h"
#include "lib/units.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Lines above this level are dropped. The default is LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);

enum log_format {
	LOG_FORMAT_TEXT, /* the default */
	LOG_FORMAT_JSON, /* {"time":"2026-11-21T01:29:06.324Z","level":"info","msg":"text"} */
};
void log_set_format(enum log_format format);

void log_line(enum log_level level, const char *fmt, ...) _printf_(2, 3);

/*
 * For lines that a process outside the program can cause at any rate: each place in
 * the code logs only the first few of every minute.
 */
#define LOG_LIMIT_PER_MINUTE 10
struct log_limit {
	int64_t since_ns; /* CLOCK_BOOTTIME */
	unsigned int n;
};
bool log_limit_passes(struct log_limit *limit, int64_t now_ns);

#define log_warning_limited(...) \
	do { \
		static struct log_limit limit_; \
		if (log_limit_passes(&limit_, now_boottime_ns())) \
			log_warning(__VA_ARGS__); \
	} while (0)

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
