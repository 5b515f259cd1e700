/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes how much of its objects Ray has spilled to a disk, how fast that grows, and when the
 * disk will be full. Pure.
 *
 * The figure is raylet's own. Every 10 s raylet writes "- num bytes currently spilled: N" into
 * logs/debug_state.txt; deleted objects are not in N. Walking the directory would cost a stat for
 * each object, and would hang when its filesystem does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/units.h"

#define SPILL_EVERY_NS (10 * NS_PER_SEC) /* as often as raylet writes */
#define SPILL_POINTS_MAX 18
/* a disk that will be full within this time is worth a warning, */
#define SPILL_WARN_NS (900 * NS_PER_SEC)
#define SPILL_URGENT_NS (300 * NS_PER_SEC) /* and within this time another */
/* the kubelet evicts by default when less of the node's filesystem is available */
#define SPILL_KUBELET_SHARE 0.1

/*
 * Reads the number of spilled bytes from the text of raylet's state file. Returns false if the text
 * has none.
 */
bool spill_state_parse(const char *text, size_t len, int64_t *ret_bytes);

/* The disk that Ray spills to, and as a rule logs to. */
struct spill_disk {
	int64_t logs; /* bytes of Ray's logs on it */
	int64_t total, available; /* bytes; total 0: not known */
	int64_t limit; /* the container's ephemeral-storage limit, bytes; 0: none, or not known */
};

enum spill_bound {
	SPILL_NO_BOUND, /* nothing is known of the disk */
	SPILL_FILESYSTEM, /* the filesystem, less what the kubelet wants to stay free */
	SPILL_LIMIT, /* the container's ephemeral-storage limit */
};

struct spill_forecast {
	int64_t bytes; /* of objects that are spilled now; -1: not known */
	/*
	 * of objects and logs, bytes a second over the last minutes; 0: no growth, or not watched
	 * for long enough
	 */
	int64_t rate;
	enum spill_bound bound; /* the bound that is met first */
	/* bytes up to it, or less, as others write to the disk too; 0: it is met already */
	int64_t room;
	int64_t left_ns; /* until it is met at that rate; -1: never */
};

#define SPILL_FORECAST_NONE ((struct spill_forecast){ .bytes = -1, .left_ns = -1 })

struct spill_readings {
	struct {
		int64_t at_ns, bytes;
	} points[SPILL_POINTS_MAX]; /* oldest first */
	size_t n;
};

struct spill {
	struct spill_readings objects, logs;
	int warned; /* 0: not yet, 1, 2: urgently */
};

/*
 * Adds a reading of what objects and logs take up, in bytes, later than the last reading. After a
 * drop of one to less than half, its growth is measured anew.
 */
void spill_add(struct spill *s, int64_t at_ns, int64_t objects, int64_t logs);

void spill_forecast(const struct spill *s, const struct spill_disk *disk,
		    struct spill_forecast *ret_forecast);

/*
 * Whether a warning is due: once when less than SPILL_WARN_NS is left, once below SPILL_URGENT_NS.
 * Both can come again after a forecast of more than twice SPILL_WARN_NS.
 */
bool spill_warns(struct spill *s, const struct spill_forecast *f);

/*
 * Writes "12.0 GiB of objects are spilled to /tmp/ray/s, +80.0 MiB/s; at that rate ... in 4 min".
 * where: the directory. Returns text.
 */
const char *spill_describe(const struct spill_forecast *f, const struct spill_disk *disk,
			   const char *where, char *text, size_t size);
