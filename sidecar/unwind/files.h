/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs and libraries of the container, for a process that may open nothing.
 *
 * Theory of operation. Whoever reads a core is taken over by it in the worst
 * case. So it cannot open files: it asks another process, over a socket, and gets
 * descriptors. The other one reads nothing but a path, opens it inside the
 * container's root, and hands out regular files that begin as ELF files do, for
 * reading, and only so many. What lies outside the root has no name here, and a
 * text with a password inside the root is no program.
 */
#ifndef AFTERGLOW_SIDECAR_UNWIND_FILES_H
#define AFTERGLOW_SIDECAR_UNWIND_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

#define FILES_MAX 640 /* handed out to one asker */
#define FILES_PATH_MAX 4096 /* bytes with the final NUL */
#define FILES_SIZE_MAX ((long long)8 << 30) /* of a file */
#define FILES_WAIT_SECONDS 3 /* for an answer: a network filesystem may never give one */

struct files {
	int socket_fd; /* -1: there is no root to look in */
	bool silent; /* an answer did not come: nothing more is asked for */
};

/* Before the asker is confined. The socket stays the caller's. */
int files_begin(struct files *files, int socket_fd, struct err *err);

/* A descriptor for reading, which the caller closes; -1, and why in a few words. */
int files_open(struct files *files, const char *path, const char **ret_why);

/* Answers until the other end is gone. */
void files_serve(int root_fd, int socket_fd);

/* The same, after this process has given up everything else. Returns when the work is done. */
int files_serve_confined(int root_fd, int socket_fd, struct err *err);

#endif
