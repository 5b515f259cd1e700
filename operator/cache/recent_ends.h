/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The latest objects that a watch said were deleted. The answer to a creation may come after the
 * watch has passed its version. Then either the watch has shown the object's end as well, or it has
 * lost the object: this tells one from the other.
 */
#ifndef AFTERGLOW_OPERATOR_CACHE_RECENT_ENDS_H
#define AFTERGLOW_OPERATOR_CACHE_RECENT_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECENT_ENDS_MAX 256 /* answers are seconds late at most; 4 KiB a kind */

/* Zeroed: nothing has ended. */
struct recent_ends {
	struct recent_end {
		uint64_t uid_hash, rv;
	} list[RECENT_ENDS_MAX];
	size_t n; /* so many came; each takes the place of the one RECENT_ENDS_MAX before it */
};

/* rv: the version of the deletion. NULL: it is not known. */
void recent_ends_add(struct recent_ends *ends, const char *uid, const char *rv);

/* Whether an object of that version may have ended since: its end is listed, or forgotten by now. */
bool recent_ends_may_have(const struct recent_ends *ends, const char *uid, const char *rv);

#endif
