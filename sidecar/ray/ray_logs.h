/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows Ray's session logs in a container, through the descriptor of its root.
 *
 * Once a second it checks whether /tmp/ray/session_latest/logs is still the same
 * directory, whether the few files of interest are the same, and whether any has grown.
 * That costs about twenty cheap system calls if nothing has changed. It keeps the
 * descriptors of directory and files: they still work after the container's death, even
 * if /tmp/ray is a volume of its own that is unmounted with the container.
 *
 * Rotation (raylet.out renamed to raylet.out.1) and a new session: the old file
 * is read to its end, then the new one from its beginning. A file that has shrunk is
 * read from its beginning. Text from before the first poll is not read. If a file
 * grows faster than it is read, its middle is skipped.
 */
#pragma once

#include <stdint.h>

#include "sidecar/ray/ray_lines.h"

/* Where Ray keeps its sessions, in the container. */
#define RAY_SESSION "tmp/ray/session_latest"

struct ray_logs;

/*
 * root_fd stays the caller's, and must stay open. Returns NULL if there is no memory. It lives as
 * long as its process, the follower of one container.
 */
struct ray_logs *ray_logs_new(int root_fd);

/*
 * Sets the directory that raylet's command line names for its logs (--log_dir=), a path from the
 * container's root. It is used instead of RAY_SESSION from now on; "" restores RAY_SESSION.
 */
void ray_logs_set_dir(struct ray_logs *l, const char *path);

/* file is the name below logs/. The event is valid during the call. */
typedef void (*ray_event_fn)(const struct ray_event *event, const char *file, void *arg);

/*
 * Reads new records, and calls fn for each event. Does nothing within a second after the last time.
 * now_ns: CLOCK_BOOTTIME.
 */
void ray_logs_poll(struct ray_logs *l, int64_t now_ns, ray_event_fn fn, void *arg);

/* To be called when the container is dead: reads everything at once, unfinished records too. */
void ray_logs_finish(struct ray_logs *l, int64_t now_ns, ray_event_fn fn, void *arg);

/* The logs directory of the session, O_PATH; -1 while there is none. Owned by l. */
int ray_logs_dir(const struct ray_logs *l);
