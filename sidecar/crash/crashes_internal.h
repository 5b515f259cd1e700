/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internals of crashes.h, for the files of this folder that handle a crash, its backtrace and
 * its core.
 */
#pragma once

#include "lib/budget.h"
#include "lib/loop/background.h"
#include "lib/loop/child.h"
#include "lib/units.h"
#include "sidecar/core/elf_core.h"
#include "sidecar/crash/addition.h"
#include "sidecar/crash/crashes.h"
#include "sidecar/launch/core_pattern.h"

/*
 * The longest wait for an addition to begin. The disk has just accepted the bundle, so only a busy
 * machine needs long.
 */
#define ADD_BEGINS_NS (10 * NS_PER_SEC)
/* to make a file durable: a core of gigabytes on a slow disk */
#define ADD_WITHIN_NS (300 * NS_PER_SEC)

struct crash {
	struct crashes *owner;
	struct crash *next;
	int core_fd;
	struct core_key key;
	struct crash_info info;
	struct strbuf backtrace;
	/* NULL: does not run; opener: opens files for the unwinder */
	struct child *unwinder, *opener, *packer;
	struct event *turn; /* when the unwinder may begin */
	bool unwound, packed, claimed, settled; /* settled: kept or dropped */
	bool backtrace_kept;
	bool announced; /* a previous sidecar has announced its bundle, and has asked for room */
	bool users_own; /* it is no crash, or perhaps another's: its file is left where it is */
	struct addition *core; /* the core, for its bundle */
	struct addition *late; /* a backtrace that comes after the bundle was committed */
	bool adding_late; /* `late` is being begun or committed */
	uint64_t packed_bytes; /* of the core, while it is being committed */
	char *bundle; /* NULL: dropped, or not settled */
	void *note;
};

/* What an errand finds in a core's headers. */
struct core_look {
	struct core_key key;
	struct err err; /* code 0: it is a core; else the reason why it is none */
	struct elf_identity id;
	bool cut, by_debugger;
	/* a sidecar before us noted its bundle, and was killed before it wrote that */
	bool bundle_missing;
	int64_t dump_ns;
};

/* A file that waits to be looked at. */
struct unread_core {
	int fd;
	struct core_hint hint;
	char comm[CORE_COMM_MAX + 1]; /* the text to which hint.comm points */
	int64_t since_ns; /* when the first look began, CLOCK_BOOTTIME; 0: it has not */
};

struct crashes {
	struct event_base *base;
	enum cores_mode mode;
	int root_fd;
	struct taken *taken;
	struct core_stats *stats;
	struct crashes_callbacks callbacks;
	struct crash *list; /* oldest first */
	struct budget paid; /* for crashes */
	struct budget left; /* for cores that are left where they are, for the next sidecar */
	struct budget looks; /* for looks at files that the launcher sends as cores */
	struct unread_core unread[UNREAD_CORES_MAX]; /* oldest first */
	size_t n_unread;
	struct background looking; /* reads what the first of them is */
	struct core_look look; /* what it has found */
	struct event *look_again;
	bool hurries;
};

/* Frees the crash if it is settled and no work on it is under way. */
void crash_free_if_over(struct crash *crash);

/*
 * Starts work->argv[0], a program beside the sidecar, with an empty environment, because ours has
 * credentials. The argument of done is the crash. (crash_child.c)
 */
int crash_start_child(struct crash *crash, struct child_work *work, child_done_fn done,
		      struct child **ret_child, struct err *err);

/*
 * Starts to make the backtrace (crash_backtrace.c), when fewer than UNWINDERS_MAX are being made.
 * When it is made, calls unwound() or completes the late backtrace; never from within this call.
 */
void crash_start_unwinder(struct crash *crash);
void crash_cancel_unwinder(struct crash *crash);
/*
 * Begin and end the addition of a late backtrace. It begins before there is a backtrace, so that
 * the bundle stays in the spool.
 */
void crash_begin_late_backtrace(struct crash *crash);
void crash_end_late_backtrace(struct crash *crash);

/*
 * Begins to compress the core into its bundle (crash_core.c). If that is not possible, this may
 * free the crash.
 */
void crash_begin_core(struct crash *crash);
