/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store in a directory, such as a mounted volume claim of any kind, also on NFS.
 *
 * A file is written under a hidden name beside its own, flushed to the disk and renamed. A
 * writer that died leaves at most that hidden file, and the next one takes the same name
 * for it. Owner and mode are what the directory gives: an NFS server that squashes root
 * refuses chown and chmod, so neither is called. No symbolic link below the store is
 * followed, because others may write there.
 */
#include "sidecar/ship/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "lib/fileio.h"
#include "lib/units.h"
#include "sidecar/ship/plan.h"

#define CHUNK ((size_t)256 << 10)
#define FLUSH_EVERY ((int64_t)64 << 20)
#define DIR_MODE 0750
#define FILE_MODE 0640
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct directory {
	struct store store;
};

/* --- Errors --- */

static enum fault_kind store_directory_kind_of(int code)
{
	switch (code) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return FAULT_NO_SPACE;
	case EROFS:
		return FAULT_READ_ONLY;
	case EACCES:
	case EPERM:
		return FAULT_PERMISSION;
	case ENOENT:
	case ESTALE:
	case ENOTCONN:
		return FAULT_STORE_MISSING;
	case ENOTDIR:
	case EISDIR:
	case ELOOP:
	case EEXIST:
		return FAULT_OCCUPIED;
	case ENOMEM:
		return FAULT_MEMORY;
	default:
		return FAULT_IO;
	}
}

static int store_directory_fail(struct fault *fault, int code, const struct directory *d,
				const char *what, const char *name)
{
	return fault_set(fault, store_directory_kind_of(code), "%s: %s %s: %s",
			 d->store.context->options->store.path, what, name, strerror(code));
}

/* --- Directories --- */

/*
 * When an NFS client cannot check the root of a mount, open(2) fails with ESTALE, whatever the
 * reason is: the server may have replaced the directory, or a soft mount got no answer from it. A
 * lookup in the directory fails with the reason itself.
 */
static int reason_of_stale(const char *path)
{
	char name[PATH_MAX];
	struct stat st;

	if (snprintf(name, sizeof(name), "%s/.afterglow", path) >= (int)sizeof(name))
		return ESTALE;
	return lstat(name, &st) < 0 && errno != ENOENT ? errno : ESTALE;
}

static int open_root(const struct directory *d, int *ret_fd, struct fault *fault)
{
	const char *path = d->store.context->options->store.path;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int code = fd < 0 && errno == ESTALE ? reason_of_stale(path) : errno;

	if (fd < 0)
		return fault_set(fault, store_directory_kind_of(code),
				 "the store's directory %s: %s", path, strerror(code));
	*ret_fd = fd;
	return 0;
}

/*
 * Replaces *fd by its subdirectory name, which is made if `make` is set. Returns -errno on failure.
 */
static int store_directory_enter(int *fd, const char *name, bool make)
{
	if (make && mkdirat(*fd, name, DIR_MODE) == 0)
		/*
		 * The name should survive a power failure. A filesystem that cannot sync
		 * directories does not promise that.
		 */
		fsync(*fd);
	else if (make && errno != EEXIST)
		return -errno;
	int next = openat(*fd, name, DIR_FLAGS);
	if (next < 0)
		return -errno;
	close(*fd);
	*fd = next;
	return 0;
}

/*
 * Opens the directory that contains the last component of PATH. Returns 0, 1 if it does not exist,
 * or -1.
 */
static int store_directory_open_parent(const struct directory *d, const char *path, bool make,
				       int *ret_fd, struct fault *fault)
{
	_cleanup_close_ int fd = -1;
	int r = open_root(d, &fd, fault);

	for (const char *end; r == 0 && (end = strchr(path, '/')); path = end + 1) {
		char name[NAME_MAX + 1];

		if ((size_t)(end - path) >= sizeof(name))
			return store_directory_fail(fault, ENAMETOOLONG, d, "directory", path);
		snprintf(name, sizeof(name), "%.*s", (int)(end - path), path);
		r = store_directory_enter(&fd, name, make);
		if (r == -ENOENT && !make)
			return 1;
		if (r < 0)
			return store_directory_fail(fault, -r, d, "directory", name);
	}
	if (r == 0)
		*ret_fd = TAKE_FD(fd);
	return r;
}

