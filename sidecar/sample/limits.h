/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits other than memory's, as they stand at one moment: how many processes
 * the container may have and how often it was refused one, and its fullest
 * filesystem. Open files are not here: /proc/PID/fd of another user is closed to us.
 */
#ifndef AFTERGLOW_SIDECAR_SAMPLE_LIMITS_H
#define AFTERGLOW_SIDECAR_SAMPLE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/strbuf.h"

struct disk {
	char point[64]; /* as the container calls it, cut and escaped; "" not known */
	int64_t total, available; /* bytes, for an ordinary user */
	int64_t inodes, free_inodes; /* inodes 0: the filesystem does not count them */
};

struct limits {
	int64_t processes, processes_max; /* of the pids cgroup, threads count; 0 not known, max 0: none */
	int64_t processes_refused; /* times it refused a fork; 0 also when that is not known */
	struct disk fullest;
};

/* No room even for a small file: next to nothing, or a thousandth of a large filesystem. */
bool disk_is_full(const struct disk *d);

/* Of process pid as root_fd's /proc numbers it. What cannot be read stays 0. */
void limits_read(int root_fd, pid_t pid, struct limits *ret_limits);

/*
 * The mount point below which path lies, in ret_point. False when it is not of a local filesystem, or too long: a look at one of a
 * network may never come back. Pure. A symbolic link in path is not followed.
 */
bool limits_local_point(const char *mountinfo, const char *path, char *ret_point, size_t size);

/* The filesystem mounted at point. False when it cannot be asked, or has no size. */
bool limits_stat_disk(int root_fd, const char *point, struct disk *ret_disk);

/* mountinfo of process pid as root_fd's /proc numbers it, appended to text. Negative with errno's number on failure. */
int limits_read_mounts(int root_fd, pid_t pid, struct strbuf *text);
#define LIMITS_MOUNTS_MAX (256 * 1024)

/* Parts of it, for the tests. */
int64_t limits_parse_refused(const char *events);
/* Calls visit for a mount point of each device worth a look: local, writable, not the kernel's and not ours. */
void limits_each_disk(const char *mountinfo, void (*visit)(const char *point, void *arg), void *arg);

#endif
