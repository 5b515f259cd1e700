/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child process that reads what Ray keeps in a container: it follows the logs (ray/ray_logs), looks up what a dead worker's
 * own files tell, reads raylet's command line and finds the tmpfs of the object store. All of that are paths in the
 * container, and below any of them may be a filesystem that never answers: then the child hangs, and we do not.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_RAY_FOLLOWER_H
#define AFTERGLOW_SIDECAR_RECORD_RAY_FOLLOWER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/loop/errand.h"
#include "sidecar/ray/ray_lines.h"
#include "sidecar/sample/ray_node.h"

struct ray_follower {
	int root_fd; /* the caller's */
	struct errand child;
	bool asked; /* and not answered */
	int64_t asked_ns; /* the last time, 0: never */
	int64_t heard_ns; /* when what the child said last was dealt with, 0: never */
	int logs_fd; /* Ray's logs, O_PATH; -1: none yet. It stays good when the container is gone */
	int shm_fd; /* the tmpfs at /dev/shm, O_PATH; -1: none */
	struct ray_node node; /* what raylet's command line says */
	/* During a call: */
	void (*said)(const struct ray_said *said, void *arg);
	void *arg;
	int64_t now_ns;
};

/* Starts the child. root_fd stays the caller's, and has to be open as long as the follower lives. */
void ray_follower_init(struct ray_follower *f, int root_fd);
void ray_follower_close(struct ray_follower *f);

/*
 * Asks for what is new, once a second, and waits for the answer so long as a healthy filesystem may take; what comes later is
 * taken at a later call. said is called for each event, with everything set but left_out. raylet: its PID, 0: there is none.
 */
void ray_follower_poll(struct ray_follower *f, pid_t raylet, int64_t now_ns, void (*said)(const struct ray_said *said, void *arg), void *arg);

/* The container is dead: what is there at once, unfinished records too. Waits longer. */
void ray_follower_finish(struct ray_follower *f, int64_t now_ns, void (*said)(const struct ray_said *said, void *arg), void *arg);

/* Whether a filesystem that Ray's logs are on has not answered for seconds. */
bool ray_follower_hangs(struct ray_follower *f, int64_t now_ns);

#endif
