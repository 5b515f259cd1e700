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

/* Parts of it, for the tests. */
int64_t limits_parse_refused(const char *events);
/* Calls visit for a mount point of each device worth a look: local, writable, not the kernel's and not ours. */
void limits_each_disk(const char *mountinfo, void (*visit)(const char *point, void *arg), void *arg);

#endif
