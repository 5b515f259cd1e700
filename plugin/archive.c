/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks the archive of a bundle while it arrives. */
#include "plugin/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/macros.h"
#include "plugin/table.h"

/* A core is the memory of a process, so only the user who saved it may read it. */
#define DIR_MODE 0700
#define FILE_MODE 0600

void archive_init(struct archive *a, int dir_fd)
{
	*a = (struct archive){ .dir_fd = dir_fd,
			       .fd = -1,
			       .manifest_text = STRBUF_INIT(ARCHIVE_MANIFEST_MAX) };
}

void archive_init_only(struct archive *a, const char *name, struct strbuf *content)
{
	archive_init(a, -1);
	a->only = name;
	a->content = content;
}

void archive_release(struct archive *a)
{
	if (a->fd >= 0)
		close(a->fd);
	strbuf_release(&a->manifest_text);
	cJSON_Delete(a->manifest);
	*a = (struct archive){ .fd = -1 };
}

/* Returns whether the present file is the only one that is kept. */
static bool is_wanted(const struct archive *a)
{
	return a->only && a->manifest && strcmp(a->name, a->only) == 0;
}

/*
 * --- Files
 * ----------------------------------------------------------------------------------------------
 */

/* Makes the directories above a file. Its names are safe (tar.h). */
static int make_above(const struct archive *a, struct err *err)
{
	char path[TAR_NAME_MAX];

	for (const char *slash = strchr(a->name, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(path, sizeof(path), "%.*s", (int)(slash - a->name), a->name);
		if (mkdirat(a->dir_fd, path, DIR_MODE) < 0 && errno != EEXIST)
			return err_set(err, errno, "directory %s", path);
	}
	return 0;
}

static int open_file(struct archive *a, struct err *err)
{
	const char *slash = strrchr(a->name, '/');
	int r = make_above(a, err);

	if (r < 0)
		return r;
	_cleanup_close_ int above =
		dir_open_below(a->dir_fd, a->name, slash ? (size_t)(slash - a->name) : 0);
	a->fd = above < 0 ? above :
			    openat(above, slash ? slash + 1 : a->name,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	return a->fd < 0 ? err_set(err, above < 0 ? -above : errno, "file %s", a->name) : 0;
}

static int begin_file(struct archive *a, struct err *err)
{
	if (!a->manifest && strcmp(a->name, ARCHIVE_MANIFEST) != 0)
		return err_set(err, EBADMSG, "the archive does not begin with " ARCHIVE_MANIFEST);
	a->entry = json_find(json_get(a->manifest, "files"), "name", a->name);
	if (a->manifest && (!a->entry || json_bool(a->entry, "isThere", false)))
		return err_set(err, EBADMSG, "%s is %s", a->name,
			       a->entry ? "there twice" : "not in " ARCHIVE_MANIFEST);
	if (a->size > ARCHIVE_BYTES_MAX - a->bytes)
		return err_set(err, EFBIG,
			       "the bundle has more than %d GiB: fetch it with the store's client",
			       (int)(ARCHIVE_BYTES_MAX >> 30));
	a->bytes += a->size;
	a->left = a->size;
	a->padding = tar_padding(a->size);
	a->in_file = true;
	sha256_begin(&a->digest);
	return a->only ? 0 : open_file(a, err);
}

static int take_manifest(struct archive *a, struct err *err)
{
	int r = json_parse(strbuf_str(&a->manifest_text), a->manifest_text.len, &a->manifest, err);

	if (strbuf_failed(&a->manifest_text))
		return err_set(err, EBADMSG, ARCHIVE_MANIFEST " is too large");
	if (cJSON_GetArraySize(json_get(a->manifest, "files")) > ARCHIVE_FILES_MAX)
		return err_set(err, EBADMSG, ARCHIVE_MANIFEST " lists too many files");
	return r < 0 ? err_wrap(err, ARCHIVE_MANIFEST) : 0;
}

static int check_file(const struct archive *a, const char *digest, struct err *err)
{
	const char *wanted = json_str(a->entry, "sha256");

	if (json_int(a->entry, "sizeBytes", -1) != a->size || !wanted ||
	    strcmp(wanted, digest) != 0)
		return err_set(err, EBADMSG,
			       "%s is not what " ARCHIVE_MANIFEST
			       " says: it was damaged, in the store or on its way",
			       a->name);
	cJSON_AddTrueToObject(a->entry, "isThere");
	return 0;
}

static int end_file(struct archive *a, struct err *err)
{
	char digest[SHA256_TEXT_MAX];
	bool closed = a->only || close(TAKE_FD(a->fd)) == 0;

	a->in_file = false;
	sha256_end(&a->digest, digest);
	if (!closed)
		return err_set(err, errno, "file %s", a->name);
	int r = a->manifest ? check_file(a, digest, err) : take_manifest(a, err);
	if (r < 0)
		return r;
	a->files += a->entry != NULL;
	a->found = a->found || is_wanted(a);
	if (a->on_file)
		a->on_file(a->arg, a->name, a->size);
	return 0;
}

/*
 * --- The stream
 * -----------------------------------------------------------------------------------------
 */

static int take_header(struct archive *a, const char **data, size_t *len, struct err *err)
{
	size_t n = MIN(*len, sizeof(a->block) - a->n_block);

	memcpy(a->block + a->n_block, *data, n);
	a->n_block += n;
	*data += n;
	*len -= n;
	if (a->n_block < sizeof(a->block))
		return 0;
	a->n_block = 0;
	int r = tar_header_parse(a->block, a->name, &a->size, err);
	if (r == 1)
		a->ended = true;
	return r == 0 ? begin_file(a, err) : MIN(r, 0);
}

static int take_content(struct archive *a, const char **data, size_t *len, struct err *err)
{
	size_t n = (size_t)MIN((int64_t)*len, a->left);
	int r = a->only ? 0 : fd_write_all(a->fd, *data, n, err);

	sha256_add(&a->digest, *data, n);
	if (!a->manifest)
		strbuf_add(&a->manifest_text, *data, n);
	if (is_wanted(a))
		strbuf_add(a->content, *data, n);
	*data += n;
	*len -= n;
	a->left -= (int64_t)n;
	return r < 0 ? err_wrap(err, "%s", a->name) : 0;
}

int archive_feed(struct archive *a, const void *bytes, size_t len, struct err *err)
{
	const char *data = bytes;
	int r = 0;

	while (r == 0 && !a->ended && (len > 0 || (a->in_file && a->left == 0))) {
		if (a->in_file && a->left > 0)
			r = take_content(a, &data, &len, err);
		else if (a->in_file)
			r = end_file(a, err);
		else if (a->padding == 0)
			r = take_header(a, &data, &len, err);
		else {
			size_t n = MIN(len, a->padding);

			data += n;
			len -= n;
			a->padding -= n;
		}
	}
	if (r == 0 && a->ended && (a->left += (int64_t)len) > ARCHIVE_REST_MAX)
		r = err_set(err, EBADMSG, "the archive goes on after its end");
	return r;
}

int archive_end(const struct archive *a, struct strbuf *missing, struct err *err)
{
	if (!a->ended || !a->manifest)
		return err_set(err, EBADMSG, "the archive broke off after %zu files", a->files);
	json_each(entry, json_get(a->manifest, "files"))
		if (!json_bool(entry, "isThere", false))
			add_between(missing, "  ", json_str_or(entry, "name", "?"), "\n");
	return 0;
}
