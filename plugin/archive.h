/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacks the tar archive of a bundle while it comes, and compares each file with the manifest that comes first. Nothing is written
 * outside of the directory, and nothing that is there already is replaced. Or only a single file is kept, in memory.
 */
#ifndef AFTERGLOW_PLUGIN_ARCHIVE_H
#define AFTERGLOW_PLUGIN_ARCHIVE_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/digest/sha256.h"
#include "lib/strbuf.h"
#include "lib/tar.h"

#define ARCHIVE_MANIFEST "MANIFEST.json"
#define ARCHIVE_MANIFEST_MAX ((size_t)1 << 20)

struct archive {
	int dir_fd; /* of the caller; -1: nothing is written */
	const char *only; /* NULL: all files are kept */
	struct strbuf *content; /* of that only file; of the caller */
	bool found; /* it is there whole */
	/* Called when a file is there whole. NULL is allowed. */
	void (*on_file)(void *arg, const char *name, int64_t size);
	void *arg;

	char block[TAR_BLOCK]; /* a header, as far as it has come */
	size_t n_block;
	char name[TAR_NAME_MAX]; /* the file that comes */
	int64_t left;
	size_t padding;
	int fd;
	struct sha256 digest;
	int64_t size;
	struct strbuf manifest_text;
	cJSON *manifest;
	size_t files; /* that are there whole, without the manifest */
	bool in_file, ended;
};

/* The files go below dir_fd, which the caller owns. */
void archive_init(struct archive *archive, int dir_fd);
/* Only the file of that name is kept, in content; both must outlive the archive. What follows it need not be fed. */
void archive_init_only(struct archive *archive, const char *name, struct strbuf *content);
void archive_release(struct archive *archive);

/* Takes the next piece. -EBADMSG: it is no archive of a bundle, or a file is not what the manifest says; -EEXIST and others: it cannot be written. */
int archive_feed(struct archive *archive, const void *data, size_t len, struct err *err);

/*
 * After the last piece. -EBADMSG: the archive broke off. Otherwise appends to missing a line for each file that the manifest lists
 * and the archive did not have.
 */
int archive_end(const struct archive *archive, struct strbuf *missing, struct err *err);

#endif
