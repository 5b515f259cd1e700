/* SPDX-License-Identifier: Apache-2.0 */
/* Takes lines of the kernel log apart. A span is a piece of the caller's text. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct kernel_span {
	const char *at;
	size_t len;
};

static inline bool kernel_span_begins(struct kernel_span s, const char *word)
{
	return s.len >= strlen(word) && memcmp(s.at, word, strlen(word)) == 0;
}

/* What stands before at, and what begins there. */
static inline struct kernel_span kernel_span_before(struct kernel_span s, const char *at)
{
	return (struct kernel_span){ s.at, (size_t)(at - s.at) };
}

static inline struct kernel_span kernel_span_from(struct kernel_span s, const char *at)
{
	return (struct kernel_span){ at, s.len - (size_t)(at - s.at) };
}

/* If s begins with word, moves s behind it and returns true. */
static inline bool kernel_span_take(struct kernel_span *s, const char *word)
{
	bool begins = kernel_span_begins(*s, word);

	*s = begins ? kernel_span_from(*s, s->at + strlen(word)) : *s;
	return begins;
}

/* Returns the first place of word, or NULL. */
static inline const char *kernel_span_find(struct kernel_span s, const char *word)
{
	return memmem(s.at, s.len, word, strlen(word));
}

static inline const char *kernel_span_find_last(struct kernel_span s, const char *word)
{
	const char *found = NULL;

	for (const char *p; (p = kernel_span_find(s, word)); s = kernel_span_from(s, p + 1))
		found = p;
	return found;
}

/*
 * Takes digits. Returns false, and changes nothing, if there are none, or if the number is larger
 * than max.
 */
static inline bool kernel_span_number(struct kernel_span *s, int64_t max, int64_t *ret_value)
{
	int64_t value = 0;
	size_t n = 0;

	for (; n < s->len && s->at[n] >= '0' && s->at[n] <= '9'; n++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, s->at[n] - '0', &value) || value > max)
			return false;
	if (n == 0)
		return false;
	*s = kernel_span_from(*s, s->at + n);
	*ret_value = value;
	return true;
}
