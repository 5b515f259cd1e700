/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks into the spool between two runs of afterglow-ship: removes the bundle that was shipped, and
 * finds the next bundle to ship.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sidecar/store/bundle.h"

#define SHIP_DONE_MAX 256 /* more than SPOOL_COUNT_DEFAULT */

/*
 * Identifies the manifest of a bundle when it was shipped. An addition to the bundle replaces it.
 */
struct manifest_identity {
	ino_t inode;
	int64_t changed_ns; /* Unix time of its last change */
};

/*
 * Bundles that were shipped and are still in the spool: they wait for an addition, or cannot be
 * removed.
 */
struct ship_done {
	struct manifest_identity list[SHIP_DONE_MAX];
	size_t n;
};

/*
 * Adds a bundle. If the list is full, the oldest entry is forgotten, and that bundle is shipped
 * again.
 */
void ship_done_add(struct ship_done *done, const struct manifest_identity *manifest);

/* What the look depends on. Paths of bundles are below the spool. */
struct ship_question {
	const char *spool; /* the spool's directory */
	const char *shipped; /* the bundle that was just shipped; NULL: none */
	struct manifest_identity manifest; /* of the bundle `shipped`, when it was shipped */
	const char *after; /* the bundle that could not be shipped last time; NULL: none */
	const struct ship_done *done;
};

struct ship_look {
	bool stays; /* the bundle `shipped` stays in the spool; the caller adds it to done */
	bool found; /* there is a bundle to ship */
	char path[BUNDLE_PATH_MAX]; /* with found: the bundle to ship next */
	int64_t bytes; /* with found: of that bundle, on the disk */
	struct manifest_identity manifest; /* with found: of that bundle */
};

/*
 * Chooses the oldest bundle that is not done. After a failure, bundles younger than `after` come
 * first, so a bundle that cannot be shipped does not hold up the others. Blocks for as long as the
 * spool's disk does. If the spool cannot be read, nothing is found.
 */
void ship_look(const struct ship_question *q, struct ship_look *ret_look);
