/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of memory cgroups: a temporary directory that stands for a container's root. Include
 * after cmocka.h.
 */
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/fileio.h"

struct fake_root {
	char path[64];
	int fd;
};

static inline void fake_root_init(struct fake_root *root)
{
	snprintf(root->path, sizeof(root->path), "/tmp/memcg_testing.XXXXXX");
	assert_non_null(mkdtemp(root->path));
	root->fd = open(root->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(root->fd >= 0);
}

/* Makes a directory and its parents. */
static inline void fake_root_mkdir(const struct fake_root *root, const char *path)
{
	char full[1024];

	snprintf(full, sizeof(full), "%s/%s", root->path, path);
	assert_int_equal(dir_make_all(full, 0755, NULL), 0);
}

/* Writes a file, and makes the directories above it. */
static inline void fake_root_put(const struct fake_root *root, const char *path, const char *text)
{
	char dir[1024];

	snprintf(dir, sizeof(dir), "%s", path);
	*strrchr(dir, '/') = '\0';
	fake_root_mkdir(root, dir);
	assert_int_equal(file_write(root->fd, path, text, strlen(text), 0644, NULL), 0);
}

static inline int fake_root_remove_one(const char *path, const struct stat *st, int flag,
				       struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

/* 0, or negative where something could not be removed, as a teardown of cmocka returns it. */
static inline int fake_root_release(struct fake_root *root)
{
	close(root->fd);
	return nftw(root->path, fake_root_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
