/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bundles a directory holds, how large they are, and taking them out again,
 * whole or in part. A bundle is a directory with a MANIFEST.json, or one whose name
 * begins with a time as theirs do and which somebody did not finish; at most
 * INVENTORY_DEPTH_MAX below. Below hidden names none is looked for.
 */
#ifndef AFTERGLOW_SIDECAR_SPOOL_INVENTORY_H
#define AFTERGLOW_SIDECAR_SPOOL_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "sidecar/spool/quota.h"

#define INVENTORY_DEPTH_MAX 6

struct inventory {
	struct stored *stored; /* oldest first */
	char **paths; /* below the root, in the same order */
	size_t n;
	int64_t bytes; /* of them and of what else lies there, as the file system counts */
	size_t left_out; /* more than max */
};

/* below: "" for all of it. What cannot be read counts nothing. -ENOENT when there is no such directory. */
int inventory_read(int rootfd, const char *below, size_t max, struct inventory *ret_inventory, struct err *err);
void inventory_release(struct inventory *inv);
#define _cleanup_inventory_ _cleanup_(inventory_release)

/*
 * Takes out of the bundle what `what` says. Its manifest never lists what is gone: it is exchanged before the files go, or,
 * when a full disk has no room for another, right after. -EPROTO: its manifest is damaged; only DROP_BUNDLE is possible.
 */
int inventory_drop(int rootfd, const char *path, enum drop what, struct err *err);

/* Removes what a process that was killed while it removed the bundle has left. A bundle that is there stays as it is. */
void inventory_finish_drop(int rootfd, const char *path);

/*
 * Removes directories above path, up to but without `keep` of its components, as long as they are empty and were not
 * touched for age_ns.
 */
void inventory_remove_empty(int rootfd, const char *path, unsigned int keep, int64_t age_ns);

/* Removes what somebody who died was writing or removing longer than age_ns ago, below `below` ("": all of it). */
void inventory_remove_stale(int rootfd, const char *below, int64_t age_ns);

/* Which kind of file that is: what has to be dropped for it to go. */
enum drop inventory_kind(const char *file);

#endif
