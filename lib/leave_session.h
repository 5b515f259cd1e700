/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves whoever started this process: a pipe that they read to its end, a lock that they wait for and a terminal that they close are of no
 * concern to it any more. Descriptors of theirs are those without FD_CLOEXEC, since all that we open ourselves has it. A fork that forgets its
 * parent's descriptors as well names the one that it keeps.
 */
#pragma once

#include <fcntl.h>
#include <unistd.h>

#define KEEP_OWN (-1)
#define INHERITED_FDS_MAX 65536 /* further ones stay open */

static inline void leave_session(int keep)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	for (int fd = 0; fd < INHERITED_FDS_MAX; fd++) {
		int flags = fcntl(fd, F_GETFD);

		if (flags >= 0 && fd != null && fd != keep && (keep >= 0 || !(flags & FD_CLOEXEC)) && (fd > STDERR_FILENO || null < 0 || dup2(null, fd) < 0))
			close(fd);
	}
	if (null > STDERR_FILENO)
		close(null);
}
