/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A span is a part of a text, such as a line of a log. It does not own the text, and has no final
 * NUL. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
	const char *at; /* NULL: there is none, and len is 0 */
	size_t len;
};

static inline bool span_begins(struct span s, const char *word)
{
	return s.len >= strlen(word) && memcmp(s.at, word, strlen(word)) == 0;
}

/* These two return the part of s that ends before the place at, and the part that begins there. */
static inline struct span span_before(struct span s, const char *at)
{
	return (struct span){ s.at, (size_t)(at - s.at) };
}

static inline struct span span_from(struct span s, const char *at)
{
	return (struct span){ at, s.len - (size_t)(at - s.at) };
}

/* If s begins with word, moves s behind it and returns true. */
static inline bool span_take(struct span *s, const char *word)
{
	bool begins = span_begins(*s, word);

	*s = begins ? span_from(*s, s->at + strlen(word)) : *s;
	return begins;
}

/* The rest of s from the first place of word on; at is NULL if there is none. */
static inline struct span span_find(struct span s, const char *word)
{
	const char *at = s.at ? memmem(s.at, s.len, word, strlen(word)) : NULL;

	return at ? span_from(s, at) : (struct span){ NULL, 0 };
}

/* The rest of s behind the first place of word; at is NULL if there is none. */
static inline struct span span_after(struct span s, const char *word)
{
	struct span rest = span_find(s, word);

	span_take(&rest, word);
	return rest;
}

static inline const char *span_find_last(struct span s, const char *word)
{
	const char *found = NULL;

	for (const char *p; (p = span_find(s, word).at); s = span_from(s, p + 1))
		found = p;
	return found;
}

/* The first line of s, without its end. */
static inline struct span span_line(struct span s)
{
	const char *newline = s.at ? memchr(s.at, '\n', s.len) : NULL;

	return newline ? span_before(s, newline) : s;
}

/* Moves s behind its first line, and returns that without its end. */
static inline struct span span_take_line(struct span *s)
{
	struct span line = span_line(*s);

	/*
	 * clang's sanitizer, under which the parsers are fuzzed, does not let 0 be added to NULL.
	 */
	if (s->at)
		*s = span_from(*s, s->at + line.len + (line.len < s->len));
	return line;
}

/*
 * Takes digits. Returns false, and changes nothing, if there are none, or if the number is larger
 * than max.
 */
static inline bool span_number(struct span *s, int64_t max, int64_t *ret_value)
{
	int64_t value = 0;
	size_t n = 0;

	for (; n < s->len && s->at[n] >= '0' && s->at[n] <= '9'; n++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, s->at[n] - '0', &value) || value > max)
			return false;
	if (n == 0)
		return false;
	*s = span_from(*s, s->at + n);
	*ret_value = value;
	return true;
}
