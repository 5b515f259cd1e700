/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps records in a small file of fixed size that survives the death of its writer.
 *
 * Theory of operation: the file is mapped shared and written through the mapping, so
 * that the kernel has each byte at once: a SIGKILL loses only the record that is being
 * written at that moment. The file has a few series, each a ring of slots of the same
 * size. A slot has the number of its record and a checksum over both. A slot that was
 * never or only partly written has a wrong number or checksum, and is skipped. All
 * blocks are allocated beforehand, because a full disk would cause SIGBUS later.
 *
 * Although the file is ours, it is read as if it were not, because it may contain
 * anything after a power cut.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

#define RING_SERIES_MAX 4

/*
 * The layout of a file. version changes when the meaning of the records does; a file with another
 * version is refused.
 */
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

/* Creates a file (-EEXIST if it exists); on failure nothing is left of it. */
int ring_create(struct ring *r, int dirfd, const char *file, const struct ring_layout *layout,
		struct err *err);
/* Creates a ring that is only in the memory of this process. */
int ring_create_anonymous(struct ring *r, const struct ring_layout *layout, struct err *err);
/* Opens an existing file; -EPROTO: it does not have that layout. */
int ring_open(struct ring *r, int dirfd, const char *file, const struct ring_layout *layout,
	      struct err *err);
/* Waits until the disk has what was added, if the disk can do that. */
void ring_sync(const struct ring *r);
/* Closing twice is allowed. The file stays. */
void ring_close(struct ring *r);

void ring_add(struct ring *r, uint32_t series, const void *record);

/* The number of records that can be read. */
size_t ring_count(const struct ring *r, uint32_t series);
/*
 * The i-th of these records, 0 is the oldest; NULL if it is incomplete. Valid until ring_add
 * overwrites it.
 */
const void *ring_at(const struct ring *r, uint32_t series, size_t i);
/* The newest complete record; NULL: there is none. */
const void *ring_newest(const struct ring *r, uint32_t series);
