/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file more for a bundle that is committed already (store/extend.h), for the event loop, which never touches the disk: errands
 * begin, commit and take back. One that does not answer in time is left behind, and what it began it takes back itself.
 */
#ifndef AFTERGLOW_SIDECAR_CRASH_ADDITION_H
#define AFTERGLOW_SIDECAR_CRASH_ADDITION_H

#include <event2/event.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/strbuf.h"

struct addition;

/*
 * bundle, file: as for extend_begin. Waits for the disk, for at most within_ns: -ETIMEDOUT; -ECHILD: the process that does it was killed; -EBUSY: the one before, of whichever
 * bundle, has not come back.
 */
int addition_begin(const char *bundle, const char *file, int64_t within_ns, struct addition **ret_addition, struct err *err);

/* For a child to fill; belongs to the addition. */
int addition_fd(const struct addition *a);
/* Bytes that the bundle's filesystem had free, and all that it has; 0: it does not say. */
uint64_t addition_disk_free(const struct addition *a);
uint64_t addition_disk_size(const struct addition *a);

/* err: code 0 when the file is in the bundle; -EEXIST: the bundle had one before. Valid until it returns. */
typedef void (*addition_done_fn)(const struct err *err, void *arg);

/*
 * text is written to it first, NULL: nothing; it is not needed any more when this returns. sha256: as for extend_commit. done is
 * called once, from the event loop, never from within this call; a is freed before it. After within_ns (CLOCK_BOOTTIME) it is given up
 * with ETIMEDOUT. On failure nothing was started, done is not called, and a is the caller's to abort.
 */
int addition_commit(struct addition *a, struct event_base *base, const struct strbuf *text, const char *sha256, int64_t within_ns,
		    addition_done_fn done, void *arg, struct err *err);

/* Takes it back, and frees a; done is not called. Where it was being committed, the file may be in the bundle. NULL is allowed. */
void addition_abort(struct addition *a);

#endif
