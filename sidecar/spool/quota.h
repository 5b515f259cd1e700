/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has to go when a spool or a directory store holds too much. Pure. First
 * what is too old, then the oldest of too many; then for space the oldest core,
 * then the oldest of what was collected, whole bundles last: a report is small
 * and says the most.
 */
#ifndef AFTERGLOW_SIDECAR_SPOOL_QUOTA_H
#define AFTERGLOW_SIDECAR_SPOOL_QUOTA_H

#include <stddef.h>
#include <stdint.h>

/* In the order in which they go; a later one includes those before it. */
enum drop { DROP_NOTHING, DROP_CORE, DROP_FILES, DROP_BUNDLE, DROP_COUNT };

/* "core", "files", "bundle" */
const char *drop_name(enum drop d);

struct stored {
	int64_t at_ns; /* Unix time of the death */
	int64_t core, files, report; /* bytes on the disk */
};

/* 0: no such bound. */
struct quota {
	int64_t bytes;
	int64_t count;
	int64_t age_ns;
};

/*
 * Without the age when the wall clock was set by more than an hour since some moment: then nobody knows how old anything is, and
 * a clock that jumps a year ahead must not empty a store. Both: wall clock less CLOCK_BOOTTIME, then and now.
 */
struct quota quota_by_clock(const struct quota *q, int64_t offset_then_ns, int64_t offset_now_ns);

/*
 * What of each item, oldest first in items, is dropped so that q holds and to_free bytes are freed; for to_free nothing
 * beyond `worst` is dropped. Returns the bytes of both that are still lacking then, 0 in general.
 */
int64_t quota_plan(const struct stored *items, size_t n, const struct quota *q, int64_t now_ns, int64_t to_free,
		   enum drop worst, enum drop *ret_drops);

#endif
