/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves whoever started this process: a pipe that they read to its end, a lock that they wait for and a terminal that they close are of no
 * concern to it any more. Descriptors of theirs are those without FD_CLOEXEC, since all that we open ourselves has it. A fork that forgets its
 * parent's descriptors as well names the one that it keeps. /proc lists those that are open: to try
 * all numbers takes long where system calls are slow, as in gVisor.
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
