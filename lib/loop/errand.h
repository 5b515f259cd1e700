/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that may hang: whatever has a path inside a container, or writes to a disk.
 *
 * Theory of operation: a dead FUSE or NFS server, a frozen filesystem or a disk that takes seconds for an fsync holds the
 * process that touches it, and nothing but SIGKILL ends that, often not even that. So the event loop touches none of them.
 * An errand is a fork of this process: it sees all that the process has seen so far, does the work, and sends what came of it
 * over a socket. We wait for it, but no longer than the caller allows, and take the samples that fall due meanwhile (the pump).
 * An errand that is not back by then is left behind. Until it has ended, its owner starts no other one: one dead
 * filesystem costs one process, not one a second.
 */
#ifndef AFTERGLOW_LIB_LOOP_ERRAND_H
#define AFTERGLOW_LIB_LOOP_ERRAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

#define ERRAND_MESSAGE_MAX (160 * 1024) /* bytes; a datagram socket takes one a little larger */

struct errand {
	pid_t pid; /* 0: none is under way */
	int fd; /* our end, with pid */
	int64_t since_ns; /* when it was started, CLOCK_BOOTTIME */
};
#define ERRAND_NONE ((struct errand){ .fd = -1 })

/*
 * In the child. fd: for errand_send. The child ends when it returns. It has a copy of all memory, and all descriptors but
 * the sockets: a connection that we close has to be closed.
 */
typedef void (*errand_fn)(int fd, void *arg);

/* -EBUSY: the one before has not ended. */
int errand_start(struct errand *e, errand_fn fn, void *arg, struct err *err);

/* Either side: one message, with a descriptor unless pass_fd is -1. False: the other side is gone, or has not read the last. */
bool errand_send(int fd, const void *data, size_t len, int pass_fd);
/* In the child: the next message; blocks. Its length, 0: the parent is gone. */
size_t errand_receive(int fd, void *data, size_t size);

/* A message of the child. Takes passed_fd, -1: there is none. True: that is what was waited for. */
typedef bool (*errand_message_fn)(const void *data, size_t len, int passed_fd, void *arg);

enum errand_state {
	ERRAND_ENDED, /* and nothing more will come */
	ERRAND_ANSWERED, /* on_message returned true */
	ERRAND_LATE, /* neither so far */
};
/* Hands its messages to on_message, for at most within_ns. 0: only what has come already. */
enum errand_state errand_wait(struct errand *e, int64_t within_ns, errand_message_fn on_message, void *arg);

/*
 * In the child, before a step that may hang alone: true in a fork, which does the step, calls errand_tried and goes on as the
 * child. False where the step has to be left out, for that fork did not come through it in time; then this process goes on, and
 * of what the step did in memory there is nothing. Outside of an errand, and where there can be no more processes, true, without
 * a fork.
 */
bool errand_try(int64_t within_ns);
void errand_tried(void);

/*
 * All of that for a function that fills a value: starts fn(arg, out), waits, copies the size bytes of out. False, and *out is
 * as it was: it did not come back in time, or the one before has not.
 */
typedef void (*errand_fill_fn)(const void *arg, void *out);
bool errand_call(struct errand *e, errand_fill_fn fn, const void *arg, void *out, size_t size, int64_t within_ns);

/* Whether one is under way. Takes note of one that has ended. */
bool errand_busy(struct errand *e);

/* Kills it, without waiting: it may not be able to die. */
void errand_cancel(struct errand *e);

/* For how long the one under way has been at it, 0: there is none. */
int64_t errand_age_ns(struct errand *e, int64_t now_ns);

/*
 * What goes on while we wait: fn does what is due at now_ns (CLOCK_BOOTTIME) and returns in how many ns it wants to be called
 * again. It may start errands, but in it errand_wait does not wait. NULL: nothing does.
 */
void errand_set_pump(int64_t (*fn)(int64_t now_ns, void *arg), void *arg);

#endif
