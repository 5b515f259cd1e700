/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a file below a container's root one component at a time: what openat2(2) does in the kernel, for kernels before 5.6,
 * sandboxes such as gVisor, and seccomp profiles that refuse it.
 *
 * Theory of operation. Each component is opened with O_PATH and O_NOFOLLOW below a descriptor that was reached the same way. A
 * symbolic link is read from its descriptor and put in front of what is left of the path; one that begins with "/" starts at
 * the root again. ".." goes back to the descriptor that we came from, and is never asked of the file system: so whatever is
 * renamed meanwhile, the walk stays below the root.
 */
#ifndef AFTERGLOW_SIDECAR_SAMPLE_ROOT_WALK_H
#define AFTERGLOW_SIDECAR_SAMPLE_ROOT_WALK_H

#define ROOT_WALK_LINKS_MAX 40 /* as in the kernel */
#define ROOT_WALK_DEPTH_MAX 128 /* directories below each other, each of which holds a descriptor during the walk */

/*
 * flags as in open(2). At most links_max symbolic links are followed. Links on procfs are not, as most are magic: -ELOOP. The
 * caller closes the result; a negative errno on failure.
 */
int root_walk_open(int root_fd, const char *path, int flags, unsigned int links_max);

#endif
