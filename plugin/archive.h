/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacks the tar archive of a bundle while it arrives, and compares each file with the manifest,
 * which comes first. It writes nothing outside of the directory and replaces no file.
 * Alternatively, it keeps only a single file, in memory.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/digest/sha256.h"
#include "lib/strbuf.h"
#include "lib/tar.h"

#define ARCHIVE_MANIFEST "MANIFEST.json"
#define ARCHIVE_MANIFEST_MAX ((size_t)1 << 20) /* bytes */
#define ARCHIVE_REST_MAX (64 << 10) /* bytes after its end; tar fills a record of 10 KiB */
#define ARCHIVE_FILES_MAX 4096 /* that it lists, as for afterglow-ship (sidecar/ship/plan.h) */
/*
 * Bytes of all files of a bundle: eight cores of 4 GiB, compressed to half. Who fills the store
 * must not fill the disk of whoever reads it.
 */
#define ARCHIVE_BYTES_MAX ((int64_t)16 << 30)

struct archive {
	int dir_fd; /* owned by the caller; -1: nothing is written */
	const char *only; /* the only file that is kept; NULL: all files are kept */
	struct strbuf *content; /* of the file `only`; owned by the caller */
	bool found; /* the file `only` is complete */
	/* Called when a file is complete; size in bytes. NULL is allowed. */
	void (*on_file)(void *arg, const char *name, int64_t size);
	void *arg;

	/* The rest is the archive's own. */
	char block[TAR_BLOCK]; /* the part of a header that has arrived */
	size_t n_block;
	char name[TAR_NAME_MAX]; /* the file that is arriving */
	int64_t left; /* bytes of that file; after the end, bytes that have followed */
	size_t padding;
	int fd;
	struct sha256 digest;
	int64_t size;
	struct strbuf manifest_text;
	cJSON *manifest, *entry; /* entry: of the present file; NULL: it is the manifest */
	size_t files; /* complete files, without the manifest */
	int64_t bytes; /* of all files so far, that one included which is arriving */
	bool in_file, ended;
};

/* Files are written below dir_fd, which the caller owns. */
void archive_init(struct archive *archive, int dir_fd);
/*
 * Keeps only the file of that name, in content; both must outlive the archive. Once found is set,
 * no more data is needed.
 */
void archive_init_only(struct archive *archive, const char *name, struct strbuf *content);
void archive_release(struct archive *archive);

/*
 * Takes the next piece of the archive. Returns -EBADMSG if it is not the archive of a bundle, has a
 * file twice, goes on after its end, or a file differs from the manifest; -EFBIG if all files have
 * more than ARCHIVE_BYTES_MAX; -EEXIST and other errors if a file cannot be written.
 */
int archive_feed(struct archive *archive, const void *data, size_t len, struct err *err);

/*
 * Call this after the last piece. -EBADMSG: the archive is incomplete. Otherwise appends to
 * missing a line for each file that the manifest lists but the archive does not have.
 */
int archive_end(const struct archive *archive, struct strbuf *missing, struct err *err);
