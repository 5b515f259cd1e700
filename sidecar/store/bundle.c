/* SPDX-License-Identifier: Apache-2.0 */
/* One failure's directory in a directory store. */
#include "sidecar/store/bundle.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/json.h"

#define DIR_MODE 0750
#define FILE_MODE 0640
#define SAME_NAME_MAX 1000
#define MANIFEST "MANIFEST.json"

struct bundle {
	char store[BUNDLE_PATH_MAX];
	char parent[BUNDLE_PATH_MAX]; /* below the store */
	char path[BUNDLE_PATH_MAX]; /* below the store */
	char partial[BUNDLE_PATH_MAX]; /* from the root */
	int parent_fd, fd; /* directories */
	cJSON *manifest, *files; /* files is in the manifest */
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

int bundle_begin(const char *store, const char *parent, const char *name, struct bundle **ret_bundle,
		 struct err *err)
{
	struct bundle *b = calloc(1, sizeof(*b));
	struct err local = { 0 };
	int r;

	if (!err)
		err = &local;
	if (!b)
		return err_set(err, ENOMEM, "bundle");
	b->fd = b->parent_fd = -1;
	b->manifest = cJSON_CreateObject();
	json_set_str(b->manifest, "apiVersion", "afterglow.dev/v1alpha1");
	json_set_str(b->manifest, "kind", "Manifest");
	b->files = json_array_at(b->manifest, "files");
	if (cJSON_GetArraySize(b->manifest) != 3) {
		bundle_free(b);
		return err_set(err, ENOMEM, "bundle");
	}
	if ((size_t)snprintf(b->store, sizeof(b->store), "%s", store) >= sizeof(b->store) ||
	    (size_t)snprintf(b->parent, sizeof(b->parent), "%s", parent) + strlen(name) + 16 >= sizeof(b->parent)) {
		bundle_free(b);
		return err_set(err, ENAMETOOLONG, "bundle %.100s", name);
	}
	r = make_directories(b, name, err);
	if (r < 0) {
		bundle_free(b);
		return r;
	}
	*ret_bundle = b;
	return 0;
}

const char *bundle_path(const struct bundle *b)
{
	return b->path;
}

static int describe(struct bundle *b, const char *file, size_t len, const char *digest, struct err *err)
{
	cJSON *json = cJSON_CreateObject();

	json_set_str(json, "name", file);
	json_set_int(json, "sizeBytes", (int64_t)len);
	json_set_str(json, "sha256", digest);
	/* A manifest that leaves out a file, or what is known of it, would call the bundle complete. */
	if (cJSON_GetArraySize(json) != 3 || !cJSON_AddItemToArray(b->files, json)) {
		cJSON_Delete(json);
		return err_set(err, ENOMEM, "%s: manifest", file);
	}
	return 0;
}

/* The directory that "logs/raylet.out" lies in; false if it lies in none. */
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

	if (directory_of(file, directory) && mkdirat(b->fd, directory, DIR_MODE) < 0 && errno != EEXIST)
		return err_set(err, errno, "mkdir %s", directory);
	return 0;
}

