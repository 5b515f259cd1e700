/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of bundles: a manifest that is compared with the files of its bundle. */
#pragma once

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "sidecar/store/manifest.h"

/*
 * Reads the manifest of the bundle in this directory, and checks that each file in it exists with
 * that size and digest. *ret_files belongs to the manifest, which the caller deletes.
 */
static inline cJSON *read_true_manifest(const char *path, cJSON **ret_files)
{
	_cleanup_close_ int dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cJSON *manifest = NULL;
	const cJSON *file;

	assert_int_equal(manifest_read(dirfd, &manifest, ret_files, NULL), 0);
	cJSON_ArrayForEach(file, *ret_files) {
		_cleanup_close_ int fd =
			openat(dirfd, json_str(file, "name"), O_RDONLY | O_CLOEXEC);
		char sha256[SHA256_TEXT_MAX];
		int64_t len;

		assert_int_equal(sha256_file(fd, 0, INT64_MAX, NULL, NULL, &len, sha256, NULL), 0);
		assert_int_equal(json_int(file, "sizeBytes", -1), len);
		assert_string_equal(json_str(file, "sha256"), sha256);
	}
	return manifest;
}
