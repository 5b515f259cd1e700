/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides what is dropped when a spool or a directory store holds too much. Pure: time is an
 * argument.
 *
 * Bundles that are too old are dropped first, then the oldest if there are too many. If the rest
 * still takes too much space, cores are dropped, then collected files, then whole bundles, of each
 * kind the oldest first: a report is small and says the most.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* How much of a bundle is dropped; each value includes those before it. */
enum drop { DROP_NOTHING, DROP_CORE, DROP_FILES, DROP_BUNDLE, DROP_COUNT };

/* The name of d: "nothing", "core", "files" or "bundle". */
const char *drop_name(enum drop d);

/* A bundle. */
struct stored {
	int64_t at_ns; /* Unix time of the death */
	/* bytes on the disk: cores, collected files, the report's files */
	int64_t core, files, report;
	char *path; /* belongs to the inventory */
};

/* The limits; 0: there is no such limit. */
struct quota {
	int64_t bytes; /* of all bundles together */
	int64_t count; /* bundles */
	int64_t age_ns;
};

/*
 * Returns q, without its age limit if the wall clock was set by more than an hour since an earlier
 * moment: then the age of a bundle is not known, and a clock that jumps a year ahead must not empty
 * a store. The offsets are the wall clock minus CLOCK_BOOTTIME, at that moment and now.
 */
struct quota quota_by_clock(const struct quota *q, int64_t offset_then_ns, int64_t offset_now_ns);

/*
 * Decides what of each of the n items is dropped, so that the limits of q hold and to_free bytes
 * are freed. items has the oldest first; ret_drops has room for n values. To free to_free bytes,
 * nothing beyond `worst` is dropped. Returns how many bytes are still to be freed after that,
 * usually 0. now_ns is Unix time.
 */
int64_t quota_plan(const struct stored *items, size_t n, const struct quota *q, int64_t now_ns,
		   int64_t to_free, enum drop worst, enum drop *ret_drops);
