/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stdout and stderr of a program that must never wait for whoever reads them. While containerd restarts, or a log driver stands
 * still, nobody reads the pipe, and a write sleeps. What the pipe does not take is kept here, up to a bound; beyond it whole
 * texts are dropped, and counted: that is said as soon as somebody reads again.
 */
#ifndef AFTERGLOW_LIB_OUTLET_H
#define AFTERGLOW_LIB_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTLET_KEPT_MAX ((size_t)256 * 1024) /* bytes for each descriptor */

/* From now on writes to fd (1 or 2) never wait. Nobody else may write much to the same pipe. */
void outlet_guard(int fd);

/* Writes text to fd, or keeps it for later where fd is guarded. Where it is not, waits as write does. */
void outlet_write(int fd, const void *text, size_t len);

/* For another thread: writes what goes at once, past all that is kept. */
void outlet_write_apart(int fd, const void *text, size_t len);

/* Writes what is kept, as far as it goes without waiting. Every second or so. */
void outlet_flush(void);

/* Before the end: waits at most that long for what is kept. */
void outlet_finish(int64_t within_ns);

/* In a child: what is kept is the parent's to write. */
void outlet_forget(void);

/* Texts that were dropped so far. */
uint64_t outlet_dropped(void);

#endif
