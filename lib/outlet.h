/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stdout and stderr of a program that must never wait for their reader. While containerd restarts,
 * or a log driver hangs, nothing reads the pipe, and a write to it sleeps. So the outlet keeps what
 * the pipe does not take, up to a bound. Beyond it, whole texts are dropped and counted; their
 * number is printed as soon as the pipe is read again.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define OUTLET_KEPT_MAX ((size_t)256 * 1024) /* bytes for each descriptor */

/*
 * From now on writes to fd (1 or 2) never wait. No other process may write much to the same pipe.
 */
void outlet_guard(int fd);

/*
 * Writes text to fd. If fd is guarded, keeps what the pipe does not take; otherwise waits as
 * write(2) does.
 */
void outlet_write(int fd, const void *text, size_t len);

/*
 * Writes as much as the pipe takes at once, before the texts that are kept. Returns how much that
 * was. Another thread may call it.
 */
size_t outlet_write_ready(int fd, const char *text, size_t len);

/*
 * Call this about every second: writes the texts that are kept, as far as the pipe takes them
 * without waiting.
 */
void outlet_flush(void);

/*
 * Call this before the program ends: writes the texts that are kept, and waits for that at most
 * within_ns.
 */
void outlet_finish(int64_t within_ns);

/*
 * Call this in a child after fork: forgets the texts that are kept, because the parent writes
 * them.
 */
void outlet_forget(void);

/* Returns the number of texts that were dropped so far. */
uint64_t outlet_dropped(void);
