/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroup of a container that has the host's cgroup namespace, as privileged ones may: its mount shows the machine's whole
 * hierarchy, while /proc/PID/cgroup, read from a namespace of our own, tells only how its path ends
 * ("/../cri-containerd-ID.scope"). The runtime's ID is in that name, so the directory of that name is the one.
 */
#ifndef AFTERGLOW_SIDECAR_SAMPLE_MEMCG_SEARCH_H
#define AFTERGLOW_SIDECAR_SAMPLE_MEMCG_SEARCH_H

#include "sidecar/sample/memcg.h"

#define MEMCG_SEARCH_VISITS_MAX 4096 /* directories looked at: a node has a few for each of its pods */
#define MEMCG_SEARCH_DEPTH_MAX 6
#define MEMCG_SEARCH_NAME_MIN 32 /* a shorter name may be somebody else's too */

/* place: as found, not own. Makes it the process's own if that can be found below it; false: it stays as it was. */
bool memcg_search(int root_fd, struct memcg_place *place);

#endif