/* The last component of a path; store_directory_open_parent opens the directory before it. */
static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* --- Looking --- */

static int store_directory_compare(const struct directory *d, int dir_fd, const char *base,
				   const struct item *item, enum look *ret_look,
				   struct fault *fault)
{
	_cleanup_close_ int fd =
		openat(dir_fd, base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char digest[SHA256_TEXT_MAX];
	int64_t len;
	struct stat st;

	if (fd < 0 && errno == ENOENT) {
		*ret_look = LOOK_MISSING;
		return 0;
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return store_directory_fail(fault, errno, d, "look at", item->name);
	if (!S_ISREG(st.st_mode))
		return store_directory_fail(fault, EEXIST, d, "something else is called",
					    item->name);
	*ret_look = LOOK_DIFFERS;
	if (st.st_size != item->size)
		return 0;
	int r = sha256_file(fd, 0, item->size, progress_alive, d->store.context->progress, &len,
			    digest, NULL);
	if (r < 0)
		return store_directory_fail(fault, -r, d, "read", item->name);
	if (len == item->size && strcmp(digest, item->sha256) == 0)
		*ret_look = LOOK_SAME;
	return 0;
}

static int directory_look(struct store *s, const struct item *item, enum look *ret_look,
			  struct fault *fault)
{
	const struct directory *d = (const struct directory *)s;
	_cleanup_close_ int dir_fd = -1;
	int r = store_directory_open_parent(d, item->path, false, &dir_fd, fault);

	if (r == 1) {
		*ret_look = LOOK_MISSING;
		return 0;
	}
	return r < 0 ? r :
		       store_directory_compare(d, dir_fd, base_of(item->path), item, ret_look,
					       fault);
}

/* --- Writing --- */

/*
 * Fails before the first byte is written if there is too little free space. If a filesystem reports
 * no free space at all, writing is tried.
 */
static int check_space(const struct directory *d, int dir_fd, const struct item *item,
		       struct fault *fault)
{
	struct statvfs v;

	if (fstatvfs(dir_fd, &v) < 0 || v.f_blocks == 0)
		return 0;
	uint64_t free_bytes = (uint64_t)v.f_bavail * v.f_frsize;
	if (free_bytes >= (uint64_t)item->size)
		return 0;
	return fault_set(fault, FAULT_NO_SPACE, "%s: no room for %s: it has %s, and %s are free",
			 d->store.context->options->store.path, item->name, SIZE_TEXT(item->size),
			 SIZE_TEXT(free_bytes));
}

/* Copies the file and compares it with the manifest, because files in the spool may be damaged. */
static int store_directory_copy(const struct directory *d, const struct item *item, int fd,
				struct fault *fault)
{
	_cleanup_free_ char *chunk = malloc(CHUNK);
	char text[SHA256_TEXT_MAX] = "";
	struct sha256 digest;
	int64_t at = 0;
	int r = 0;

	if (!chunk)
		return fault_set(fault, FAULT_MEMORY, "%s: out of memory", item->name);
	sha256_begin(&digest);
	while (r == 0 && at < item->size) {
		size_t part = (size_t)MIN((int64_t)CHUNK, item->size - at);
		ssize_t n = fd_read_whole(item->fd, chunk, part, at);

		if (n < 0)
			r = fault_set(fault, FAULT_IO, "reading %s: %s", item->name,
				      strerror((int)-n));
		else if (n == 0)
			r = fault_set(fault, FAULT_BUNDLE_CHANGED, "%s became shorter", item->name);
		else if ((r = fd_write_all(fd, chunk, (size_t)n, NULL)) < 0)
			r = store_directory_fail(fault, -r, d, "write", item->name);
		else {
			sha256_add(&digest, chunk, (size_t)n);
			at += n;
			/*
			 * Data are synced in portions: syncing all at the end could take a slow
			 * server minutes without any progress to report.
			 */
			if (at % FLUSH_EVERY == 0 && fdatasync(fd) < 0)
				r = store_directory_fail(fault, errno, d, "write", item->name);
			progress_sent(d->store.context->progress, at);
		}
	}
	sha256_end(&digest, text);
	if (r == 0 && strcmp(text, item->sha256) != 0)
		r = fault_set(fault, FAULT_BUNDLE_CHANGED,
			      "%s is not what " PLAN_MANIFEST " says of it", item->name);
	return r;
}

/*
 * Opens the temporary file. A leftover of a dead writer is replaced; a directory of that name is
 * not ours.
 */
static int open_temporary(int dir_fd, const char *name)
{
	for (int i = 0; i < 2; i++) {
		int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				FILE_MODE);

		if (fd >= 0 || errno != EEXIST)
			return fd < 0 ? -errno : fd;
		if (unlinkat(dir_fd, name, 0) < 0)
			return -errno;
	}
	return -EEXIST;
}

static int write_whole(const struct directory *d, int dir_fd, const char *temporary,
		       const struct item *item, struct fault *fault)
{
	int fd = open_temporary(dir_fd, temporary), r;

	if (fd < 0)
		return store_directory_fail(fault, -fd, d, "create", item->name);
	r = store_directory_copy(d, item, fd, fault);
	if (r == 0 && fsync(fd) < 0)
		r = store_directory_fail(fault, errno, d, "write", item->name);
	/* NFS may report a full disk only now. */
	if (close(fd) < 0 && r == 0)
		r = store_directory_fail(fault, errno, d, "write", item->name);
	return r;
}

static int directory_put(struct store *s, const struct item *item, struct fault *fault)
{
	const struct directory *d = (const struct directory *)s;
	_cleanup_close_ int dir_fd = -1;
	char temporary[NAME_MAX + 16];
	const char *base = base_of(item->path);
	int r = store_directory_open_parent(d, item->path, true, &dir_fd, fault);

	if (r < 0 || check_space(d, dir_fd, item, fault) < 0)
		return -1;
	snprintf(temporary, sizeof(temporary), ".%s.partial", base);
	r = write_whole(d, dir_fd, temporary, item, fault);
	if (r == 0 && renameat(dir_fd, temporary, dir_fd, base) < 0)
		r = store_directory_fail(fault, errno, d, "rename to", item->name);
	if (r < 0) {
		unlinkat(dir_fd, temporary, 0);
		return r;
	}
	if (fsync(dir_fd) < 0 && errno != EINVAL && errno != EROFS)
		return store_directory_fail(fault, errno, d, "write the directory of", item->name);
	return 0;
}

/* --- Reading --- */

static int directory_get(struct store *s, const char *path, int64_t offset, size_t len,
			 struct strbuf *out, struct fault *fault)
{
	const struct directory *d = (const struct directory *)s;
	_cleanup_close_ int dir_fd = -1, fd = -1;
	_cleanup_free_ char *chunk = malloc(len);
	int r = store_directory_open_parent(d, path, false, &dir_fd, fault);

	if (r != 0)
		return r == 1 ? 0 : r;
	fd = openat(dir_fd, base_of(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : store_directory_fail(fault, errno, d, "open", path);
	ssize_t n = chunk ? pread(fd, chunk, len, offset) : -1;
	if (n < 0)
		return store_directory_fail(fault, chunk ? errno : ENOMEM, d, "read", path);
	strbuf_add(out, chunk, (size_t)n);
	return 0;
}

static void directory_free(struct store *s)
{
	free(s);
}

static int directory_open(struct store *s, struct fault *fault)
{
	_cleanup_close_ int fd = -1;

	return open_root((struct directory *)s, &fd, fault);
}

const struct store_ops store_directory_ops = {
	.size = sizeof(struct directory),
	.open = directory_open,
	.look = directory_look,
	.put = directory_put,
	.get = directory_get,
	.free = directory_free,
};
