/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the bundles in a directory with their sizes, and removes them, whole or in part. A bundle
 * is a directory whose name begins with a time, as the names of bundles do, and has a
 * MANIFEST.json; or, if it was never finished, a class after the time. Whatever else is there
 * stays. Bundles are looked for at most INVENTORY_DEPTH_MAX levels down, and not below hidden
 * names. No symbolic link is followed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "sidecar/spool/quota.h"

#define INVENTORY_DEPTH_MAX 6

struct inventory {
	struct stored *stored; /* the bundles, the oldest first; their paths are below rootfd */
	size_t n;
	int64_t bytes; /* on the disk, of all bundles and of everything else in the directory */
	size_t left_out; /* bundles beyond max: counted in bytes, but not listed */
};

/*
 * Lists at most max bundles of the directory `below`, a path below rootfd; "" is rootfd itself.
 * Files and directories that cannot be read are skipped. -ENOENT if there is no such directory,
 * -ENOMEM, or another error of opening it. The caller releases the result.
 */
int inventory_read(int rootfd, const char *below, size_t max, struct inventory *ret_inventory,
		   struct err *err);
void inventory_release(struct inventory *inv);
#define _cleanup_inventory_ _cleanup_(inventory_release)

/*
 * Removes the files of kind `what`, and of the kinds before it, from the bundle at path. The
 * manifest is replaced first, so it never lists a file that is gone; only if the disk is too full
 * for a second manifest are the files removed first. -EPROTO: the manifest is damaged, too large
 * or no file, and only DROP_BUNDLE is possible.
 */
int inventory_drop(int rootfd, const char *path, enum drop what, struct err *err);

/*
 * Does the same, and removes the whole bundle if its manifest is damaged: otherwise whoever may
 * write to the store could keep it from ever becoming smaller. Returns 0 with what was removed in
 * *what, or the error of inventory_drop().
 */
int inventory_drop_at_least(int rootfd, const char *path, enum drop *what, struct err *err);

/*
 * Removes what a process left of the bundle at path if it was killed while it removed the bundle. A
 * bundle that still exists is not touched.
 */
void inventory_finish_drop(int rootfd, const char *path);

/*
 * Removes the directories above path, the deepest first, as long as they are empty and have not
 * changed for age_ns. The first `keep` components of path stay.
 */
void inventory_remove_empty(int rootfd, const char *path, unsigned int keep, int64_t age_ns);

/* no shipper or reader works on one file for so long */
#define INVENTORY_STALE_NS (24 * 3600 * NS_PER_SEC)

/*
 * Removes what is left below `below` ("": below rootfd) of bundles that a process was writing or
 * removing when it died, if that was more than age_ns ago (0: whenever it was); and what NFS
 * clients left of files of a bundle that were removed more than leftover_ns ago: while such a
 * client lives, a process of its machine may still read the file.
 */
void inventory_remove_stale(int rootfd, const char *below, int64_t age_ns, int64_t leftover_ns);
