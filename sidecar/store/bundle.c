/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the bundle of a failure: its directory in a directory store. */
#include "sidecar/store/bundle.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "sidecar/store/manifest.h"

#define DIR_MODE 0750
#define FILE_MODE 0640
#define SAME_NAME_MAX 1000

struct bundle {
	char store[BUNDLE_PATH_MAX];
	char parent[BUNDLE_PATH_MAX]; /* relative to the store */
	char path[BUNDLE_PATH_MAX]; /* relative to the store */
	char partial[BUNDLE_PATH_MAX]; /* as an absolute path */
	int parent_fd, fd; /* open directories */
	int64_t room;
	cJSON *manifest, *files; /* `files` belongs to the manifest */
};

void bundle_sanitize(char *component)
{
	if (!*component)
		component[1] = '\0';
	if (!*component || *component == '.')
		*component = '_';
	for (char *p = component; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			*p = '_';
}

static void bundle_free(struct bundle *b)
{
	closep(&b->fd);
	closep(&b->parent_fd);
	cJSON_Delete(b->manifest);
	free(b);
}

static int make_directories(struct bundle *b, const char *name, struct err *err)
{
	char parent[2 * BUNDLE_PATH_MAX];
	struct stat st;

	snprintf(parent, sizeof(parent), "%s/%s", b->store, b->parent);
	if (dir_make_all(parent, DIR_MODE, err) < 0)
		return -err->code;
	b->parent_fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (b->parent_fd < 0)
		return err_set(err, errno, "open %s", parent);
	for (int i = 1;; i++) {
		char unique[256], suffix[16] = "";

		if (i == SAME_NAME_MAX)
			return err_set(err, EEXIST, "%d bundles called %s/%s", i - 1, parent, name);
		if (i > 1)
			snprintf(suffix, sizeof(suffix), "-%d", i);
		snprintf(unique, sizeof(unique), "%s%s", name, suffix);
		if (fstatat(b->parent_fd, unique, &st, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		snprintf(b->path, sizeof(b->path), "%s/%s", b->parent, unique);
		snprintf(b->partial, sizeof(b->partial), ".%s.partial", unique);
		if (mkdirat(b->parent_fd, b->partial, DIR_MODE) == 0)
			break;
		if (errno != EEXIST)
			return err_set(err, errno, "mkdir %s/%s", parent, b->partial);
	}
	b->fd = openat(b->parent_fd, b->partial, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (b->fd < 0)
		return err_set(err, errno, "open %s/%s", parent, b->partial);
	return 0;
}

int bundle_begin(const char *store, const char *parent, const char *name,
		 struct bundle **ret_bundle, struct err *err)
{
	struct bundle *b = calloc(1, sizeof(*b));
	struct err local = { 0 };

	if (!err)
		err = &local;
	if (!b)
		return err_set(err, ENOMEM, "bundle");
	b->fd = b->parent_fd = -1;
	b->room = INT64_MAX;
	b->manifest = manifest_new(&b->files);
	if (!b->manifest) {
		bundle_free(b);
		return err_set(err, ENOMEM, "bundle");
	}
	if ((size_t)snprintf(b->store, sizeof(b->store), "%s", store) >= sizeof(b->store) ||
	    (size_t)snprintf(b->parent, sizeof(b->parent), "%s", parent) + strlen(name) + 16 >=
		    sizeof(b->parent)) {
		bundle_free(b);
		return err_set(err, ENAMETOOLONG, "bundle %.100s", name);
	}
	int r = make_directories(b, name, err);
	if (r < 0) {
		bundle_free(b);
		return r;
	}
	*ret_bundle = b;
	return 0;
}

void bundle_set_room(struct bundle *b, int64_t bytes)
{
	b->room = bytes;
}

int64_t bundle_room(const struct bundle *b)
{
	return b->room;
}

const char *bundle_path(const struct bundle *b)
{
	return b->path;
}

/* Finds the directory of a file such as "logs/raylet.out". Returns false if it is in none. */
static bool directory_of(const char *file, char directory[static NAME_MAX + 1])
{
	const char *slash = file ? strchr(file, '/') : NULL;

	if (!slash)
		return false;
	snprintf(directory, NAME_MAX + 1, "%.*s", (int)(slash - file), file);
	return true;
}

static int make_directory_of(struct bundle *b, const char *file, struct err *err)
{
	char directory[NAME_MAX + 1];

	if (directory_of(file, directory) && mkdirat(b->fd, directory, DIR_MODE) < 0 &&
	    errno != EEXIST)
		return err_set(err, errno, "mkdir %s", directory);
	return 0;
}

/*
 * Calls fn for the directories of the files. A directory is visited more than once if files of
 * others come between its files.
 */
static void each_directory(const struct bundle *b, void (*fn)(int dir_fd, const char *directory))
{
	char directory[NAME_MAX + 1], last[NAME_MAX + 1] = "";
	cJSON *file;

	cJSON_ArrayForEach(file, b->files) {
		if (!directory_of(json_str(file, "name"), directory) ||
		    strcmp(directory, last) == 0)
			continue;
		fn(b->fd, directory);
		memcpy(last, directory, sizeof(last));
	}
}

static void sync_directory(int dir_fd, const char *directory)
{
	int fd = openat(dir_fd, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

/* Removes the directory of a file. This fails, as it should, if other files are in it. */
static void remove_directory_of(struct bundle *b, const char *file)
{
	char directory[NAME_MAX + 1];

	if (directory_of(file, directory))
		unlinkat(b->fd, directory, AT_REMOVEDIR);
}

/* Removes an incomplete file, and its directory if that is empty then. */
static int bundle_give_up(struct bundle *b, const char *file, struct err *err)
{
	unlinkat(b->fd, file, 0);
	remove_directory_of(b, file);
	return err_wrap(err, "%s/%s", b->store, b->path);
}

static int bundle_open_file(struct bundle *b, const char *file, int *ret_fd, struct err *err)
{
	struct err local = { 0 };

	if (!err)
		err = &local;
	if (make_directory_of(b, file, err) < 0)
		return bundle_give_up(b, file, err);
	int fd = openat(b->fd, file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (fd < 0) {
		/* A file that exists belongs to another writer and stays. */
		err_set(err, errno, "%s/%s/%s", b->store, b->path, file);
		remove_directory_of(b, file);
		return -err->code;
	}
	*ret_fd = fd;
	return 0;
}

int bundle_add(struct bundle *b, const char *file, const void *data, size_t len, struct err *err)
{
	_cleanup_close_ int fd = -1;
	char digest[SHA256_TEXT_MAX];
	int r = bundle_open_file(b, file, &fd, err);

	if (r < 0)
		return r;
	sha256_text(data, len, digest);
	r = fd_write_all(fd, data, len, err);
	if (r >= 0)
		r = manifest_describe(b->files, file, len, digest, err);
	return r < 0 ? bundle_give_up(b, file, err) : 0;
}

/* Reads at most max bytes from fd, writes them to out and into the digest. */
static int bundle_pump(int fd, size_t max, int out, struct sha256 *digest, size_t *ret_len,
		       struct err *err)
{
	unsigned char buf[32 * 1024];
	size_t len = 0;
	ssize_t n;

	while (len < max && (n = fd_read_whole(fd, buf, MIN(sizeof(buf), max - len), -1)) != 0) {
		if (n < 0)
			return err_set(err, (int)-n, "read");
		if (fd_write_all(out, buf, (size_t)n, err) < 0)
			return -err->code;
		sha256_add(digest, buf, (size_t)n);
		len += (size_t)n;
	}
	*ret_len = len;
	return 0;
}

int bundle_copy(struct bundle *b, const char *file, int fd, size_t max, struct err *err)
{
	_cleanup_close_ int out = -1;
	char text[SHA256_TEXT_MAX];
	struct err local = { 0 };
	struct sha256 digest;
	size_t len = 0;

	if (!err)
		err = &local;
	int r = bundle_open_file(b, file, &out, err);
	if (r < 0)
		return r;
	sha256_begin(&digest);
	r = bundle_pump(fd, max, out, &digest, &len, err);
	sha256_end(&digest, text);
	if (r >= 0)
		r = manifest_describe(b->files, file, len, text, err);
	return r < 0 ? bundle_give_up(b, file, err) : 0;
}

void bundle_each_file(const struct bundle *b,
		      void (*fn)(const struct bundle *b, const char *file, void *arg), void *arg)
{
	cJSON *file;

	cJSON_ArrayForEach(file, b->files)
		fn(b, json_str(file, "name"), arg);
}

int bundle_read_head(const struct bundle *b, const char *file, struct strbuf *out, struct err *err)
{
	_cleanup_close_ int fd = openat(b->fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return err_set(err, errno, "%s/%s", b->path, file);
	/* A part that does not fit into memory is not read; the first part is in out. */
	int r = fd_read_all(fd, out, NULL);
	return r < 0 && r != -EFBIG ? err_set(err, -r, "%s/%s", b->path, file) : 0;
}

int bundle_read_tail(const struct bundle *b, const char *file, struct strbuf *out, struct err *err)
{
	_cleanup_close_ int fd = openat(b->fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	off_t room = (off_t)(out->max - out->len), size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

	if (size < 0 || lseek(fd, MAX(size - room, (off_t)0), SEEK_SET) < 0)
		return err_set(err, errno, "%s/%s", b->path, file);
	return fd_read_all(fd, out, err);
}

static int sync_file(const struct bundle *b, const char *file, struct err *err)
{
	_cleanup_close_ int fd = openat(b->fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 || fsync(fd) < 0 ? err_set(err, errno, "fsync %s", file) : 0;
}

static int write_back(const struct bundle *b, const char *file, unsigned int flags, struct err *err)
{
	_cleanup_close_ int fd = openat(b->fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	/* ESPIPE, EINVAL, ENOSYS: this filesystem cannot do it, and fsync will do all the work. */
	if (fd < 0 || (sync_file_range(fd, 0, 0, flags) < 0 &&
		       (errno == EIO || errno == ENOSPC || errno == EDQUOT)))
		return err_set(err, errno, "write back %s", file);
	return 0;
}

/* Starts writing all files to disk before waiting for the first. */
static int write_back_files(const struct bundle *b, struct err *err)
{
	static const unsigned int steps[] = {
		SYNC_FILE_RANGE_WRITE,
		SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER,
	};
	cJSON *file;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		cJSON_ArrayForEach(file, b->files)
			if (write_back(b, json_str(file, "name"), steps[i], err) < 0)
				return -err->code;
	return 0;
}

/*
 * Returns whether it is ext4 or XFS. There, committing one file commits all files that changed
 * before it.
 */
static bool has_one_journal(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC);
}

/*
 * The manifest is written last, when the data of all other files is on the disk. It is then the
 * last change in the file system's journal, so on ext4 and XFS its fsync commits and flushes all of
 * them. On other filesystems each file is synced by itself, which waits once for each.
 */
static int sync_files(const struct bundle *b, struct err *err)
{
	cJSON *file;

	if (write_back_files(b, err) < 0 ||
	    manifest_write(b->manifest, b->fd, MANIFEST_FILE, err) < 0 ||
	    sync_file(b, MANIFEST_FILE, err) < 0)
		return -err->code;
	if (has_one_journal(b->fd))
		return 0;
	cJSON_ArrayForEach(file, b->files)
		if (sync_file(b, json_str(file, "name"), err) < 0)
			return -err->code;
	each_directory(b, sync_directory);
	return fsync(b->fd) < 0 ? err_set(err, errno, "fsync") : 0;
}

void bundle_drop_directory(struct bundle *b, const char *directory)
{
	tree_remove(b->fd, directory);
}

int bundle_commit(struct bundle *b, struct err *err)
{
	const char *name = strrchr(b->path, '/') + 1;
	struct err local = { 0 };

	if (!err)
		err = &local;
	int r = sync_files(b, err);
	if (r >= 0 && renameat(b->parent_fd, b->partial, b->parent_fd, name) < 0)
		r = err_set(err, errno, "rename");
	if (r < 0) {
		r = err_wrap(err, "%s/%s", b->store, b->path);
		bundle_abort(b);
		return r;
	}
	/*
	 * The rename should survive a power failure. If the store cannot sync directories, that is
	 * not promised.
	 */
	fsync(b->parent_fd);
	bundle_free(b);
	return 0;
}

void bundle_abort(struct bundle *b)
{
	if (!b)
		return;
	tree_remove(b->parent_fd, b->partial);
	bundle_free(b);
}
