/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A core that comes as a stream, from the node, becomes a file without a name, which is what the others are: afterglow-pack, a
 * child, reads the stream and leaves out what does not fit (sidecar/pack/receive.h). An errand asks the disk for room and for the
 * file, for a short time: whatever samples goes on meanwhile, and of a disk that does not answer no core is taken.
 */
#ifndef AFTERGLOW_SIDECAR_CRASH_CORE_STREAM_H
#define AFTERGLOW_SIDECAR_CRASH_CORE_STREAM_H

#include <event2/event.h>

#include "lib/err.h"

struct core_stream;

/*
 * file: open for reading, the callee's; -1: nothing came of it, and why says why. left_out: bytes of the core's memory that are not
 * in the file, for there was no room for them. The stream is freed before.
 */
typedef void (*core_stream_done_fn)(int file, int64_t left_out, const char *why, void *arg);

/* Whether there is room below directory for one more. -ENOSPC; -ETIMEDOUT: the disk does not answer. Nothing is written yet. */
int core_stream_has_room(const char *directory, struct err *err);

/*
 * pipe_fd stays the caller's, who closes it. The file is on the filesystem of directory. done is never called from within.
 * -ETIMEDOUT or -EBUSY: the disk does not answer.
 */
int core_stream_start(struct event_base *base, const char *directory, int pipe_fd, core_stream_done_fn done, void *arg,
		      struct core_stream **ret_stream, struct err *err);
/* Without done. NULL is allowed. */
void core_stream_cancel(struct core_stream *s);

#endif
