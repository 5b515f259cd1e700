/* SPDX-License-Identifier: Apache-2.0 */
/* Adds a file to a bundle that is committed already. */
#include "sidecar/store/extend.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/directory.h"
#include "lib/json.h"
#include "lib/units.h"
#include "sidecar/store/manifest.h"

/* The process that holds the lock may wait for three fsyncs of a slow disk */
#define LOCK_WITHIN_NS (60 * NS_PER_SEC)
#define FILE_MODE 0640
#define SUFFIX ".partial"
#define NEW_MANIFEST "." MANIFEST_FILE SUFFIX

struct extension {
	int dirfd, fd;
	char file[NAME_MAX + 1], partial[NAME_MAX + 1];
};

static void free_extension(struct extension *e)
{
	closep(&e->fd);
	closep(&e->dirfd);
	free(e);
}

static int extend_open_bundle(struct extension *e, const char *path, const char *file,
			      struct err *err)
{
	size_t len = strlen(file);

	if (!len || file[0] == '.' || strchr(file, '/') ||
	    len + sizeof("." SUFFIX) > sizeof(e->partial))
		return err_set(err, EINVAL, "%.100s is no name for a file of a bundle", file);
	snprintf(e->file, sizeof(e->file), "%s", file);
	snprintf(e->partial, sizeof(e->partial), ".%.240s" SUFFIX, file);
	e->dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return e->dirfd < 0 ? err_set(err, errno, "open %s", path) : 0;
}

static int open_partial(struct extension *e, const char *path, const char *file, int flags,
			struct err *err)
{
	if (extend_open_bundle(e, path, file, err) < 0)
		return -err->code;
	e->fd = openat(e->dirfd, e->partial, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, FILE_MODE);
	return e->fd < 0 ? err_set(err, errno, "open %s/%s", path, e->partial) : 0;
}

static int extend_start(const char *path, const char *file, int flags,
			struct extension **ret_extension, int *ret_fd, struct err *err)
{
	struct extension *e = calloc(1, sizeof(*e));
	struct err local = { 0 };

	if (!err)
		err = &local;
	if (!e)
		return err_set(err, ENOMEM, "extend %s", path);
	e->dirfd = e->fd = -1;
	if (open_partial(e, path, file, flags, err) < 0) {
		free_extension(e);
		return -err->code;
	}
	*ret_fd = e->fd;
	*ret_extension = e;
	return 0;
}

int extend_begin(const char *path, const char *file, struct extension **ret_extension, int *ret_fd,
		 struct err *err)
{
	return extend_start(path, file, O_CREAT | O_TRUNC, ret_extension, ret_fd, err);
}

int extend_resume(const char *path, const char *file, struct extension **ret_extension, int *ret_fd,
		  struct err *err)
{
	return extend_start(path, file, 0, ret_extension, ret_fd, err);
}

/* Reads the manifest and adds an entry for the file in its present state. */
static int extend_describe(const struct extension *e, const char *sha256, cJSON **ret_manifest,
			   struct err *err)
{
	_cleanup_json_ cJSON *manifest = NULL;
	cJSON *files;
	char digest[SHA256_TEXT_MAX];
	struct stat st;

	if (fstat(e->fd, &st) < 0)
		return err_set(err, errno, "stat");
	int64_t len = st.st_size;
	if (!sha256 && sha256_file(e->fd, 0, INT64_MAX, NULL, NULL, &len, digest, err) < 0)
		return -err->code;
	manifest_lock(e->dirfd, LOCK_WITHIN_NS);
	if (manifest_read(e->dirfd, &manifest, &files, err) < 0)
		return -err->code;
	/* A file that the manifest does not list was left by a writer that died. */
	if (json_find(files, "name", e->file))
		return err_set(err, EEXIST, "the bundle has one");
	if (manifest_describe(files, e->file, (size_t)len, sha256 ? sha256 : digest, err) < 0)
		return -err->code;
	*ret_manifest = TAKE_PTR(manifest);
	return 0;
}

static int sync_name(int dirfd, const char *name, struct err *err)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 || fsync(fd) < 0 ? err_set(err, errno, "fsync %s", name) : 0;
}

/* The file is put in place first, then the manifest that lists it. */
static int put_in_place(const struct extension *e, const cJSON *manifest, struct err *err)
{
	if (manifest_write(manifest, e->dirfd, NEW_MANIFEST, err) < 0)
		return -err->code;
	if (sync_name(e->dirfd, NEW_MANIFEST, err) < 0)
		return -err->code;
	if (renameat(e->dirfd, e->partial, e->dirfd, e->file) < 0)
		return err_set(err, errno, "rename %s", e->partial);
	fsync(e->dirfd);
	if (renameat(e->dirfd, NEW_MANIFEST, e->dirfd, MANIFEST_FILE) < 0) {
		int code = errno;

		unlinkat(e->dirfd, e->file, 0);
		return err_set(err, code, "rename %s", NEW_MANIFEST);
	}
	fsync(e->dirfd);
	return 0;
}

int extend_commit(struct extension *e, const char *sha256, struct err *err)
{
	_cleanup_json_ cJSON *manifest = NULL;
	struct err local = { 0 };

	if (!err)
		err = &local;
	int r = fsync(e->fd) < 0 ? err_set(err, errno, "fsync") :
				   extend_describe(e, sha256, &manifest, err);
	if (r >= 0) {
		r = put_in_place(e, manifest, err);
		if (r < 0)
			/* This file is ours, because we hold the lock. */
			unlinkat(e->dirfd, NEW_MANIFEST, 0);
	}
	if (r < 0) {
		r = err_wrap(err, "adding %s", e->file);
		extend_abort(e);
		return r;
	}
	free_extension(e);
	return 0;
}

void extend_abort(struct extension *e)
{
	if (!e)
		return;
	unlinkat(e->dirfd, e->partial, 0);
	free_extension(e);
}

void extend_discard(const char *path, const char *file)
{
	struct extension e = { .dirfd = -1, .fd = -1 };

	if (extend_open_bundle(&e, path, file, &(struct err){ 0 }) < 0)
		return;
	unlinkat(e.dirfd, e.partial, 0);
	manifest_lock(e.dirfd, LOCK_WITHIN_NS);
	/*
	 * If another process holds the lock, the new manifest is its own, and is about to be put in
	 * place.
	 */
	if (flock(e.dirfd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		unlinkat(e.dirfd, NEW_MANIFEST, 0);
	closep(&e.dirfd);
}

bool extend_pending(int bundle_fd)
{
	_cleanup_dir_ DIR *dir =
		dir_of_fd(openat(bundle_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	bool found = false;

	for (const struct dirent *entry; !found && (entry = dir_next(dir));) {
		size_t len = strlen(entry->d_name);

		found = entry->d_name[0] == '.' && len > strlen(SUFFIX) &&
			strcmp(entry->d_name + len - strlen(SUFFIX), SUFFIX) == 0;
	}
	return found;
}
