/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spool is the directory to which bundles are written first, and where they stay until they are
 * shipped or dropped. Before each bundle, the spool decides how much of it is kept, as a crash may
 * come in a loop and the disk may be nearly full. After each bundle, it drops what exceeds its
 * limits. It counts what it dropped, and the next report says so.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/report/report.h"
#include "sidecar/spool/crash_loop.h"
#include "sidecar/spool/inventory.h"

/* The spool is an emptyDir of 1 GiB, and the kubelet evicts a pod that writes more. */
#define SPOOL_BYTES_DEFAULT ((int64_t)768 << 20)
#define SPOOL_COUNT_DEFAULT 200 /* bundles */
#define SPOOL_BUNDLES_MAX 4096 /* bundles that are listed at a time */
#define SPOOL_FREE_MIN ((int64_t)64 << 20) /* bytes of its file system that it leaves to others */
#define SPOOL_FALLBACK_BYTES ((int64_t)24 << 20) /* the fallback is a tmpfs emptyDir of 32 MiB */

struct spool_limits {
	struct quota quota;
	unsigned int full_per_loop; /* whole bundles that are kept of a crash in a loop, 0: all */
	bool own_disk; /* nothing else uses its file system, so none of it is left to others */
	/* it is the store itself: everything that fits is kept, and nothing is dropped */
	bool final;
};

struct spool_stats {
	int64_t bytes, bundles; /* as of the last look into the directory */
	uint64_t dropped[DROP_COUNT]; /* how many bundles this sidecar dropped to that extent */
	uint64_t counted; /* crashes in a loop that were only counted */
};

struct spool;

/*
 * path is the spool's directory, which need not exist yet. state_fd is a directory for what must
 * survive the sidecar, or -1; it stays the caller's. Returns NULL only if there is no memory. Forks
 * of this process share the spool; only one of them may use it at a time.
 */
struct spool *spool_new(const char *path, const struct spool_limits *limits, int state_fd);
void spool_free(struct spool *s);

/*
 * Counts the failure of r and returns how much of it is kept. Fills r->keeping, with what was
 * dropped since the last report. Frees space if it can.
 */
enum keep spool_admit(struct spool *s, struct report *r);

/*
 * For a bundle that may turn out impossible to write: spool_counts returns what spool_admit has
 * counted so far, which the caller frees (NULL: no memory), and spool_set_back restores it. What
 * was dropped in between stays dropped, and the next report says so.
 */
struct spool_counts *spool_counts(const struct spool *s);
void spool_set_back(struct spool *s, const struct spool_counts *to);

/* Bytes that may still be written beside the reports, within the limits and the free disk space. */
int64_t spool_room(const struct spool *s);

/*
 * Frees that many bytes if it can, for a disk that is full: drops the oldest cores first, then the
 * oldest collected files, then the oldest bundles.
 */
void spool_make_room(struct spool *s, int64_t bytes);

/*
 * To be called after something was written: drops what exceeds the limits. Calls dropped (or not,
 * if it is NULL) with the path below the spool of each bundle that it removed whole.
 */
void spool_settle(struct spool *s, void (*dropped)(const char *path, void *arg), void *arg);

/* Owned by the spool. */
const struct spool_stats *spool_stats(const struct spool *s);
