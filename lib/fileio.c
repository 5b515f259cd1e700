/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded reading and durable writing of whole files. */
#include "lib/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/directory.h"

#ifndef O_PATH /* macOS */
#define O_PATH O_RDONLY
#endif

int fd_read_all(int fd, struct strbuf *out, struct err *err)
{
	char chunk[16384];

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		size_t room = out->max - out->len;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "read");
		if (n == 0)
			return 0;
		strbuf_add(out, chunk, MIN((size_t)n, room));
		if (strbuf_failed(out))
			return err_set(err, ENOMEM, "read");
		if ((size_t)n > room)
			return err_set(err, EFBIG, "more than %zu bytes", out->max);
	}
}

int file_read(int dirfd, const char *path, struct strbuf *out, struct err *err)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, errno, "open %s", path);
	int r = fd_read_all(fd, out, err);
	if (r < 0)
		err_wrap(err, "%s", path);
	return r;
}

int file_read_foreign(int dirfd, const char *path, struct strbuf *out, struct err *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	_cleanup_close_ int root = *path == '/' ? open("/", O_PATH | O_CLOEXEC) : -1, fd = -1;
	_cleanup_close_ int dir =
		dir_open_below(root < 0 ? dirfd : root, path, (size_t)(name - path));
	struct stat st;

	if (dir >= 0)
		fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, dir < 0 ? -dir : errno, "open %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, EPROTO, "%s is no file", path);
	return fd_read_all(fd, out, err) < 0 ? err_wrap(err, "%s", path) : 0;
}

ssize_t fd_read_whole(int fd, void *data, size_t len, off_t offset)
{
	size_t done = 0;

	while (done < len) {
		char *at = (char *)data + done;
		ssize_t n = offset < 0 ? read(fd, at, len - done) :
					 pread(fd, at, len - done, offset + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int fd_write_all(int fd, const void *data, size_t len, struct err *err)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "write");
		if (n == 0) /* no bytes and no error: retrying could go on for ever */
			return err_set(err, EIO, "write");
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int fileio_put(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
		      bool sync, struct err *err)
{
	_cleanup_close_ int fd =
		openat(dirfd, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);

	if (fd < 0)
		return err_set(err, errno, "create %s", path);
	int r = fd_write_all(fd, data, len, err);
	if (r < 0) {
		err_wrap(err, "%s", path);
		return r;
	}
	if (sync && fsync(fd) < 0)
		return err_set(err, errno, "fsync %s", path);
	/* A full NFS reports ENOSPC only here. */
	if (close(TAKE_FD(fd)) < 0 && errno != EINTR)
		return err_set(err, errno, "close %s", path);
	return 0;
}

int file_write(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
	       struct err *err)
{
	return fileio_put(dirfd, path, data, len, mode, true, err);
}

int file_put(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
	     struct err *err)
{
	return fileio_put(dirfd, path, data, len, mode, false, err);
}

void file_replace(int dirfd, const char *path, const void *data, size_t len)
{
	char partial[256];

	if (dirfd < 0)
		return;
	snprintf(partial, sizeof(partial), "%s.partial", path);
	unlinkat(dirfd, partial, 0);
	if (file_put(dirfd, partial, data, len, 0600, NULL) < 0 ||
	    renameat(dirfd, partial, dirfd, path) < 0)
		unlinkat(dirfd, partial, 0);
}

#define TREE_DEPTH_MAX 8

static bool remove_below(int dirfd, const char *name, int depth)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = dir_of_fd(fd);
	bool all = true;

	if (!dir)
		return false;
	for (const struct dirent *entry; (entry = readdir(dir));) {
		if (dir_is_dots(entry->d_name) || unlinkat(fd, entry->d_name, 0) == 0)
			continue;
		/* For a directory unlink fails with EISDIR, or with EPERM on some file systems. */
		if (depth == TREE_DEPTH_MAX || !remove_below(fd, entry->d_name, depth + 1))
			all = false;
	}
	closedir(dir);
	return unlinkat(dirfd, name, AT_REMOVEDIR) == 0 && all;
}

bool tree_remove(int dirfd, const char *name)
{
	return unlinkat(dirfd, name, 0) == 0 || errno == ENOENT || remove_below(dirfd, name, 1);
}

/* Takes one step down the path and closes fd. */
static int fileio_enter(int fd, const char *name, int flags)
{
	int next = strcmp(name, "..") == 0 ?
			   -EINVAL :
			   openat(fd, name, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (next == -1)
		next = -errno;
	close(fd);
	return next;
}

int dir_open_below(int dirfd, const char *path, size_t len)
{
	char part[PATH_MAX];
	char *at = NULL;

	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, len);
	part[len] = '\0';
	/* A directory above may be one that we may enter and not list. */
	int fd = openat(dirfd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (const char *name = strtok_r(part, "/", &at); name && fd >= 0;
	     name = strtok_r(NULL, "/", &at))
		fd = fileio_enter(fd, name, O_PATH);
	return fd < 0 ? fd : fileio_enter(fd, ".", O_RDONLY);
}

int dir_make_all(const char *path, mode_t mode, struct err *err)
{
	char part[PATH_MAX];
	size_t len = strlen(path);
	struct stat st;

	if (len == 0 || len >= sizeof(part))
		return err_set(err, ENAMETOOLONG, "mkdir %.100s", path);
	memcpy(part, path, len + 1);
	for (char *p = part + 1;; p++) {
		char was = *p;

		if (was != '/' && was != '\0')
			continue;
		*p = '\0';
		if (mkdir(part, mode) < 0 && errno != EEXIST)
			return err_set(err, errno, "mkdir %s", part);
		if (was == '\0')
			break;
		*p = was;
	}
	/* mkdir returns EEXIST for a file as well. */
	if (stat(part, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, ENOTDIR, "mkdir %s", part);
	return 0;
}
