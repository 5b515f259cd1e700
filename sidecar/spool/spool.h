/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spool: where bundles are written first, and stay until they are shipped or
 * have to go. It says before each bundle how much of it is kept (a crash in a loop,
 * a disk that is nearly full), and keeps itself within its bounds after each. What
 * had to go is counted, and said in the next report.
 */
#ifndef AFTERGLOW_SIDECAR_SPOOL_SPOOL_H
#define AFTERGLOW_SIDECAR_SPOOL_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/report/report.h"
#include "sidecar/spool/crash_loop.h"
#include "sidecar/spool/inventory.h"

#define SPOOL_BYTES_DEFAULT ((int64_t)768 << 20) /* of an emptyDir of 1 GiB, beyond which the kubelet evicts */
#define SPOOL_COUNT_DEFAULT 200
#define SPOOL_BUNDLES_MAX 4096 /* looked at at a time */
#define SPOOL_FREE_MIN ((int64_t)64 << 20) /* left to others on its file system */
#define SPOOL_FALLBACK_BYTES ((int64_t)24 << 20) /* of an emptyDir in memory of 32 MiB */

struct spool_limits {
	struct quota quota;
	unsigned int full_per_loop; /* whole bundles of one crash in a loop, 0: all */
	bool own_disk; /* its file system is for nothing else: none of it is left to others */
	bool final; /* it is the store itself: nothing is dropped, everything is kept whole as long as it fits */
};

struct spool_stats {
	int64_t bytes, bundles; /* as of the last look */
	uint64_t dropped[DROP_COUNT]; /* DROP_CORE, ..: bundles that lost it; by this sidecar */
	uint64_t counted; /* crashes in a loop of which nothing but the number is kept */
};

struct spool;

/*
 * path: the directory, which may not be there yet. state_fd: a directory for what has to survive the sidecar, -1: none; not
 * owned. NULL only without memory. It is shared with forks of this process, one of which may use it at a time.
 */
struct spool *spool_new(const char *path, const struct spool_limits *limits, int state_fd);
void spool_free(struct spool *s);

/*
 * How much is kept of the failure of r, and what r has to say of that: fills r->keeping, with what was
 * dropped since the last report. Makes room where it can.
 */
enum keep spool_admit(struct spool *s, struct report *r);

/*
 * For a try that may come to nothing: what spool_admit has counted so far, to be freed, NULL without memory; and back to that.
 * What was dropped since then is still dropped, and said in the next report.
 */
struct spool_counts *spool_counts(const struct spool *s);
void spool_set_back(struct spool *s, const struct spool_counts *to);

/* Bytes that may still be written, by the bounds and by what the disk has; for what a bundle holds beside its report. */
int64_t spool_room(const struct spool *s);

/* The disk is full: frees that much if it can, the oldest cores and logs first, then the oldest bundles. */
void spool_make_room(struct spool *s, int64_t bytes);

/* After something was written: looks at all of it, and drops what is too much. dropped is called for each bundle that is gone. */
void spool_settle(struct spool *s, void (*dropped)(const char *path, void *arg), void *arg);

const struct spool_stats *spool_stats(const struct spool *s);

#endif
