/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory for what has to survive this process: histories, the journal, what is known of crash loops and cores.
 *
 * Theory of operation: the event loop writes there all the time, by a mapping too, and must never wait for a disk. So it is in
 * memory (an emptyDir of medium Memory) where the options have such a place: it survives this process and the container. What
 * is in memory is lost when the node starts anew. So a child copies it to the spool's disk now and then, and a process that
 * finds nothing in memory begins with that copy. Without a place in memory it is in the spool itself.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_STATE_DIR_H
#define AFTERGLOW_SIDECAR_RECORD_STATE_DIR_H

#include "lib/loop/errand.h"
#include "sidecar/record/options.h"

#define STATE_COPY_S 30 /* between two copies; what a node that fails loses */

struct state_dir {
	int fd; /* -1: nothing survives */
	const char *copy; /* the spool whose disk has the copy; NULL: there is none */
	struct errand errand; /* busy: that disk does not answer */
};
#define STATE_DIR_NONE ((struct state_dir){ .fd = -1, .errand = { .fd = -1 } })

/* Makes it, or takes what is there. Negative, with fd -1, where neither the spool nor a place in memory can be written. */
int state_dir_open(struct state_dir *s, const struct record_options *options, struct err *err);
void state_dir_close(struct state_dir *s);

/* Starts a copy; nothing while the one before is under way, or where none is wanted. */
void state_dir_copy(struct state_dir *s);

#endif
