/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files of a container through an O_PATH descriptor of its root directory. */
#include "sidecar/sample/rootfd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "sidecar/sample/root_walk.h"

static int open_by_kernel(int root_fd, const char *path, int flags, unsigned long long resolve)
{
	struct open_how how = {
		/* openat2 refuses flags that O_PATH would ignore. */
		.flags = (unsigned long long)(flags | O_CLOEXEC |
					      (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY)),
		.resolve = resolve,
	};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/*
 * Returns whether the path has to be walked: the kernel has no openat2(2), or a seccomp profile
 * refuses it, or it failed with EAGAIN because something on the machine was renamed while it
 * resolved a "..".
 */
static bool must_walk(int code)
{
	return code == -ENOSYS || code == -EPERM || code == -EAGAIN;
}

/* The kernel does not tell who made a link, so in our own root it follows none (root_walk.h). */
static int open_in_root(int root_fd, const char *path, int flags, unsigned long long resolve)
{
	resolve |= RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
	int fd = open_by_kernel(root_fd, path, flags, resolve | RESOLVE_NO_SYMLINKS);
	return fd == -ELOOP && !root_walk_is_own(root_fd) ?
		       open_by_kernel(root_fd, path, flags, resolve) :
		       fd;
}

int rootfd_open(int root_fd, const char *path, int flags, struct err *err)
{
	int fd = open_in_root(root_fd, path, flags, 0);

	if (fd == -ELOOP || must_walk(fd))
		fd = root_walk_open(root_fd, path, flags, ROOT_WALK_LINKS_MAX, false);
	if (fd < 0)
		return err_set(err, -fd, "open %.200s in the container", path);
	return fd;
}

int rootfd_open_no_links(int dir_fd, const char *path, int flags)
{
	int fd = open_by_kernel(dir_fd, path, flags,
				RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);

	return must_walk(fd) ? root_walk_open(dir_fd, path, flags, 0, false) : fd;
}

/*
 * Within its own mount, a descriptor that is not on FUSE leads to nothing on FUSE. Where another
 * mount begins, the walk looks at it first.
 */
int rootfd_open_no_fuse(int root_fd, const char *path, int flags, struct err *err)
{
	int fd = open_in_root(root_fd, path, flags, RESOLVE_NO_XDEV);

	if (fd == -EXDEV || fd == -ELOOP || must_walk(fd))
		fd = root_walk_open(root_fd, path, flags, ROOT_WALK_LINKS_MAX, true);
	if (fd == -EREMOTE)
		return err_set(err, EREMOTE, "%.200s in the container leads to a FUSE server",
			       path);
	if (fd < 0)
		return err_set(err, -fd, "open %.200s in the container", path);
	return fd;
}

/* Takes fd. */
static int read_regular(int fd, const char *path, struct strbuf *out, struct err *err)
{
	_cleanup_close_ int closing = fd;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "stat %.200s in the container", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, EINVAL, "%.200s in the container is not a regular file", path);
	if (fd_read_all(fd, out, err) < 0)
		return err_wrap(err, "%.200s in the container", path);
	return 0;
}

int rootfd_read(int root_fd, const char *path, struct strbuf *out, struct err *err)
{
	return read_regular(rootfd_open(root_fd, path, O_RDONLY, err), path, out, err);
}

int rootfd_read_no_fuse(int root_fd, const char *path, struct strbuf *out, struct err *err)
{
	return read_regular(rootfd_open_no_fuse(root_fd, path, O_RDONLY, err), path, out, err);
}
