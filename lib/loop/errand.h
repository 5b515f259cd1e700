/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does work that may hang: everything that uses a path inside a container, or writes to a disk.
 *
 * Theory of operation: a dead FUSE or NFS server, a frozen filesystem or a disk that takes seconds
 * for an fsync blocks the process that uses it, and only SIGKILL ends that, if anything does. So
 * the event loop uses none of them. An errand is a fork of this process: it has everything that the
 * process has in memory, does the work, and sends the result over a socket. The event loop gets the
 * messages (lib/loop/background.h). Until an errand has ended, its owner starts no other, so that a
 * dead filesystem costs one process, and not one a second.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

#define ERRAND_MESSAGE_MAX (160 * 1024) /* bytes; a datagram socket takes one a little larger */

struct errand {
	pid_t pid; /* 0: no errand is under way */
	int fd; /* our end, with pid */
	int64_t since_ns; /* when it was started, CLOCK_BOOTTIME */
};
#define ERRAND_NONE ((struct errand){ .fd = -1 })

/*
 * Runs in the child, which ends when it returns. fd: for errand_send. The child has a copy of all
 * memory, and all descriptors except the sockets, so that a connection that we close is really
 * closed.
 */
typedef void (*errand_fn)(int fd, void *arg);

/* Starts an errand. -EBUSY: the previous errand has not ended. */
int errand_start(struct errand *e, errand_fn fn, void *arg, struct err *err);

/*
 * For either side: sends a message, with a descriptor unless pass_fd is -1. Returns false if the
 * other side is gone, or has not read the previous message.
 */
bool errand_send(int fd, const void *data, size_t len, int pass_fd);
/* For the child: waits for the next message. Returns its length; 0 if the parent is gone. */
size_t errand_receive(int fd, void *data, size_t size);

/* Gets a message of the child. Who takes *passed_fd puts -1 there; it is -1 if there is none. */
typedef void (*errand_message_fn)(const void *data, size_t len, int *passed_fd, void *arg);
/* Ignores messages, for errands of which only the end counts. */
void errand_ignore(const void *data, size_t len, int *passed_fd, void *arg);

/* Calls on_message for the messages that have come. Returns whether it has ended. */
bool errand_listen(struct errand *e, errand_message_fn on_message, void *arg);
/*
 * The same until it has ended, for at most within_ns. For use before the event loop begins or after
 * it has ended: it asserts that errand_loop_runs(true) is not the last that was said.
 */
bool errand_wait_outside_loop(struct errand *e, int64_t within_ns, errand_message_fn on_message,
			      void *arg);

/*
 * Call this in the child, before a step that may hang by itself. Makes a fork, in which it
 * returns true: that process does the step, calls errand_tried and goes on as the child. If it does
 * not finish the step in time, returns false in the first process, which goes on without the step
 * and without its effects in memory. Outside of an errand, and if no process can be made, returns
 * true without a fork.
 */
bool errand_try(int64_t within_ns);
void errand_tried(void);

/*
 * These run an errand for a function that fills in a value. errand_ask starts fn(arg, out) in a
 * fork, so that *out stays as it is here; size is the size of *out in both calls. errand_take
 * returns true once, when the value has come, and fills in *out.
 */
typedef void (*errand_fill_fn)(const void *arg, void *out);
int errand_ask(struct errand *e, errand_fill_fn fn, const void *arg, void *out, size_t size,
	       struct err *err);
bool errand_take(struct errand *e, void *out, size_t size);

/* Returns whether an errand is under way. Reaps an errand that has ended. */
bool errand_busy(struct errand *e);

/* Kills it, without waiting: it may not be able to die. */
void errand_cancel(struct errand *e);

/* Says whether callers may be callbacks of an event loop, which must not wait. */
void errand_loop_runs(bool runs);
