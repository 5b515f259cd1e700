/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a child process that reads Ray's files in a container: it follows the logs (ray/ray_logs),
 * reads the files of dead workers, reads raylet's command line and finds the tmpfs of the object
 * store. All of these are paths in the container, and any of them may be on a filesystem that never
 * answers: then the child hangs, and the sidecar does not.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/loop/errand.h"
#include "sidecar/ray/ray_lines.h"
#include "sidecar/sample/ray_node.h"

typedef void (*ray_finding_fn)(const struct ray_finding *finding, void *arg);

struct ray_follower {
	int root_fd; /* the caller's */
	struct errand child;
	bool asked; /* the child was asked and has not answered yet */
	bool finishing; /* the last question was asked */
	bool late; /* at the last call, the filesystem of Ray's logs had not answered for seconds */
	int64_t asked_ns; /* when it was last asked, 0: never */
	int64_t heard_ns; /* when its last answer was processed, 0: never */
	/* Ray's logs, O_PATH; -1: none yet. It can still be used when the container is gone */
	int logs_fd;
	int shm_fd; /* the tmpfs at /dev/shm, O_PATH; -1: none */
	struct ray_node node; /* what raylet's command line says */
	ray_finding_fn on_finding;
	void *arg;
	int64_t now_ns; /* during a call */
};

/*
 * Starts the child. root_fd stays the caller's, and has to be open as long as the follower lives.
 * ray_follower_poll and ray_follower_finish call on_finding for each event, with everything set but
 * left_out.
 */
void ray_follower_init(struct ray_follower *f, int root_fd, ray_finding_fn on_finding, void *arg);
void ray_follower_close(struct ray_follower *f);

/*
 * Takes what the child has answered, and asks it for news once a second. raylet: its PID, 0: there
 * is none.
 */
void ray_follower_poll(struct ray_follower *f, pid_t raylet, int64_t now_ns);

/*
 * To be called when the container is dead, and again when child.fd is readable, until it returns
 * true: everything was read, unfinished records too, or there is no child.
 */
bool ray_follower_finish(struct ray_follower *f, int64_t now_ns);
