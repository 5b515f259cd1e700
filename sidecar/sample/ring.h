/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small file of fixed size that survives the death of its writer.
 *
 * Theory of operation: the file is mapped shared and written through the
 * mapping, so that what was stored is the kernel's at once: a SIGKILL loses
 * nothing but the record being written at that instant. It holds a few series,
 * each a ring of slots of one size. A slot carries the number of its record and
 * a checksum over both; a slot that was being written, or was never, does not
 * have the number it should have or fails the checksum, and is passed over.
 * All blocks are allocated beforehand, for a full disk would be SIGBUS later.
 *
 * The file is ours and still read as if it were not: after a power cut it may
 * hold anything.
 */
#ifndef AFTERGLOW_SIDECAR_SAMPLE_RING_H
#define AFTERGLOW_SIDECAR_SAMPLE_RING_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

#define RING_SERIES_MAX 4

/* What a file holds. version: of the meaning of the records; another one is refused. */
struct ring_layout {
	uint32_t version;
	uint32_t n_series;
	struct {
		uint32_t slots, size; /* size: bytes of one record */
	} series[RING_SERIES_MAX];
};

struct ring {
	struct ring_layout layout;
	unsigned char *map; /* NULL: closed */
	size_t len;
	uint64_t written[RING_SERIES_MAX]; /* records so far: the number of the newest */
};

/* Makes a file that did not exist (-EEXIST); on failure nothing is left of it. */
int ring_create(struct ring *r, int dirfd, const char *file, const struct ring_layout *layout, struct err *err);
/* The same in memory of this process only. */
int ring_create_anonymous(struct ring *r, const struct ring_layout *layout, struct err *err);
/* Goes on with one; -EPROTO when it is not what the layout says. */
int ring_open(struct ring *r, int dirfd, const char *file, const struct ring_layout *layout, struct err *err);
/* Closing twice is allowed. The file stays. */
void ring_close(struct ring *r);

void ring_add(struct ring *r, uint32_t series, const void *record);

/* How many records back one can ask for. */
size_t ring_count(const struct ring *r, uint32_t series);
/* The i-th of them, 0 the oldest; NULL if it is torn. Valid until ring_add overwrites it. */
const void *ring_at(const struct ring *r, uint32_t series, size_t i);
/* The newest one that is whole, NULL without any. */
const void *ring_newest(const struct ring *r, uint32_t series);

#endif
