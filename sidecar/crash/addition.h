/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds a file to a bundle that is committed already (store/extend.h), on behalf of the event loop, which never touches the disk:
 * errands begin, commit and undo the addition. An errand that does not answer in time is left alone, and itself undoes what it began.
 */
#pragma once

#include <event2/event.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/strbuf.h"

struct addition;

/*
 * Begins an addition. bundle, file: as for extend_begin. Waits for the disk for at most within_ns, then returns -ETIMEDOUT. -ECHILD:
 * the errand was killed. -EBUSY: the previous errand, for any bundle, has not returned, or an addition with that name is still being
 * undone. base must outlive the addition.
 */
int addition_begin(struct event_base *base, const char *bundle, const char *file, int64_t within_ns, struct addition **ret_addition,
		   struct err *err);

/* The descriptor of the file, to be written by a child; it belongs to the addition. */
int addition_fd(const struct addition *a);
/* The free bytes of the bundle's filesystem when the addition began, and its size; 0: not known. */
uint64_t addition_disk_free(const struct addition *a);
uint64_t addition_disk_size(const struct addition *a);

/* err: code 0 if the file is in the bundle; -EEXIST: the bundle had such a file before. err is valid until the function returns. */
typedef void (*addition_done_fn)(const struct err *err, void *arg);

/*
 * Commits the addition. text is written to the file first (NULL: nothing is), and is not needed any more when this returns. sha256: as
 * for extend_commit. done is called once, from the event loop, never from within this call; a is freed before. After within_ns the
 * addition is given up with ETIMEDOUT. If this call fails, nothing was started, done is not called, and the caller aborts a.
 */
int addition_commit(struct addition *a, const struct strbuf *text, const char *sha256, int64_t within_ns, addition_done_fn done,
		    void *arg, struct err *err);

/*
 * Undoes the addition and frees a; done is not called. Waits a moment for the disk; if that is not enough, or if another addition is
 * being undone, the event loop undoes it later. If it was being committed, the file may be in the bundle. a may be NULL.
 */
void addition_abort(struct addition *a);

/*
 * Sets a function that the event loop calls when it has taken back additions that a disk kept waiting: until then their bundles could
 * not be shipped. fn NULL: none.
 */
void addition_on_taken_back(void (*fn)(void *arg), void *arg);

/* Before the event loop is freed: waits a moment for what is still to be taken back, and leaves the rest to the next sidecar. */
void addition_finish(void);
