/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a file below a container's root one component at a time. */
#include "sidecar/sample/root_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/macros.h"
#include "sidecar/sample/fuse.h"

struct walk {
	int root_fd;
	int fds[ROOT_WALK_DEPTH_MAX]; /* the directories from the root to the current one */
	size_t n;
	unsigned int links_left;
	bool no_fuse;
	unsigned int major, minor; /* with no_fuse: a device that is not a FUSE server */
	char rest[PATH_MAX]; /* the rest of the path */
};

static int root_walk_here(const struct walk *w)
{
	return w->n ? w->fds[w->n - 1] : w->root_fd;
}

static void root_walk_go_up(struct walk *w)
{
	if (w->n)
		close(w->fds[--w->n]);
}

static void go_to_root(struct walk *w)
{
	while (w->n)
		root_walk_go_up(w);
}

static int go_down(struct walk *w, int fd)
{
	if (w->n == ROOT_WALK_DEPTH_MAX)
		return -ENAMETOOLONG;
	w->fds[w->n++] = fd;
	return 0;
}

/* On procfs most links do not lead to the target that they show. */
static bool is_on_procfs(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC;
}

/* No server is asked, because the root may be on one. */
bool root_walk_is_own(int root_fd)
{
	struct statx a, b;

	return statx(root_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &a) == 0 &&
	       statx(AT_FDCWD, "/", AT_STATX_DONT_SYNC, STATX_INO, &b) == 0 &&
	       a.stx_ino == b.stx_ino && a.stx_dev_major == b.stx_dev_major &&
	       a.stx_dev_minor == b.stx_dev_minor;
}

static bool is_by_stranger(int link_fd)
{
	struct stat st;

	return fstat(link_fd, &st) < 0 || (st.st_uid != 0 && st.st_uid != geteuid());
}

/* Puts the link's target in front of the rest of the path. */
static int root_walk_follow(struct walk *w, int link_fd)
{
	char path[PATH_MAX];

	if (w->links_left == 0 || is_on_procfs(link_fd))
		return -ELOOP;
	if (root_walk_is_own(w->root_fd) && is_by_stranger(link_fd))
		return -EACCES;
	w->links_left--;
	ssize_t len = readlinkat(link_fd, "", path, sizeof(path) - 1);
	if (len <= 0)
		return len < 0 ? -errno : -ENOENT;
	if (path[0] == '/')
		go_to_root(w);
	int whole = snprintf(path + len, sizeof(path) - (size_t)len, "/%s", w->rest);
	if (whole < 0 || (size_t)(len + whole) >= sizeof(path))
		return -ENAMETOOLONG;
	/* "link" and "link/" differ, so no slash is added if nothing follows. */
	if (!w->rest[0])
		path[len] = '\0';
	memcpy(w->rest, path, strlen(path) + 1);
	return 0;
}

/* Takes the next component off the path, "" if there is none. Returns false if it is too long. */
static bool take_component(struct walk *w, char name[static NAME_MAX + 1])
{
	size_t skip = strspn(w->rest, "/"), len = strcspn(w->rest + skip, "/");

	if (len > NAME_MAX)
		return false;
	memcpy(name, w->rest + skip, len);
	name[len] = '\0';
	memmove(w->rest, w->rest + skip + len, strlen(w->rest + skip + len) + 1);
	return true;
}

static int open_at(int dir_fd, const char *name, int flags)
{
	int fd = openat(dir_fd, name,
			flags | O_NOFOLLOW | O_CLOEXEC |
				(flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY));

	return fd < 0 ? -errno : fd;
}

/* Opens the file of an O_PATH descriptor, whatever its name leads to by now. */
static int open_again(int fd, mode_t mode, int flags)
{
	char path[40];

	if (flags & O_DIRECTORY && !S_ISDIR(mode))
		return -ENOTDIR;
	if (flags & O_PATH)
		return fcntl(fd, F_DUPFD_CLOEXEC, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, (flags & ~O_NOFOLLOW) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/* Opens the last component. It may have been replaced by a link, which O_NOFOLLOW refuses. */
static int open_last(const struct walk *w, const char *name, int path_fd, mode_t mode, int flags)
{
	/* A slash follows the name, so it has to be a directory. */
	if (w->rest[0])
		flags |= O_DIRECTORY;
	return w->no_fuse ? open_again(path_fd, mode, flags) :
			    open_at(root_walk_here(w), name, flags);
}

/*
 * Sets the type of the file. no_fuse: without asking its server, and only if that is not a FUSE
 * server.
 */
static int root_walk_look_at(struct walk *w, int fd, mode_t *ret_mode)
{
	struct statx stx;
	struct stat st;

	if (!w->no_fuse) {
		if (fstat(fd, &st) < 0)
			return -errno;
		*ret_mode = st.st_mode;
		return 0;
	}
	if (!fuse_look(fd, &stx))
		return -errno;
	*ret_mode = stx.stx_mode;
	if (stx.stx_dev_major == w->major && stx.stx_dev_minor == w->minor)
		return 0;
	if (fuse_is_foreign(fd, &stx))
		return -EREMOTE;
	w->major = stx.stx_dev_major;
	w->minor = stx.stx_dev_minor;
	return 0;
}

/* Takes one component. *ret_fd is set if it was the last one. */
static int root_walk_step(struct walk *w, const char *name, int flags, int *ret_fd)
{
	bool last = w->rest[strspn(w->rest, "/")] == '\0';
	_cleanup_close_ int fd = -1;
	mode_t mode;

	if (strcmp(name, "..") == 0) {
		root_walk_go_up(w);
		return 0;
	}
	if (strcmp(name, ".") == 0)
		return 0;
	fd = open_at(root_walk_here(w), name, O_PATH);
	if (fd < 0)
		return fd;
	int rc = root_walk_look_at(w, fd, &mode);
	if (rc < 0)
		return rc;
	if (S_ISLNK(mode) && !(last && !w->rest[0] && (flags & O_NOFOLLOW)))
		return root_walk_follow(w, fd);
	if (last) {
		*ret_fd = open_last(w, name, fd, mode, flags);
		return *ret_fd < 0 ? *ret_fd : 0;
	}
	if (!S_ISDIR(mode))
		return -ENOTDIR;
	rc = go_down(w, fd);
	if (rc == 0)
		fd = -1;
	return rc;
}

static int root_path_walk(struct walk *w, int flags)
{
	char name[NAME_MAX + 1];
	int fd = -1, rc = 0;

	while (rc == 0 && fd < 0) {
		if (!take_component(w, name))
			return -ENAMETOOLONG;
		if (!name[0])
			return open_at(root_walk_here(w), ".", flags);
		rc = root_walk_step(w, name, flags, &fd);
	}
	return rc < 0 ? rc : fd;
}

int root_walk_open(int root_fd, const char *path, int flags, unsigned int links_max, bool no_fuse)
{
	struct walk w = { .root_fd = root_fd, .links_left = links_max, .no_fuse = no_fuse };
	mode_t mode;

	if (!*path)
		return -ENOENT;
	if (strlen(path) >= sizeof(w.rest))
		return -ENAMETOOLONG;
	memcpy(w.rest, path, strlen(path) + 1);
	int rc = no_fuse ? root_walk_look_at(&w, root_fd, &mode) : 0;
	if (rc == 0)
		rc = root_path_walk(&w, flags);
	go_to_root(&w);
	return rc;
}
