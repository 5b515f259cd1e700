/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens programs and libraries of the container for a process that may open nothing.
 *
 * Theory of operation. In the worst case, a core takes over the process that reads it.
 * So that process cannot open files: it asks another process over a socket, and gets
 * descriptors. The other process reads only a path, opens it inside the container's
 * root, and sends only regular files that begin like ELF files, for reading, in a
 * limited number. So files outside the root cannot be named, and a text file with a
 * password inside the root is refused.
 */
#pragma once

#include <stdbool.h>

#include "lib/err.h"

#define FILES_MAX 640 /* files that one process may get */
#define FILES_PATH_MAX 4096 /* bytes with the final NUL */
#define FILES_SIZE_MAX ((long long)8 << 30) /* of a file */
#define FILES_WAIT_SECONDS 3 /* for an answer: a network filesystem may never give one */

struct files {
	int socket_fd; /* -1: there is no root to look in */
	bool silent; /* an answer did not come, so no more files are asked for */
};

/* To be called before the asking process is confined. The socket stays the caller's. */
int files_begin(struct files *files, int socket_fd, struct err *err);

/* Returns a descriptor for reading, which the caller closes; or -1, and sets why in a few words. */
int files_open(struct files *files, const char *path, const char **ret_why);

/* Answers requests until the other end is gone. */
void files_serve(int root_fd, int socket_fd);

/* Gives up all other rights of this process, then does the same. Returns when the work is done. */
int files_serve_confined(int root_fd, int socket_fd, struct err *err);
