/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What afterglow-ship says while it works: JSON lines on stdout for the
 * sidecar, one line that changes on stderr when a person looks on. The last
 * line of stdout is the result; nothing follows it, whoever writes it first.
 */
#ifndef AFTERGLOW_SIDECAR_SHIP_PROGRESS_H
#define AFTERGLOW_SIDECAR_SHIP_PROGRESS_H

#include <stdint.h>

#include "sidecar/ship/fault.h"

struct progress {
	const char *file;
	int64_t sent, total;
	int64_t said_ns;   /* CLOCK_BOOTTIME of the last line */
	int64_t kept;	   /* the most of this file that the store ever had in parts, which another try need not send again */
	bool terminal;
};

void progress_init(struct progress *p);
void progress_begin(struct progress *p, const char *file, int64_t total);
/* So many bytes of the file are there now; may go back when a part has to be sent again. */
void progress_sent(struct progress *p, int64_t sent);
void progress_end(struct progress *p);
/* The store has so many bytes of the file in parts. */
void progress_kept(struct progress *p, int64_t bytes);
/* Called while nothing moves: says now and then the same again, so that who listens does not take us for hung. */
void progress_alive(void *progress);

/* The result line; a second one is not written. */
void progress_shipped(const char *url);
void progress_failed(const struct fault *fault);

#endif
