/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the memory cgroup of a container and reads its counters, with the same interface
 * for cgroup v1 and v2.
 *
 * Descriptors are opened once and read with pread: right after a kill the
 * cgroup can still be read through them, and a few milliseconds later, when the
 * runtime has removed it, reading gives ENODEV.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/macros.h"

/*
 * One reading of the kernel's counters: bytes and counts; -1 for values that the kernel does not
 * report.
 */
struct memory {
	int64_t limit; /* -1 also for "no limit"; v1: the smallest of its own limit and those above it */
	int64_t own_limit; /* the limit of this cgroup alone */
	int64_t usage; /* anon + file + shmem + kernel: the number to which the limit applies */
	int64_t peak;
	int64_t anon;
	int64_t file; /* page cache without shmem */
	int64_t shmem; /* tmpfs and shared mappings: Ray's object store in /dev/shm */
	int64_t inactive_file; /* the kubelet's working set is usage minus this */
	int64_t active_file; /* Ray subtracts this as well */
	int64_t oom_kill; /* processes of this cgroup that the OOM killer took */
	int64_t oom_group_kill; /* v2 from Linux 5.17: times it took the whole cgroup */
	int64_t limit_hits; /* times usage met the limit: v1 failcnt, v2 "max" */
	/*
	 * v2: times this cgroup, or one below it, met its own limit even after reclaim. A limit
	 * above does not count here.
	 */
	int64_t oom;
	/*
	 * v2: above this usage the kernel slows processes down until pages are freed, and kills
	 * none; -1 also for none.
	 */
	int64_t high;
	/*
	 * v2: how often processes of this cgroup, or of one below it, were slowed down by
	 * memory.high.
	 */
	int64_t high_hits;
	int64_t kernel; /* slab, page tables, kernel stacks, socket buffers */
	int64_t swap; /* bytes swapped out, not part of usage */
	/*
	 * v2: part of the last 10 s in which some, or all, tasks waited for memory; hundredths of a
	 * percent.
	 */
	int64_t psi_some, psi_full;
};

#define MEMORY_ABSENT \
	((struct memory){ .limit = -1, \
			  .own_limit = -1, \
			  .usage = -1, \
			  .peak = -1, \
			  .anon = -1, \
			  .file = -1, \
			  .shmem = -1, \
			  .oom = -1, \
			  .high = -1, \
			  .high_hits = -1, \
			  .inactive_file = -1, \
			  .active_file = -1, \
			  .oom_kill = -1, \
			  .oom_group_kill = -1, \
			  .limit_hits = -1, \
			  .kernel = -1, \
			  .swap = -1, \
			  .psi_some = -1, \
			  .psi_full = -1 })

/*
 * Usage as the kubelet counts it ("working set", by which it evicts), and as Ray counts it; -1: not
 * known.
 */
static inline int64_t memory_kubelet(const struct memory *m)
{
	return m->usage >= 0 && m->inactive_file >= 0 ? MAX(m->usage - m->inactive_file, 0) : -1;
}

static inline int64_t memory_ray(const struct memory *m)
{
	return memory_kubelet(m) >= 0 && m->active_file >= 0 ?
		       MAX(memory_kubelet(m) - m->active_file, 0) :
		       -1;
}

#define MEMCG_FILES_MAX 8
#define MEMCG_PATH_MAX 512

/* The place of a memory cgroup in a file tree, and what is visible of its hierarchy there. */
struct memcg_place {
	char path[MEMCG_PATH_MAX]; /* below the container's root */
	char cgroup[MEMCG_PATH_MAX]; /* as /proc/PID/cgroup has it */
	size_t top; /* the length of the mount point in path: cgroups above it cannot be seen */
	int version; /* 1 or 2 */
	bool own; /* it is the process's own cgroup, not a cgroup above */
	/* the mount shows this container's cgroup and what is below it, and nothing else */
	bool whole;
	/* the mount is writable: processes may make cgroups, and move to others that it shows */
	bool writable;
	/* v2 mounted with memory_localevents: a cgroup does not count what happens below it */
	bool local_events;
};

struct memcg {
	int version; /* 1 or 2 */
	bool own; /* it is the process's own cgroup, not a cgroup above */
	char path[MEMCG_PATH_MAX]; /* below the container's root, for messages */
	int fds[MEMCG_FILES_MAX]; /* -1 where the kernel has no such file */
};

