/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a limit that applies to a memory cgroup but is set on a cgroup above it, as Slurm sets it
 * for a job and Kubernetes for a pod. It sees only the cgroups that the container's mount shows.
 */
#ifndef AFTERGLOW_SIDECAR_SAMPLE_MEMCG_ABOVE_H
#define AFTERGLOW_SIDECAR_SAMPLE_MEMCG_ABOVE_H

#include "sidecar/sample/memcg.h"

#define MEMCG_ABOVE_MAX 12 /* cgroups above that are looked at */

struct memcg_above {
	int root_fd; /* the owner's */
	struct memcg_place place; /* of the container */
	int limit_fds[MEMCG_ABOVE_MAX]; /* the nearest first; -1: it has no limit file */
	size_t ends[MEMCG_ABOVE_MAX]; /* the length of each path within the container's path */
	size_t n;
	size_t tightest; /* which of them is open in memcg, with memcg.version */
	struct memcg memcg; /* version 0: none has a limit */
	bool applied; /* by the last call */
	int64_t looked_ns;
};

/* place is the container's cgroup. */
void memcg_above_init(struct memcg_above *a, int root_fd, const struct memcg_place *place);
void memcg_above_close(struct memcg_above *a);

/*
 * memory holds the counters of the container's own cgroup. If a limit above is lower than its own, the counters of the cgroup with
 * that limit replace them, except own_limit, the OOM kills and the pressure. Reads the limits once a second.
 */
void memcg_above_apply(struct memcg_above *a, int64_t now_ns, struct memory *memory);

/*
 * The path, from the top of the mount, of the cgroup that supplied the counters at the last call;
 * NULL: the container's own did.
 */
const char *memcg_above_name(const struct memcg_above *a);

#endif
