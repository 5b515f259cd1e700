/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows Ray's session logs in a container, through the descriptor of its root.
 *
 * Once a second: is /tmp/ray/session_latest/logs still the same directory, are
 * the few files of interest still the same files, has any grown? That costs
 * about twenty cheap system calls when nothing has changed. The descriptors of
 * directory and files are kept: they go on working after the container's death,
 * even where /tmp/ray is a volume of its own, whose mount dies with the container.
 *
 * Rotation (raylet.out renamed to raylet.out.1) and a new session: the old file
 * is read to its end, then the new one from its beginning. A file that has
 * shrunk is read anew. What was there before the first poll is history and not
 * read. A file that grows faster than it is read loses its middle.
 */
#ifndef AFTERGLOW_SIDECAR_RAY_RAY_LOGS_H
#define AFTERGLOW_SIDECAR_RAY_RAY_LOGS_H

#include <stdint.h>

#include "sidecar/ray/ray_lines.h"

/* Where Ray keeps its sessions, in the container. */
#define RAY_SESSION "tmp/ray/session_latest"

struct ray_logs;

/* root_fd stays the caller's and open as long as this lives. NULL: no memory. */
struct ray_logs *ray_logs_new(int root_fd);
void ray_logs_free(struct ray_logs *l);

/*
 * Where raylet says that its logs are (--log_dir=): a path from the container's
 * root. Preferred to RAY_SESSION from now on; "" forgets it.
 */
void ray_logs_set_dir(struct ray_logs *l, const char *path);

/* file is the name below logs/. The event is valid during the call. */
typedef void (*ray_event_fn)(const struct ray_event *event, const char *file, void *arg);

/* Does nothing within a second after the last time. now_ns: CLOCK_BOOTTIME. */
void ray_logs_poll(struct ray_logs *l, int64_t now_ns, ray_event_fn fn, void *arg);

/* Reads what is there at once, unfinished records too: the container is dead. */
void ray_logs_finish(struct ray_logs *l, int64_t now_ns, ray_event_fn fn, void *arg);

/* The logs directory of the session, O_PATH; -1 while there is none. Owned by l. */
int ray_logs_dir(const struct ray_logs *l);

#endif
