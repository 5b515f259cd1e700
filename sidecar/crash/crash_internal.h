/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internals of crashes.h, for the files of this folder that handle a crash, its backtrace and
 * its core.
 */
#ifndef AFTERGLOW_SIDECAR_CRASH_CRASH_INTERNAL_H
#define AFTERGLOW_SIDECAR_CRASH_CRASH_INTERNAL_H

#include "lib/loop/child.h"
#include "lib/loop/errand.h"
#include "lib/units.h"
#include "sidecar/crash/addition.h"
#include "sidecar/crash/crashes.h"

/*
 * To begin. The disk has just taken the bundle, so this is for a busy machine: samples go on, and
 * the launcher waits for two seconds at most, however long we do.
 */
#define ADD_BEGINS_NS (10 * NS_PER_SEC)
#define ADD_WITHIN_NS (300 * NS_PER_SEC) /* to make a file durable: a core of gigabytes on a slow disk */

struct crash {
	struct crashes *owner;
	struct crash *next;
	int core_fd;
	struct core_key key;
	struct crash_info info;
	struct strbuf backtrace;
	struct child *unwinder, *opener, *packer; /* NULL: does not run; opener: opens files for the unwinder */
	struct event *without_unwinder; /* when it could not be started; NULL: it could */
	bool unwound, packed, settled; /* settled: kept or dropped */
	bool backtrace_kept;
	struct addition *core; /* the core, for its bundle */
	struct addition *late; /* a backtrace that comes when the bundle is committed */
	bool adding_late; /* that is being committed */
	uint64_t packed_bytes; /* of the core, while it is being committed */
	char *bundle; /* NULL: dropped, or not settled */
	void *note;
};

struct crashes {
	struct event_base *base;
	enum cores_mode mode;
	int root_fd;
	struct taken *taken;
	struct core_stats *stats;
	struct crashes_callbacks callbacks;
	struct crash *list; /* oldest first */
	/* Each crash advances it by SPACING_NS; it may be at most BURST of them ahead of now. */
	int64_t paid_until_ns;
	int64_t left_until_ns; /* the same for those that are left where they are */
	int64_t looks_until_ns; /* the same for looks at what is handed over */
	struct errand looking; /* reads what a core is */
};

/* Frees it when it is settled and no work on it is under way. */
void crash_free_if_over(struct crash *crash);

/*
 * Starts work->argv[0], which is installed beside us, with an empty environment: ours has credentials. done's argument is
 * the crash. (crash_child.c)
 */
int crash_start_child(struct crash *crash, struct child_work *work, child_done_fn done, struct child **ret_child, struct err *err);

/* The backtrace (crash_backtrace.c). Its end calls unwound(), or completes the late one; never from within the start. */
void crash_start_unwinder(struct crash *crash);
/* Begun before there is one: as long as it is on its way, the bundle stays where it is. */
void crash_begin_late_backtrace(struct crash *crash);
void crash_end_late_backtrace(struct crash *crash);

/* The core (crash_core.c): into its bundle, of at most spool_room bytes. -ENOSPC: not even a small one fits. */
int crash_start_packer(struct crash *crash, int64_t spool_room, struct err *err);

#endif