/* Calls fn for the directories that files lie in; more than once for the same when others come between. */
static void each_directory(const struct bundle *b, void (*fn)(int dir_fd, const char *directory))
{
	char directory[NAME_MAX + 1], last[NAME_MAX + 1] = "";
	cJSON *file;

	cJSON_ArrayForEach(file, b->files) {
		if (!directory_of(json_str(file, "name"), directory) || strcmp(directory, last) == 0)
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

static void remove_directory(int dir_fd, const char *directory)
{
	unlinkat(dir_fd, directory, AT_REMOVEDIR);
}

/* Removes half a file, which abort would not know of. */
static int give_up(struct bundle *b, const char *file, struct err *err)
{
	char directory[NAME_MAX + 1];

	unlinkat(b->fd, file, 0);
	if (directory_of(file, directory))
		remove_directory(b->fd, directory); /* stays if there are others in it */
	return err_wrap(err, "%s/%s", b->store, b->path);
}

int bundle_add(struct bundle *b, const char *file, const void *data, size_t len, struct err *err)
{
	int r = make_directory_of(b, file, err);
	char digest[SHA256_DIGEST_STRING_LENGTH];

	SHA256Data(data, len, digest);
	if (r >= 0)
		r = file_write(b->fd, file, data, len, FILE_MODE, err);
	if (r >= 0)
		r = describe(b, file, len, digest, err);
	return r < 0 ? give_up(b, file, err) : 0;
}

/* Reads at most max bytes from fd, writes them to out and into the digest. */
static int pump(int fd, size_t max, int out, SHA2_CTX *digest, size_t *ret_len, struct err *err)
{
	unsigned char buf[32 * 1024];
	size_t len = 0;
	ssize_t n;

	while (len < max && (n = read(fd, buf, MIN(sizeof(buf), max - len))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "read");
		if (fd_write_all(out, buf, (size_t)n, err) < 0)
			return -err->code;
		SHA256Update(digest, buf, (size_t)n);
		len += (size_t)n;
	}
	if (fsync(out) < 0)
		return err_set(err, errno, "fsync");
	*ret_len = len;
	return 0;
}

int bundle_copy(struct bundle *b, const char *file, int fd, size_t max, struct err *err)
{
	_cleanup_close_ int out = -1;
	char text[SHA256_DIGEST_STRING_LENGTH];
	struct err local = { 0 };
	SHA2_CTX digest;
	size_t len = 0;
	int r;

	if (!err)
		err = &local;
	r = make_directory_of(b, file, err);
	if (r < 0)
		return give_up(b, file, err);
	out = openat(b->fd, file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (out < 0)
		return err_set(err, errno, "%s/%s/%s", b->store, b->path, file); /* EEXIST: another's, which stays */
	SHA256Init(&digest);
	r = pump(fd, max, out, &digest, &len, err);
	SHA256End(&digest, text);
	if (r >= 0)
		r = describe(b, file, len, text, err);
	return r < 0 ? give_up(b, file, err) : 0;
}

void bundle_each_file(const struct bundle *b, void (*fn)(const struct bundle *b, const char *file, void *arg), void *arg)
{
	cJSON *file;

	cJSON_ArrayForEach(file, b->files)
		fn(b, json_str(file, "name"), arg);
}

int bundle_read_tail(const struct bundle *b, const char *file, struct strbuf *out, struct err *err)
{
	_cleanup_close_ int fd = openat(b->fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	off_t room = (off_t)(out->max - out->len), size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

	if (size < 0 || lseek(fd, MAX(size - room, (off_t)0), SEEK_SET) < 0)
		return err_set(err, errno, "%s/%s", b->path, file);
	return fd_read_all(fd, out, err);
}

static int write_manifest(struct bundle *b, struct err *err)
{
	_cleanup_free_ char *text = cJSON_Print(b->manifest);

	if (!text)
		return err_set(err, ENOMEM, "%s", MANIFEST);
	return file_write(b->fd, MANIFEST, text, strlen(text), FILE_MODE, err);
}

int bundle_commit(struct bundle *b, struct err *err)
{
	const char *name = strrchr(b->path, '/') + 1;
	int r = write_manifest(b, err);

	each_directory(b, sync_directory);
	if (r >= 0 && fsync(b->fd) < 0)
		r = err_set(err, errno, "fsync");
	if (r >= 0 && renameat(b->parent_fd, b->partial, b->parent_fd, name) < 0)
		r = err_set(err, errno, "rename");
	if (r < 0) {
		r = err_wrap(err, "%s/%s", b->store, b->path);
		bundle_abort(b);
		return r;
	}
	/* The rename itself must survive a power cut; where the store cannot sync directories, so be it. */
	fsync(b->parent_fd);
	bundle_free(b);
	return 0;
}

void bundle_abort(struct bundle *b)
{
	cJSON *file;

	if (!b)
		return;
	cJSON_ArrayForEach(file, b->files)
		unlinkat(b->fd, json_str(file, "name"), 0);
	each_directory(b, remove_directory);
	unlinkat(b->fd, MANIFEST, 0);
	unlinkat(b->parent_fd, b->partial, AT_REMOVEDIR);
	bundle_free(b);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	remove(path); /* what cannot be removed stays: it has no manifest, and says by its name what it is */
	return 0;
}

void bundle_remove_partial(const char *store, const char *above)
{
	char pattern[2 * BUNDLE_PATH_MAX];
	glob_t found;

	/* Both come from us; "*" does not match a leading dot. */
	snprintf(pattern, sizeof(pattern), "%s/%s/*/.*.partial", store, above);
	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		nftw(found.gl_pathv[i], remove_one, 8, FTW_DEPTH | FTW_PHYS);
	globfree(&found);
}
