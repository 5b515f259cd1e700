/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value that is looked up on a disk that may not answer, for whoever asks often and cannot wait: an errand looks it up, at most
 * so often, and between two looks the value is the one of the last look.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_RECENT_H
#define AFTERGLOW_SIDECAR_RECORD_RECENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/loop/errand.h"

#define RECENT_WITHIN_NS ((int64_t)200 * 1000 * 1000) /* for a disk that answers */

struct recent {
	struct errand errand;
	int64_t looked_ns; /* when the last look began, 0: never */
	int64_t spacing_ns; /* between two looks */
};
#define RECENT(spacing) ((struct recent){ .errand = ERRAND_NONE, .spacing_ns = (spacing) })

/*
 * Sets the size bytes of *value to what fn(arg) finds; leaves them as they are if that is not known in time, or was looked up a
 * short time ago. A look that takes longer is taken note of by a later call.
 */
void recent_look(struct recent *r, errand_fill_fn fn, const void *arg, void *value, size_t size, int64_t now_ns);

/* Whether the last look has not come back for seconds. */
bool recent_hangs(struct recent *r, int64_t now_ns);

void recent_release(struct recent *r);

#endif
