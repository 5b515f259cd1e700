/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small language helpers: cleanup attributes, array size, pointer hand-over, membership of a short
 * list.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define _printf_(fmt, first) __attribute__((format(printf, fmt, first)))
#define _cleanup_(fn) __attribute__((cleanup(fn)))

/* Hands a pointer over: the variable's own cleanup then finds NULL. */
#define TAKE_PTR(p) \
	({ \
		__typeof__(p) taken_ = (p); \
		(p) = NULL; \
		taken_; \
	})

/* Does the same for a file descriptor. */
#define TAKE_FD(fd) \
	({ \
		int taken_ = (fd); \
		(fd) = -1; \
		taken_; \
	})

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_close_ _cleanup_(closep)

/*
 * IS_ONE_OF(class, A, B, C): whether an integer is one of those; TEXT_IS_ONE_OF does the same for a
 * text, which may be NULL.
 */
#define IS_ONE_OF(value, ...) \
	is_one_of(value, (const int[]){ __VA_ARGS__ }, ARRAY_SIZE(((const int[]){ __VA_ARGS__ })))
#define TEXT_IS_ONE_OF(text, ...) text_is_one_of(text, (const char *const[]){ __VA_ARGS__, NULL })

static inline bool is_one_of(int value, const int *list, size_t n)
{
	while (n && list[n - 1] != value)
		n--;
	return n > 0;
}

static inline bool text_is_one_of(const char *text, const char *const *list)
{
	while (text && *list && strcmp(*list, text) != 0)
		list++;
	return text && *list;
}

/* Whether a text, which may be NULL, begins with that. */
static inline bool text_begins_with(const char *text, const char *beginning)
{
	return text && strncmp(text, beginning, strlen(beginning)) == 0;
}

/* Whether a path is that of the directory or cgroup base, or below it. */
static inline bool path_is_below(const char *path, const char *base)
{
	size_t len = strlen(base);

	return strncmp(path, base, len) == 0 && (!path[len] || path[len] == '/');
}

/* Returns what stands behind the last slash of a path; the path, if that is nothing. */
static inline const char *path_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}
