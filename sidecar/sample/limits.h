/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads limits other than the memory limit, at one moment: how many processes the container may
 * have, how often it was refused one, its fullest filesystem, and what its files in memory hold.
 * Open files are missing, because the sidecar cannot read /proc/PID/fd of another user.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/strbuf.h"

struct disk {
	char point[64]; /* its path in the container, cut and escaped; "" not known */
	int64_t total, available; /* bytes, for an ordinary user */
	int64_t inodes, free_inodes; /* inodes 0: the filesystem does not count them */
	bool tmpfs;
	dev_t device;
};

#define LIMITS_FULL_MAX 8 /* full filesystems that are remembered */

struct limits {
	/* of the pids cgroup, threads count; 0 not known, max 0: none */
	int64_t processes, processes_max;
	/* how often that cgroup refused a fork; 0 also if that is not known */
	int64_t processes_refused;
	struct disk fullest; /* first of those that are full, one that was not so before */
	dev_t full[LIMITS_FULL_MAX]; /* all that are full */
	/*
	 * The periods (a tenth of a second, as a rule) in which the container ran, and those of
	 * them in which its CPU limit stopped it; 0 not known, or there is no such limit.
	 */
	int64_t cpu_periods, cpu_throttled;
	/*
	 * bytes of files in the container's tmpfs filesystems: /dev/shm and memory volumes; 0 not
	 * known
	 */
	int64_t tmpfs_used;
};

/*
 * Whether there is no room even for a small file: next to nothing, or a thousandth of a large
 * filesystem.
 */
bool disk_is_full(const struct disk *d);

/*
 * Returns whether that filesystem was full, or may have been: where more were full than are
 * remembered, nothing is known of the others.
 */
bool limits_had_full(const struct limits *before, dev_t device);

/*
 * Reads the limits of process pid, as root_fd's /proc numbers it. What cannot be read stays 0.
 * before: what was read at its start, or NULL.
 */
void limits_read(int root_fd, pid_t pid, const struct limits *before, struct limits *ret_limits);

/*
 * Finds the mount point of the filesystem that path is on. Returns false if that is not a local
 * filesystem, because a call to a network filesystem may never return, or if the mount point is too
 * long. Does not follow symbolic links in path. Pure.
 */
bool limits_local_point(const char *mountinfo, const char *path, char *ret_point, size_t size);

/*
 * Reads the filesystem mounted at point. Returns false if that fails, or if the filesystem has no
 * size.
 */
bool limits_stat_disk(int root_fd, const char *point, struct disk *ret_disk);

/*
 * Appends mountinfo of process pid, as root_fd's /proc numbers it, to text. A negative errno on
 * failure.
 */
int limits_read_mounts(int root_fd, pid_t pid, struct strbuf *text);
#define LIMITS_MOUNTS_MAX (256 * 1024)

/*
 * Whether other pods may have what is mounted as the mount of that ID, too: it is neither the
 * container's root nor an emptyDir on a disk. An emptyDir in memory looks like a hostPath of the
 * node's /dev/shm. True also if mountinfo has no such mount. Pure.
 */
bool limits_mount_may_be_shared(const char *mountinfo, long id);

/* Parts of it, for the tests. */
int64_t limits_parse_refused(const char *events);
int64_t limits_parse_periods(const char *cpu_stat);
int64_t limits_parse_throttled(const char *cpu_stat);
/*
 * Calls visit for a mount point of each relevant device: local, writable, not the kernel's and not
 * ours.
 */
void limits_each_disk(const char *mountinfo, void (*visit)(const char *point, void *arg),
		      void *arg);
