/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Separates this process from the one that started it: from its session and terminal, and from the
 * descriptors that were inherited from it, such as a pipe that somebody reads to its end. These are
 * the ones without FD_CLOEXEC, since all that we open ourselves has it. With KEEP_OWN ours stay
 * open. A fork that needs nothing of its parent gives the one descriptor that stays open.
 *
 * It finds the open descriptors in /proc, because to try all numbers takes long where system calls
 * are slow, as in gVisor.
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define KEEP_OWN (-1)

static inline void leave_session(int keep)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	DIR *all = opendir("/proc/self/fd");

	setsid();
	for (const struct dirent *d; all && (d = readdir(all));) {
		/* "." and ".." are read as 0, which becomes /dev/null in any case. */
		int fd = (int)strtol(d->d_name, NULL, 10), flags = fcntl(fd, F_GETFD);
		bool is_own = fd == null || fd == dirfd(all) || (keep < 0 && flags & FD_CLOEXEC);

		if (fd != keep && !is_own && (fd > STDERR_FILENO || null < 0 || dup2(null, fd) < 0))
			close(fd);
	}
	if (null > STDERR_FILENO)
		close(null);
	if (all)
		closedir(all);
}
