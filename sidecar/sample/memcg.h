/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory cgroup of a container: where it is, what it counts. cgroup v1 and
 * v2 behind one interface.
 *
 * Descriptors are opened once and read with pread: right after a kill the
 * cgroup can still be read through them, and a few milliseconds later, when the
 * runtime has removed it, reading gives ENODEV.
 */
#ifndef AFTERGLOW_SIDECAR_SAMPLE_MEMCG_H
#define AFTERGLOW_SIDECAR_SAMPLE_MEMCG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

/* One reading. Bytes and counts as the kernel gives them; -1 for what it does not tell. */
struct memory {
	int64_t limit; /* -1 also for "no limit" */
	int64_t usage; /* anon + file + shmem + kernel, the number the limit is held against */
	int64_t peak;
	int64_t anon;
	int64_t file; /* page cache without shmem */
	int64_t shmem; /* tmpfs and shared mappings: Ray's object store in /dev/shm */
	int64_t inactive_file; /* the kubelet's working set is usage minus this */
	int64_t active_file; /* Ray subtracts this one as well */
	int64_t oom_kill; /* processes of this cgroup that the OOM killer took */
	int64_t oom_group_kill; /* v2 from Linux 5.17: times it took the whole cgroup */
	int64_t limit_hits; /* times usage met the limit: v1 failcnt, v2 "max" */
};

#define MEMORY_ABSENT ((struct memory){ -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 })

#define MEMCG_FILES_MAX 6

struct memcg {
	int version; /* 1 or 2 */
	char path[512]; /* below the container's root, for messages */
	int fds[MEMCG_FILES_MAX]; /* -1 where the kernel has no such file */
};

/*
 * Finds the memory cgroup directory from the texts of /proc/PID/cgroup and
 * /proc/PID/mountinfo. Pure. The result is a path below the root that mountinfo
 * speaks of, and the version, 1 or 2.
 */
int memcg_find(const char *cgroup_text, const char *mountinfo_text, char *ret_path, size_t size, int *ret_version,
	       struct err *err);

/* Opens the memory cgroup of process pid (as the container's /proc numbers it). */
int memcg_open(struct memcg *m, int root_fd, pid_t pid, struct err *err);
void memcg_close(struct memcg *m);

/* -ENODEV when the cgroup is gone. On failure nothing is written. */
int memcg_read(const struct memcg *m, struct memory *ret_memory, struct err *err);

/*
 * The descriptor of the file that an inotify watch (IN_MODIFY, through
 * /proc/self/fd/N) sees change at once when the limit is hit: memory.events of
 * v2. -1 on v1, which has no such thing without privileges.
 */
int memcg_events_fd(const struct memcg *m);

/* Parts of memcg_read, for the tests: fill what the text tells, leave the rest. */
void memcg_parse_v1_stat(const char *text, struct memory *m);
void memcg_parse_v2_stat(const char *text, struct memory *m);
void memcg_parse_v1_oom_control(const char *text, struct memory *m);
void memcg_parse_v2_events(const char *text, struct memory *m);
/* A lone number; -1 for "max", for v1's "no limit" (above 2^60) and for anything else. */
int64_t memcg_parse_value(const char *text);

#endif
