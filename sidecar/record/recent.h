/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up a value on a disk that may not answer, for callers that need it often and cannot wait. An
 * errand looks it up, at most once in spacing_ns; between two lookups the value is that of the
 * last.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/loop/errand.h"

#define RECENT_WITHIN_NS ((int64_t)200 * 1000 * 1000) /* for a disk that answers */

struct recent {
	struct errand errand;
	int64_t looked_ns; /* when the last lookup began, 0: never */
	int64_t spacing_ns; /* the least time between two lookups */
};
#define RECENT(spacing) ((struct recent){ .errand = ERRAND_NONE, .spacing_ns = (spacing) })

/*
 * Sets the size bytes of *value to the result of fn(arg). Leaves them as they are if the result
 * does not come in time, or if the last lookup was a short time ago. A later call takes the result
 * of a lookup that takes longer.
 */
void recent_look(struct recent *r, errand_fill_fn fn, const void *arg, void *value, size_t size, int64_t now_ns);

/* Whether the last lookup has not returned for seconds. */
bool recent_hangs(struct recent *r, int64_t now_ns);

void recent_release(struct recent *r);
