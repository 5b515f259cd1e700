/* SPDX-License-Identifier: Apache-2.0 */
/* Finds processes of a container that were moved to another memory cgroup. */
#pragma once

#include "sidecar/sample/memcg.h"

#define MEMCG_PLACES_MAX 8 /* cgroups that are remembered; further ones are found anew each time */

struct memcg_follow {
	uint64_t places[MEMCG_PLACES_MAX]; /* hashes of the cgroups that were found; 0: free */
};

enum memcg_move {
	MEMCG_MOVE_UNKNOWN, /* its cgroup cannot be read, or has another version */
	MEMCG_MOVE_NONE, /* it is in the container's cgroup, or in a cgroup that was found before */
	MEMCG_MOVE_NEW, /* it is in a cgroup that was not found before */
};

/*
 * Finds the cgroup of the process pid, as the /proc of root_fd numbers it, and remembers it if it
 * is new. home is the container's cgroup; below_too: the cgroups below it count as the container's
 * too.
 */
enum memcg_move memcg_follow_look(struct memcg_follow *f, int root_fd, pid_t pid,
				  const struct memcg_place *home, bool below_too);