/*
 * Reads the path of the memory cgroup and its version from the text of /proc/PID/cgroup; -ENOENT if
 * it has none. Pure.
 */
int memcg_find_cgroup(const char *text, char *ret_path, size_t size, int *ret_version);

/*
 * Finds the memory cgroup directory from the texts of /proc/PID/cgroup and
 * /proc/PID/mountinfo. Pure. The result is a path below the root that mountinfo
 * describes, and the version, 1 or 2. Returns 1 if the mount does not seem to show the
 * process's own cgroup: then the result is the cgroup that is mounted, and processes of
 * others may be in it.
 */
int memcg_find(const char *cgroup_text, const char *mountinfo_text, char *ret_path, size_t size,
	       int *ret_version, struct err *err);

/*
 * Whether a mountinfo shows v2 mounted so that a cgroup does not count what happens below it. Pure.
 */
bool memcg_local_events(const char *mountinfo_text);

/* Does the same as memcg_find, and returns everything that mountinfo shows about the cgroup. */
int memcg_find_place(const char *cgroup_text, const char *mountinfo_text,
		     struct memcg_place *ret_place, struct err *err);

/*
 * Sets place to the container's cgroup if its processes have made a cgroup below it and moved
 * there: that is the root of a mount that shows nothing else, or the parent of the cgroups of Ray's
 * resource isolation.
 */
void memcg_place_to_container(struct memcg_place *place);

/*
 * Sets place to the cgroup that was made for the container. `made` is its directory, below the root
 * in which place was found. The process at place may have been moved out of it since. Returns false
 * if `made` is not below the same mount.
 */
bool memcg_place_to_made(struct memcg_place *place, const char *made);

/*
 * For a place that is not the process's own cgroup, because our cgroup namespace hides the names
 * above us ("/../../scope"): sets place to the process's own cgroup, which follows from home, the
 * known place of a neighbouring process. Returns false if it does not follow, or cannot be seen.
 */
bool memcg_place_beside(const struct memcg_place *home, struct memcg_place *place);

/* Like memcg_find, for any controller ("pids"). */
int cgroup_find(const char *controller, const char *cgroup_text, const char *mountinfo_text,
		char *ret_path, size_t size, int *ret_version, struct err *err);

/*
 * Finds the memory cgroup of process pid (as the container's /proc numbers it), even if the process
 * was moved.
 */
int memcg_place_of(int root_fd, pid_t pid, struct memcg_place *ret_place, struct err *err);

/* Reads only the path of the process's cgroup in /proc/PID/cgroup, which is much quicker. */
int memcg_cgroup_of(int root_fd, pid_t pid, char *ret_cgroup, size_t size, int *ret_version);

/*
 * Opens the memory cgroup at a place. -ENOENT: it is not there, or it is the topmost one, in which
 * the whole machine is counted: a process there has no memory cgroup of its own.
 */
int memcg_open_at(struct memcg *m, int root_fd, const struct memcg_place *place, struct err *err);
void memcg_close(struct memcg *m);

/*
 * Reads the counters. -ENODEV: the cgroup is gone. On failure nothing is written. A counter that
 * cannot be read, other than the usage, is absent.
 */
int memcg_read(const struct memcg *m, struct memory *ret_memory, struct err *err);

/*
 * The descriptor of the file that changes at once when the limit is met, so that an
 * inotify watch (IN_MODIFY, through /proc/self/fd/N) can report it: memory.events of
 * v2. -1 on v1, which has no such file without privileges.
 */
int memcg_events_fd(const struct memcg *m);

/*
 * Parts of memcg_read, for the tests: they set the fields that the text contains and leave the
 * others.
 */
void memcg_parse_v1_stat(const char *text, struct memory *m);
void memcg_parse_v2_stat(const char *text, struct memory *m);
void memcg_parse_v1_oom_control(const char *text, struct memory *m);
void memcg_parse_v2_events(const char *text, struct memory *m);
void memcg_parse_v2_pressure(const char *text, struct memory *m);
/* Parses a single number; -1 for "max", for v1's "no limit" (above 2^60) and for anything else. */
int64_t memcg_parse_value(const char *text);
/* Parses the number in the line "KEY NUMBER" in the same way; -1 if there is no such line. */
int64_t memcg_parse_key(const char *text, const char *key);
