/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what afterglow-ship is doing: JSON lines on stdout for the sidecar, and, if stderr is a
 * terminal, a line there that is updated. The last line of stdout is the result. Only one result is
 * printed, even if the main thread and the thread of the deadline both have a result.
 */
#pragma once

#include <stdint.h>

#include "sidecar/ship/fault.h"

struct progress {
	const char *file;
	int64_t sent, total; /* bytes of the file */
	int64_t printed_ns; /* CLOCK_BOOTTIME of the last line */
	/* the most bytes that the store had in parts: another try need not send them */
	int64_t kept;
	bool terminal; /* stderr is a terminal */
};

void progress_init(struct progress *p);
/* Begins a file of total bytes; its name must stay until progress_end. */
void progress_begin(struct progress *p, const char *file, int64_t total);
/*
 * Sets the bytes of the file that were sent so far. The number may decrease, when a part has to be
 * sent again. progress is a struct progress: this is the on_sent of a request.
 */
void progress_sent(void *progress, int64_t sent);
void progress_end(struct progress *p);
/* Notes how many bytes of the file the store has in parts. */
void progress_kept(struct progress *p, int64_t bytes);
/*
 * To be called while no byte moves: prints the last line again every 20 s, so that the sidecar does
 * not take this process for hung. progress is a struct progress.
 */
void progress_alive(void *progress);

/* Print the result, unless a result was printed already. */
void progress_shipped(const char *url);
void progress_failed(const struct fault *fault);
