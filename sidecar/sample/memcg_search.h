/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the cgroup of a container that has the host's cgroup namespace, as privileged containers
 * may. Its mount shows the machine's whole hierarchy, but /proc/PID/cgroup, read from our own
 * namespace, gives only the end of the path ("/../cri-containerd-ID.scope"). That name contains the
 * runtime's ID, so a directory with that name is the container's.
 */
#pragma once

#include "sidecar/sample/memcg.h"

/* directories looked at: a node has a few for each of its pods */
#define MEMCG_SEARCH_VISITS_MAX 4096
#define MEMCG_SEARCH_ENTRIES_MAX \
	(128 * MEMCG_SEARCH_VISITS_MAX) /* files and directories; a cgroup has some 60 files */
#define MEMCG_SEARCH_DEPTH_MAX 6
/* bytes; a shorter name may be that of another container's cgroup, too */
#define MEMCG_SEARCH_NAME_MIN 32

/*
 * For a place that is not the process's own cgroup: searches for the process's own cgroup below it,
 * and sets place to that. Returns false, with place unchanged, if it is not found.
 */
bool memcg_search(int root_fd, struct memcg_place *place);
