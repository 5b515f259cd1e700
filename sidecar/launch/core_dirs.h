/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches the directories in which cores will appear, by an inotify watch on each for files that
 * are closed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "sidecar/launch/core_pattern.h"

#define CORE_DIRS_MAX 64
#define CORE_NAMES_MAX 10000 /* entries of a directory that are looked at */

struct core_dir {
	int fd; /* O_PATH, -1: a free place */
	int watch;
	dev_t dev;
	ino_t ino;
	int64_t seen_ns; /* when a process was last found to work there */
	int64_t keep_until_ns;
	bool in_memory;
};

struct core_dirs {
	int inotify_fd; /* -1: none */
	/* 1: every process belongs to the container; else only its descendants do */
	pid_t launcher;
	const volatile rlim_t
		*core_limit; /* what processes lose when they work in memory; NULL: not known */
	struct core_dir list[CORE_DIRS_MAX];
};

typedef void (*core_dir_fn)(const struct core_dir *dir, void *arg);

void core_dirs_init(struct core_dirs *d, pid_t launcher, const volatile rlim_t *core_limit);
void core_dirs_clear(struct core_dirs *d);

/*
 * Watches directories that are not watched yet, and calls fn for each of them; stops
 * watching those that have not been the working directory of any process for a while.
 */
void core_dirs_scan(struct core_dirs *d, const struct core_pattern *pattern, int64_t now_ns,
		    core_dir_fn fn, void *arg);

/* Finds a directory by its inotify watch; NULL: it is no longer watched. */
const struct core_dir *core_dirs_find(const struct core_dirs *d, int watch);

/* Keeps watching dir at least until until_ns, even if no process works in it. */
void core_dirs_keep(struct core_dirs *d, const struct core_dir *dir, int64_t until_ns);

/* Calls fn with the names in dir, at most CORE_NAMES_MAX. */
void core_dir_each_name(const struct core_dir *dir,
			void (*fn)(const struct core_dir *dir, const char *name, void *arg),
			void *arg);

/* The last component of the pattern, which is that of the file's name. */
const char *core_dirs_file_component(const struct core_pattern *pattern);
