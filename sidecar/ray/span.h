/* SPDX-License-Identifier: Apache-2.0 */
/* A span is a part of a log's text. It does not own the text, and has no final NUL. Pure. */
#pragma once

#include <stdbool.h>
#include <string.h>

struct span {
	const char *at; /* NULL: there is none, and len is 0 */
	size_t len;
};

/* The rest of text from the first occurrence of `what` on; at is NULL if it does not occur. */
static inline struct span span_find(struct span text, const char *what)
{
	const char *at = text.at ? memmem(text.at, text.len, what, strlen(what)) : NULL;

	return at ? (struct span){ at, text.len - (size_t)(at - text.at) } : (struct span){ NULL, 0 };
}

/* The rest of text after the first occurrence of `what`; at is NULL if it does not occur. */
static inline struct span span_after(struct span text, const char *what)
{
	struct span rest = span_find(text, what);

	return rest.at ? (struct span){ rest.at + strlen(what), rest.len - strlen(what) } : rest;
}

static inline bool span_begins(struct span text, const char *what)
{
	return text.len >= strlen(what) && memcmp(text.at, what, strlen(what)) == 0;
}

/* The first line of text, without its end. */
static inline struct span span_line(struct span text)
{
	const char *newline = text.at ? memchr(text.at, '\n', text.len) : NULL;

	return newline ? (struct span){ text.at, (size_t)(newline - text.at) } : text;
}

/* Takes the first line from *rest, with its end, and returns it without. */
static inline struct span span_take_line(struct span *rest)
{
	struct span line = span_line(*rest);
	size_t taken = line.len + (line.len < rest->len);

	rest->at += taken;
	rest->len -= taken;
	return line;
}
