/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes MANIFEST.json, which lists each file of a bundle with its size and SHA-256.
 * Hidden files (with a leading dot) are not part of a bundle, and no manifest lists them.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/digest/sha256.h"

#define MANIFEST_FILE "MANIFEST.json"
#define MANIFEST_MAX (1 << 20) /* a hundred bytes a file */

/*
 * To be called before an existing manifest is read, changed and replaced: takes a lock that keeps
 * our other processes from doing the same until dirfd, the bundle's directory, is closed. It waits
 * for at most within_ns and then goes on without the lock, because the filesystem may have no
 * locks, and in a shared store any process may hold it.
 */
void manifest_lock(int dirfd, int64_t within_ns);

/*
 * Returns an empty manifest, which the caller frees; *ret_files is its list of files. NULL: there
 * is no memory.
 */
cJSON *manifest_new(cJSON **ret_files);

/* Adds a file to the list. sha256: 64 hexadecimal digits. -ENOMEM: the list is unchanged. */
int manifest_describe(cJSON *files, const char *file, size_t len, const char *sha256,
		      struct err *err);

/* Writes the manifest to the file `as` below dirfd, neither synced nor atomically. */
int manifest_write(const cJSON *manifest, int dirfd, const char *as, struct err *err);

/*
 * Reads MANIFEST.json below dirfd. The caller frees *ret_manifest, which contains *ret_files.
 * -EPROTO: the file is not a manifest.
 */
int manifest_read(int dirfd, cJSON **ret_manifest, cJSON **ret_files, struct err *err);
