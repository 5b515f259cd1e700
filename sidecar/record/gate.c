/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the descriptors from a launcher's connection before the rest of the sidecar uses them. */
#include "sidecar/record/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sidecar/sample/fuse.h"
#include "sidecar/sample/rootfd.h"

#define KERNFS_HANDLE 0xfe /* FILEID_KERNFS: cgroupfs and sysfs */

/*
 * Returns whether the file is on a cgroup filesystem. Only if its handle is one of kernfs,
 * fstatfs(2) is called, which then needs no server. Linux before 5.5 gives no such handle.
 */
static bool is_on_cgroupfs(int fd, const struct statx *st)
{
	return st->stx_dev_major == 0 && file_handle_type(fd) == KERNFS_HANDLE &&
	       fd_is_on_cgroupfs(fd);
}

bool fd_is_on_cgroupfs(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == CGROUP_SUPER_MAGIC || fs.f_type == CGROUP2_SUPER_MAGIC);
}

static bool has_procfs(int root_fd)
{
	_cleanup_close_ int fd = rootfd_open_no_fuse(root_fd, "proc", O_PATH | O_DIRECTORY, NULL);
	struct statfs fs;

	return fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

bool fd_is_pidfd(int fd)
{
	static const char since_6_9[] = "pidfd:[";
	char path[40], name[64];

	/* Before Linux 5.14 a process that is not dumpable may not read its own fdinfo. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(path, name, sizeof(name) - 1);
	name[n > 0 ? n : 0] = '\0';
	/* The name of a file begins with a slash, also that of a memfd. */
	return strcmp(name, "anon_inode:[pidfd]") == 0 ||
	       strncmp(name, since_6_9, strlen(since_6_9)) == 0;
}

/* Returns whether a directory or regular file was opened in the right mode. */
static bool has_mode(int fd, enum gate_kind kind)
{
	int flags = fcntl(fd, F_GETFL), access = flags & O_ACCMODE;

	if (flags < 0 || !(flags & O_PATH) != (kind != GATE_ROOT && kind != GATE_CGROUP))
		return false;
	if (kind == GATE_TERMINATION_LOG)
		return access != O_RDONLY && !(flags & O_APPEND);
	return kind != GATE_CORE || access != O_WRONLY;
}

int gate_admit(int fd, enum gate_kind kind, struct err *err)
{
	static const char *const names[GATE_KIND_COUNT] = { "root directory", "memory cgroup",
							    "termination log", "pidfd", "core" };
	struct statx st;

	if (kind == GATE_PIDFD)
		return fd_is_pidfd(fd) ? 0 : err_set(err, EPROTO, "a launcher's pidfd is none");
	if (!fuse_look(fd, &st) ||
	    (st.stx_mode & S_IFMT) !=
		    (kind == GATE_ROOT || kind == GATE_CGROUP ? S_IFDIR : S_IFREG))
		return err_set(err, EPROTO, "a launcher's %s is of another kind", names[kind]);
	if (!has_mode(fd, kind))
		return err_set(err, EPROTO, "a launcher's %s is not open for its purpose",
			       names[kind]);
	if (kind == GATE_CGROUP && !is_on_cgroupfs(fd, &st))
		return err_set(err, EPROTO,
			       "a launcher's %s is none, or this kernel is too old to tell",
			       names[kind]);
	if (fuse_is_foreign(fd, &st))
		return err_set(err, EPROTO, "a launcher's %s is on a FUSE server", names[kind]);
	if (kind == GATE_ROOT && !has_procfs(fd))
		return err_set(err, EPROTO, "a launcher's %s has no /proc of the kernel's",
			       names[kind]);
	return 0;
}
