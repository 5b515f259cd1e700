/* SPDX-License-Identifier: Apache-2.0 */
/* Looks into the spool between two runs of the shipper: removes what was shipped, and finds the bundle that is to be shipped next. */
#ifndef AFTERGLOW_SIDECAR_SPOOL_SHIP_LOOK_H
#define AFTERGLOW_SIDECAR_SPOOL_SHIP_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sidecar/store/bundle.h"

#define SHIP_DONE_MAX 256 /* more than a spool holds, unless told otherwise */

/* A manifest as it was when the bundle was shipped: an addition exchanges it. */
struct manifest_identity {
	ino_t inode;
	int64_t changed_ns;
};

/* Bundles that were shipped and are still in the spool: they wait for an addition, or cannot be removed. */
struct ship_done {
	struct manifest_identity list[SHIP_DONE_MAX];
	size_t n;
};

/* Where there is no room for one more, the oldest is forgotten. */
void ship_done_add(struct ship_done *done, const struct manifest_identity *manifest);

/* Paths are below the spool. */
struct ship_question {
	const char *spool;
	const char *shipped; /* this bundle is in the store now; NULL: none */
	struct manifest_identity manifest; /* of that, as it was shipped */
	const char *after; /* the one that was tried last, and failed; NULL: none */
	const struct ship_done *done;
};

struct ship_look {
	bool stays; /* the one that was shipped is to be added to done */
	bool found;
	char path[BUNDLE_PATH_MAX]; /* with found: what is to be shipped next */
	struct manifest_identity manifest; /* of that */
};

/* May take as long as the spool's disk does. A spool that cannot be read has nothing to ship. */
void ship_look(const struct ship_question *q, struct ship_look *ret_look);

#endif
