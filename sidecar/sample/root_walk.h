/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a file below a container's root one component at a time. This replaces openat2(2) on
 * kernels before 5.6, in sandboxes such as gVisor, and under seccomp profiles that refuse it.
 *
 * Theory of operation. Each component is opened with O_PATH and O_NOFOLLOW below a descriptor that
 * was reached the same way. A symbolic link is read from its descriptor and put in front of the
 * rest of the path; a link that begins with "/" starts at the root again. For ".." the walk goes
 * back to the previous descriptor, without asking the filesystem. So the walk stays below the root
 * even if directories are renamed meanwhile.
 */
#pragma once

#include <stdbool.h>

#define ROOT_WALK_LINKS_MAX 40 /* as in the kernel */
/* directories below each other, each of which holds a descriptor during the walk */
#define ROOT_WALK_DEPTH_MAX 128

/*
 * Returns whether that root is also ours, as where exec runs a command on a machine. Then other
 * users of the machine may have made links in directories such as /tmp, which lead to files that we
 * may read and they may not. So links are followed only if root or our own user made them, as the
 * kernel does where fs.protected_symlinks is 1; the others fail with -EACCES.
 */
bool root_walk_is_own(int root_fd);

/*
 * Opens path; flags as in open(2). Follows at most links_max symbolic links, and none on procfs,
 * because most of those are magic; otherwise -ELOOP. With no_fuse, a path that leads onto a FUSE
 * server is refused with -EREMOTE before that server is asked. The caller closes the result; a
 * negative errno on failure.
 */
int root_walk_open(int root_fd, const char *path, int flags, unsigned int links_max, bool no_fuse);
