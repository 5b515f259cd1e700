/* SPDX-License-Identifier: Apache-2.0 */
/* Small language helpers: cleanup attributes, array size, pointer hand-over. */
#pragma once

#include <stddef.h>
#include <stdlib.h>
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
