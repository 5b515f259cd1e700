/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up a value on a disk that may not answer, for callers that need it often and cannot wait.
 * An errand looks it up, at most once in spacing_ns; between two lookups the value is that of the
 * last.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/loop/errand.h"

struct recent {
	struct errand errand;
	int64_t looked_ns; /* when the last lookup began, 0: never */
	int64_t spacing_ns; /* the least time between two lookups */
};
#define RECENT(spacing) ((struct recent){ .errand = ERRAND_NONE, .spacing_ns = (spacing) })

/*
 * Sets the size bytes of *value to the result of the last lookup, if it came since the call before.
 * Begins to look up fn(arg) for a later call, unless the last lookup was a short time ago.
 */
void recent_look(struct recent *r, errand_fill_fn fn, const void *arg, void *value, size_t size,
		 int64_t now_ns);

/* Right after recent_look: whether the last lookup has not returned for seconds. */
bool recent_hangs(const struct recent *r, int64_t now_ns);

void recent_release(struct recent *r);
