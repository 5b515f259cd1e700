/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds a file to a bundle that is committed already (store/extend.h), on behalf of the event loop,
 * which never touches the disk: errands begin, commit and undo the addition. An errand that does
 * not answer in time is left alone, and itself undoes what it began.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/strbuf.h"

struct addition;

/*
 * Says how many bytes a file may have on a filesystem of that size with so many free bytes; 0: not
 * even a small one fits. Called in an errand, so it may ask a disk.
 */
typedef uint64_t (*addition_room_fn)(uint64_t disk_free, uint64_t disk_size, void *arg);

/*
 * err: code 0 if it is done; else the addition is freed and undone. err is valid until the function
 * returns.
 */
typedef void (*addition_done_fn)(const struct err *err, void *arg);

/*
 * Begins an addition. bundle, file: as for extend_begin. room NULL: any file fits. arg is the
 * argument of room and begun. begun is called once, from the event loop, never from within this
 * call, unless the addition is aborted before. Its errors: ETIMEDOUT: the disk does not answer
 * within within_ns. ECHILD: the errand was killed. ENOSPC: room has said 0. This call fails with
 * -EBUSY while an addition with that name is still being undone. base must outlive the addition.
 */
int addition_begin(struct event_base *base, const char *bundle, const char *file,
		   addition_room_fn room, int64_t within_ns, addition_done_fn begun, void *arg,
		   struct addition **ret_addition, struct err *err);

/* Whether one is being begun. A bundle must not leave the spool meanwhile. */
bool addition_is_beginning(void);

/* The descriptor of the file, to be written by a child; it belongs to the addition. */
int addition_fd(const struct addition *a);
/* What room has said. */
uint64_t addition_room(const struct addition *a);

/*
 * Commits the addition. text is written to the file first (NULL: nothing is), and is not needed any
 * more when this returns. sha256: as for extend_commit. done is called once, from the event loop,
 * never from within this call; a is freed before. After within_ns the addition is given up with
 * ETIMEDOUT. EEXIST: the bundle had such a file before. If this call fails, nothing was started,
 * done is not called, and the caller aborts a.
 */
int addition_commit(struct addition *a, const struct strbuf *text, const char *sha256,
		    int64_t within_ns, addition_done_fn done, void *arg, struct err *err);

/*
 * Undoes the addition and frees a; done is not called. An errand removes the file, after those of
 * other additions that are being undone. If it was being committed, the file may be in the bundle.
 * a may be NULL.
 */
void addition_abort(struct addition *a);

/*
 * Sets a function that the event loop calls when an addition has been taken back: until then its
 * bundle could not be shipped. fn NULL: none.
 */
void addition_on_taken_back(void (*fn)(void *arg), void *arg);

/* Whether additions are still being taken back. */
bool addition_is_undoing(void);

/*
 * Before the event loop is freed: waits a moment for what is still to be taken back, and leaves the
 * rest to the next sidecar.
 */
void addition_finish(void);
