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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/macros.h"

/* One reading. Bytes and counts as the kernel gives them; -1 for what it does not tell. */
struct memory {
	int64_t limit; /* -1 also for "no limit"; v1: the smallest of its own and those above it */
	int64_t own_limit; /* that of this cgroup alone */
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
	/* v2: times this cgroup, or one below it, met its own limit even after reclaim. A limit above does not count here. */
	int64_t oom;
	int64_t kernel; /* slab, page tables, kernel stacks, socket buffers */
	int64_t swap; /* bytes swapped out, not part of usage */
	/* v2: part of the last 10 s in which some, or all, tasks waited for memory; hundredths of a percent. */
	int64_t psi_some, psi_full;
};

#define MEMORY_ABSENT                                                                                        \
	((struct memory){ .limit = -1, .own_limit = -1, .usage = -1, .peak = -1, .anon = -1, .file = -1,    \
			  .shmem = -1, .oom = -1,                                                              \
			  .inactive_file = -1, .active_file = -1, .oom_kill = -1, .oom_group_kill = -1,      \
			  .limit_hits = -1, .kernel = -1, .swap = -1, .psi_some = -1, .psi_full = -1 })

/* Usage as the kubelet counts it ("working set": what it evicts by), and as Ray does; -1: not known. */
static inline int64_t memory_kubelet(const struct memory *m)
{
	return m->usage >= 0 && m->inactive_file >= 0 ? MAX(m->usage - m->inactive_file, 0) : -1;
}

static inline int64_t memory_ray(const struct memory *m)
{
	return memory_kubelet(m) >= 0 && m->active_file >= 0 ? MAX(memory_kubelet(m) - m->active_file, 0) : -1;
}

#define MEMCG_FILES_MAX 7
#define MEMCG_PATH_MAX 512

/* Where a memory cgroup stands in a file tree, and what of its hierarchy can be seen there. */
struct memcg_place {
	char path[MEMCG_PATH_MAX]; /* below the container's root */
	char cgroup[MEMCG_PATH_MAX]; /* as /proc/PID/cgroup has it */
	size_t top; /* so many bytes of path are the mount point: what is above it cannot be seen */
	int version; /* 1 or 2 */
	bool own; /* the process's own, not one around it */
	bool whole; /* the mount shows this container's cgroup and what is below it, and nothing else */
	bool writable; /* the mount is: processes may make cgroups, and move to others that it shows */
	bool local_events; /* v2 mounted with memory_localevents: a cgroup does not count what happens below it */
};

struct memcg {
	int version; /* 1 or 2 */
	bool own; /* the process's own, not one around it */
	char path[MEMCG_PATH_MAX]; /* below the container's root, for messages */
	int fds[MEMCG_FILES_MAX]; /* -1 where the kernel has no such file */
};

/* The path of the memory cgroup as the text of /proc/PID/cgroup has it, and the version; -ENOENT without one. Pure. */
int memcg_find_cgroup(const char *text, char *ret_path, size_t size, int *ret_version);

/*
 * Finds the memory cgroup directory from the texts of /proc/PID/cgroup and
 * /proc/PID/mountinfo. Pure. The result is a path below the root that mountinfo
 * speaks of, and the version, 1 or 2. 1: not the process's own cgroup, which the mount does
 * not show as far as can be told, but the one that is mounted: others may be in it.
 */
int memcg_find(const char *cgroup_text, const char *mountinfo_text, char *ret_path, size_t size, int *ret_version,
	       struct err *err);

/* Whether a mountinfo shows v2 mounted so that a cgroup does not count what happens below it. Pure. */
bool memcg_local_events(const char *mountinfo_text);

/* The same, with all that mountinfo tells of it. */
int memcg_find_place(const char *cgroup_text, const char *mountinfo_text, struct memcg_place *ret_place, struct err *err);

/*
 * The container's cgroup rather than one that it made below for itself and moved to: the root of a mount that shows nothing
 * else, or the parent of what Ray's resource isolation makes.
 */
void memcg_place_to_container(struct memcg_place *place);

/*
 * The cgroup whose directory is made (below the root that place was found in) was made for the container, whose process at place may
 * have been moved since: sets place to it. False: made is not below the same mount.
 */
bool memcg_place_to_made(struct memcg_place *place, const char *made);

/*
 * place was found, but not as the process's own: our cgroup namespace hides the names above us ("/../../scope"). That of a process
 * beside it is known: home. Sets place to where it is by what both have in common. False: that is not known, or cannot be seen.
 */
bool memcg_place_beside(const struct memcg_place *home, struct memcg_place *place);

/* Like memcg_find, of any controller ("pids"). */
int cgroup_find(const char *controller, const char *cgroup_text, const char *mountinfo_text, char *ret_path, size_t size,
		int *ret_version, struct err *err);

/* Where the memory cgroup of process pid (as the container's /proc numbers it) is; also of one that was moved. */
int memcg_place_of(int root_fd, pid_t pid, struct memcg_place *ret_place, struct err *err);

/* What /proc/PID/cgroup has of it, which is much quicker. */
int memcg_cgroup_of(int root_fd, pid_t pid, char *ret_cgroup, size_t size, int *ret_version);

/* Opens the memory cgroup of the container of process pid, or one at a place. */
int memcg_open(struct memcg *m, int root_fd, pid_t pid, struct err *err);
int memcg_open_at(struct memcg *m, int root_fd, const struct memcg_place *place, struct err *err);
void memcg_close(struct memcg *m);

/* -ENODEV when the cgroup is gone. On failure nothing is written; a counter other than the usage that cannot be read is absent. */
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
void memcg_parse_v2_pressure(const char *text, struct memory *m);
/* A lone number; -1 for "max", for v1's "no limit" (above 2^60) and for anything else. */
int64_t memcg_parse_value(const char *text);

#endif
