/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing string with a ceiling. Appending past the ceiling, or running out
 * of memory, sets a sticky failure: later appends do nothing, so that a single check
 * at the end is enough (strbuf_failed). The text before the failure stays readable.
 */
#pragma once

#include "lib/macros.h"

#include <stdbool.h>
#include <stddef.h>

struct strbuf {
	char *data; /* NUL-terminated, or NULL while empty: read it through strbuf_str */
	size_t len;
	size_t cap;
	size_t max; /* ceiling in bytes without the NUL */
	bool failed;
};

#define STRBUF_INIT(ceiling) ((struct strbuf){ .max = (ceiling) })

void strbuf_init(struct strbuf *sb, size_t ceiling);
void strbuf_release(struct strbuf *sb);
#define _cleanup_strbuf_ _cleanup_(strbuf_release)

void strbuf_add(struct strbuf *sb, const void *data, size_t len);
void strbuf_adds(struct strbuf *sb, const char *s);
void strbuf_addc(struct strbuf *sb, char c);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...) _printf_(2, 3);

/* Appends s with control characters, quotes and invalid bytes as \xNN: for untrusted text. */
void strbuf_add_escaped(struct strbuf *sb, const char *s, size_t len);
/* Writes as much of that into a buffer of size bytes as fits. */
void text_escape(char *out, size_t size, const char *s, size_t len);

/* Drops the first n bytes (at most all). */
void strbuf_consume(struct strbuf *sb, size_t n);
/* Cuts the text to len bytes if it is longer; a failure stays. */
void strbuf_truncate(struct strbuf *sb, size_t len);
/* Makes the text empty, keeps the memory, and clears a failure. */
void strbuf_reset(struct strbuf *sb);

/* Returns the text, "" while empty. Valid until the next call that appends or releases. */
const char *strbuf_str(const struct strbuf *sb);
/* Hands the text over to the caller, who frees it; NULL if an append failed or memory ran out. */
char *strbuf_detach(struct strbuf *sb);

static inline bool strbuf_failed(const struct strbuf *sb)
{
	return sb->failed;
}
