/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a file without a name of a core that the node agent sends as a stream, so that it can be
 * treated like other cores. A child, afterglow-pack, reads the stream and leaves out what does not
 * fit (sidecar/pack/receive.h).
 */
#pragma once

#include <event2/event.h>
#include <stdint.h>

#include "lib/err.h"

struct core_stream;

/*
 * Called when the stream has ended and was freed. file is open for reading and belongs to the
 * callee, which must not wait for the disk when it closes it. why: NULL, or why the file is of no
 * use. left_out: bytes of the core's memory that are missing because there was no room.
 */
typedef void (*core_stream_done_fn)(int file, int64_t left_out, const char *why, void *arg);

/*
 * Opens a file without a name below directory. Sets how many bytes a core may take there. -ENOSPC:
 * too few for any core. Asks a disk, so it is for errands.
 */
int core_stream_open(const char *directory, uint64_t *ret_room, struct err *err);

/*
 * Starts to read a core into the file, which it takes; on failure the file stays the caller's. The
 * caller keeps pipe_fd and closes it. done is never called from within this call.
 */
int core_stream_start(struct event_base *base, int file, uint64_t room, int pipe_fd,
		      core_stream_done_fn done, void *arg, struct core_stream **ret_stream,
		      struct err *err);
/* Ends the stream without calling done, and returns its file, -1 if s is NULL. */
int core_stream_cancel(struct core_stream *s);
