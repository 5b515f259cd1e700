/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles the cores of a container. A child (afterglow-unwind) makes the backtrace of
 * each core for its report; when the report's bundle is committed, another child
 * (afterglow-pack) compresses the core into it. The event loop waits for neither.
 *
 * Life of a crash: crashes_take has its core looked at, and looked() hands it over. unwound() is
 * called once, with or without a backtrace. The container reports it and calls crash_keep with the
 * place of the bundle, or crash_drop if there is none; then the crash frees itself. idle() is
 * called whenever no crash is left.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/strbuf.h"
#include "sidecar/crash/core_stats.h"
#include "sidecar/crash/crash_info.h"
#include "sidecar/crash/taken.h"

#define CRASHES_MAX 8 /* of all containers, at a time; further cores are dropped and counted */
/*
 * Backtraces of all containers that are made at a time; the others wait. Each may take 48 MiB
 * (CONFINE_MEMORY) of the 256 MiB that a sidecar has, and beyond that Kubernetes ends all of its
 * processes (memory.oom.group), again and again, as launchers send their cores anew.
 */
#define UNWINDERS_MAX 2
#define UNREAD_CORES_MAX 8 /* files that wait to be looked at */
/* for a disk that answers; the launcher waits for 2 s after the end of its command */
#define CORE_LOOK_NS ((int64_t)1500 * 1000 * 1000)
#define BACKTRACE_MAX (512 * 1024)

enum cores_mode { CORES_OFF, CORES_SUMMARY, CORES_FULL };

/* Parses "off", "summary" or "full"; false if text is none of these. */
bool cores_mode_parse(const char *text, enum cores_mode *ret_mode);

struct crash;
struct crashes;

struct crashes_callbacks {
	/*
	 * A file that crashes_take got has been looked at. crash: NULL if it is no core, was
	 * processed before, or there are too many; err then has the reason, or code 0. If the
	 * report of a core is in its bundle already, the core is added to that bundle without
	 * another report; crash is NULL then, too.
	 */
	void (*looked)(struct crash *crash, const struct err *err, void *arg);
	/* Closes cores without waiting: the last close of a file that is gone frees its blocks. */
	void (*discard)(const int *fds, size_t n);
	void (*unwound)(struct crash *crash, void *arg);
	/* A core, or a late backtrace, was added to its bundle, or could not be. */
	void (*added)(void *arg);
	/*
	 * That core is not needed any more. known: it is of a crash that the container settled, and
	 * did not say to leave.
	 */
	void (*over)(const struct core_key *key, bool known, void *arg);
	void (*idle)(void *arg);
	/*
	 * Returns how many bytes of a core fit beside the bundles. It is called in an errand,
	 * because it asks the disk.
	 */
	int64_t (*room)(void *arg);
	void *arg;
};

/*
 * root_fd (the container's /, -1: none), taken and stats stay the caller's. Returns NULL if there
 * is no memory.
 */
struct crashes *crashes_new(struct event_base *base, enum cores_mode mode, int root_fd,
			    struct taken *taken, struct core_stats *stats,
			    const struct crashes_callbacks *callbacks);
/*
 * Calls over() for cores that are still being kept, because the launcher is about to end, and only
 * it can remove their files. The cores are read to their end through our descriptors.
 */
void crashes_let_go(const struct crashes *c);
/* Kills the children; what they were writing is not kept. c may be NULL. */
void crashes_free(struct crashes *c);
bool crashes_busy(const struct crashes *c);
/* Whether cores or backtraces are on their way into bundles. */
bool crashes_keeping(const struct crashes *c);

/*
 * What the launcher knows about a core from its file's name; members are 0 or "" if the name does
 * not show them.
 */
struct core_hint {
	pid_t pid, tid;
	int signal;
	const char *comm;
	int64_t left_out; /* bytes of a core from the node agent for which there was no room */
	bool by_node; /* the node agent found the container by the process */
	bool shared; /* other pods may leave cores in its directory, too */
};

/*
 * Takes core_fd, which may be any file; looked() follows, from the event loop. An errand reads its
 * headers, one file at a time: the machine may be too busy, or the filesystem may not answer, which
 * look the same, so each file has a minute. Returns false if too many files wait; core_fd then
 * stays the caller's.
 */
bool crashes_take(struct crashes *c, int core_fd, const struct core_hint *hint);
/* How many files have not been looked at. c may be NULL. */
size_t crashes_unread(const struct crashes *c);
/*
 * The container has ended: from now on a file that does not answer soon is given up, and all that
 * wait behind it. c may be NULL.
 */
void crashes_hurry(struct crashes *c);

/*
 * The oldest crash that is neither kept, dropped nor claimed and for which fits() is true; NULL:
 * none.
 */
struct crash *crashes_find(const struct crashes *c,
			   bool (*fits)(const struct crash *crash, const void *arg),
			   const void *arg);

const struct crash_info *crash_info(const struct crash *crash);
/* When the kernel wrote the core, Unix time in ns. */
int64_t crash_unix_ns(const struct crash *crash);
/* Whether unwound() was called. */
bool crash_is_unwound(const struct crash *crash);
/* The text of the backtrace; "" if there is none. */
const struct strbuf *crash_backtrace(const struct crash *crash);

/* Its report is being written: crashes_find passes over it. */
void crash_claim(struct crash *crash);

/* A pointer for the code that reports the crash; freed with the crash. */
void crash_set_note(struct crash *crash, void *note);
void *crash_note(const struct crash *crash);

/* Leaves the file of the core where it is: over() is not called for it. */
void crash_leave_file(struct crash *crash);

/*
 * To be called when it is certain in which bundle its report will be, before that bundle exists. If
 * this sidecar is killed, the next sidecar looks there to find out whether the crash was reported.
 */
void crash_will_be_in(struct crash *crash, const char *bundle);

/*
 * To be called when its report is committed in the bundle at that path (from the root).
 * with_backtrace: the backtrace is in the bundle already. Adds the core, as far as there is room,
 * and the backtrace if it is missing. May free crash and call idle().
 */
void crash_keep(struct crash *crash, const char *bundle, bool with_backtrace);
/*
 * Drops core and backtrace, for the reason why. With CORE_DROP_NO_CORE over() is not called. May
 * call idle().
 */
void crash_drop(struct crash *crash, enum core_drop why);
