/* SPDX-License-Identifier: Apache-2.0 */
/* Files of /proc/PID, for the launcher, which needs libc alone and allocates nothing. */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "lib/macros.h"

static inline int proc_file_open(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Returns false, and an empty text, if the file cannot be read. */
static inline bool proc_file_read(pid_t pid, const char *name, char *text, size_t size)
{
	_cleanup_close_ int fd = proc_file_open(pid, name);
	ssize_t len = fd < 0 ? -1 : read(fd, text, size - 1);

	text[len < 0 ? 0 : len] = '\0';
	return len >= 0;
}
