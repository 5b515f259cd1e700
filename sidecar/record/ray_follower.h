/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a child process that reads Ray's files in a container: it follows the logs (ray/ray_logs), reads
 * the files of dead workers, reads raylet's command line and finds the tmpfs of the object store.
 * All of these are paths in the container, and any of them may be on a filesystem that never
 * answers: then the child hangs, and the sidecar does not.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/loop/errand.h"
#include "sidecar/ray/ray_lines.h"
#include "sidecar/sample/ray_node.h"

struct ray_follower {
	int root_fd; /* the caller's */
	struct errand child;
	bool asked; /* the child was asked and has not answered yet */
	int64_t asked_ns; /* when it was last asked, 0: never */
	int64_t heard_ns; /* when its last answer was processed, 0: never */
	int logs_fd; /* Ray's logs, O_PATH; -1: none yet. It can still be used when the container is gone */
	int shm_fd; /* the tmpfs at /dev/shm, O_PATH; -1: none */
	struct ray_node node; /* what raylet's command line says */
	/* During a call: */
	void (*on_finding)(const struct ray_finding *finding, void *arg);
	void *arg;
	int64_t now_ns;
};

/* Starts the child. root_fd stays the caller's, and has to be open as long as the follower lives. */
void ray_follower_init(struct ray_follower *f, int root_fd);
void ray_follower_close(struct ray_follower *f);

/*
 * Asks the child for news once a second, and waits for the answer as long as a healthy filesystem
 * may take. A later call takes an answer that comes later. Calls on_finding for each event, with
 * everything set but left_out. raylet: its PID, 0: there is none.
 */
void ray_follower_poll(struct ray_follower *f, pid_t raylet, int64_t now_ns,
			void (*on_finding)(const struct ray_finding *finding, void *arg), void *arg);

/*
 * To be called when the container is dead: reads everything at once, unfinished records too, and
 * waits longer.
 */
void ray_follower_finish(struct ray_follower *f, int64_t now_ns,
			void (*on_finding)(const struct ray_finding *finding, void *arg), void *arg);

/* Whether the filesystem of Ray's logs has not answered for seconds. */
bool ray_follower_hangs(struct ray_follower *f, int64_t now_ns);
