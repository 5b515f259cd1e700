/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a limit that applies to a memory cgroup but is set on a cgroup above it, as Slurm sets it
 * for a job and Kubernetes for a pod. It sees only the cgroups that the container's mount shows.
 */
#pragma once

#include "sidecar/sample/memcg.h"

#define MEMCG_ABOVE_MAX 12 /* cgroups above that are looked at */

struct memcg_above {
	int root_fd; /* the owner's */
	struct memcg_place place; /* of the container */
	/* the limit files, that of the nearest cgroup first; -1: the cgroup has none */
	int limit_fds[MEMCG_ABOVE_MAX];
	size_t ends[MEMCG_ABOVE_MAX]; /* the length of each path within the container's path */
	size_t n;
	/* the index of the cgroup that is open in memcg, if memcg.version is not 0 */
	size_t tightest;
	struct memcg memcg; /* version 0: none has a limit */
	bool applied; /* the last call of memcg_above_apply replaced counters */
	int64_t looked_ns;
};

/* place is the container's cgroup. */
void memcg_above_init(struct memcg_above *a, int root_fd, const struct memcg_place *place);
void memcg_above_close(struct memcg_above *a);

/*
 * Corrects *memory, the counters of the container's own cgroup: if a limit above is lower than its
 * own limit, the counters of the cgroup with that limit replace them, except own_limit, the OOM
 * kills, high_hits and the pressure. high is -1 then. Reads the limits once a second.
 */
void memcg_above_apply(struct memcg_above *a, int64_t now_ns, struct memory *memory);

/*
 * The path, from the top of the mount, of the cgroup that supplied the counters at the last call;
 * NULL if the container's own cgroup did.
 */
const char *memcg_above_name(const struct memcg_above *a);
