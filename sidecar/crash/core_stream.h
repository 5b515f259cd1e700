/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a file without a name of a core that the node agent sends as a stream, so that it can be
 * treated like other cores. A child, afterglow-pack, reads the stream and leaves out what does not
 * fit (sidecar/pack/receive.h). An errand asks the disk for room and for the file, for a short
 * time: sampling goes on meanwhile, and if the disk does not answer, the core is not taken.
 */
#pragma once

#include <event2/event.h>

#include "lib/err.h"

struct core_stream;

/*
 * Called when the stream has ended and was freed. file is open for reading and belongs to the callee; -1: there is no file, and `why`
 * gives the reason. left_out: bytes of the core's memory that are missing in the file because there was no room.
 */
typedef void (*core_stream_done_fn)(int file, int64_t left_out, const char *why, void *arg);

/*
 * Whether there is room below directory for another core: 0, -ENOSPC, or -ETIMEDOUT: the disk does
 * not answer. Writes nothing.
 */
int core_stream_has_room(const char *directory, struct err *err);

/*
 * Starts to read. The caller keeps pipe_fd and closes it. The file is on the filesystem of
 * directory. done is never called from within this call. -ETIMEDOUT or -EBUSY: the disk does not
 * answer.
 */
int core_stream_start(struct event_base *base, const char *directory, int pipe_fd, core_stream_done_fn done, void *arg,
		      struct core_stream **ret_stream, struct err *err);
/* Ends the stream without calling done. s may be NULL. */
void core_stream_cancel(struct core_stream *s);
