/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers the latest objects that a watch reported as deleted. The answer to a creation may come
 * after the watch has passed its version. Then the watch has either shown the object's end as well,
 * or lost the object. This list shows which of the two happened.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECENT_ENDS_MAX 256 /* answers are seconds late at most; 4 KiB a kind */

/* Zeroed: nothing has ended. */
struct recent_ends {
	struct recent_end {
		uint64_t uid_hash, rv;
	} list[RECENT_ENDS_MAX];
	size_t n; /* the number of ends so far; each replaces the end RECENT_ENDS_MAX before it */
};

/* Adds an end. rv is the version of the deletion; NULL if it is not known. */
void recent_ends_add(struct recent_ends *ends, const char *uid, const char *rv);

/*
 * Returns whether the object may have ended since that version: its end is in the list, or may have
 * been dropped from it.
 */
bool recent_ends_may_have(const struct recent_ends *ends, const char *uid, const char *rv);
