/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MANIFEST.json: each file of a bundle with its size and SHA-256. Hidden files
 * (a leading dot) are not part of a bundle and stand in none.
 */
#ifndef AFTERGLOW_SIDECAR_STORE_MANIFEST_H
#define AFTERGLOW_SIDECAR_STORE_MANIFEST_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/digest/sha256.h"

#define MANIFEST_FILE "MANIFEST.json"
#define MANIFEST_MAX (1 << 20) /* a hundred bytes a file */

/*
 * Before a manifest that is there already is read, changed and replaced: until dirfd, the bundle's directory, is closed no other
 * process of ours does the same. It waits for within_ns and then goes on: the filesystem may have no locks, and in a store
 * that others write to, anybody may hold this one.
 */
void manifest_lock(int dirfd, int64_t within_ns);

/* An empty one; ret_files is its list. NULL without memory. */
cJSON *manifest_new(cJSON **ret_files);

/* sha256: 64 hexadecimal digits. -ENOMEM leaves files as it was. */
int manifest_describe(cJSON *files, const char *file, size_t len, const char *sha256, struct err *err);

/* Writes it to dirfd/as. Neither synced nor atomic. */
int manifest_write(const cJSON *manifest, int dirfd, const char *as, struct err *err);

/* Reads dirfd/MANIFEST.json. A thing that is no manifest is -EPROTO. */
int manifest_read(int dirfd, cJSON **ret_manifest, cJSON **ret_files, struct err *err);

#endif
