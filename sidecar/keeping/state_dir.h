/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory for what must survive this process: histories, the journal, and what is known of
 * crash loops and cores.
 *
 * Theory of operation: the event loop writes to this directory all the time, also by a mapping, and
 * must never wait for a disk. So the directory is in memory (an emptyDir of medium Memory) if the
 * options name such a place; there it survives the process and the container. It would be lost when
 * the node restarts, so a child copies it to the spool's disk every STATE_COPY_S seconds, and a
 * sidecar that finds nothing in memory begins with that copy. If the options name no place in
 * memory, the directory is in the spool.
 */
#pragma once

#include "lib/loop/errand.h"
#include "sidecar/ending/options.h"

#define STATE_COPY_S 30 /* between two copies: a node that fails loses so many seconds */

struct state_dir {
	int fd; /* -1: there is no directory, and nothing survives */
	const char *copy; /* the spool with the copy; NULL: there is no copy */
	struct errand errand; /* makes the copy */
};
#define STATE_DIR_NONE ((struct state_dir){ .fd = -1, .errand = { .fd = -1 } })

/*
 * Opens the directory, and makes it if it does not exist. Returns a negative error, with fd -1, if
 * neither the place in memory nor the spool can be written.
 */
int state_dir_open(struct state_dir *s, const struct record_options *options, struct err *err);
void state_dir_close(struct state_dir *s);

/* Starts a copy. Does nothing if the last copy is still being made, or if there is no copy. */
void state_dir_copy(struct state_dir *s);
