/* SPDX-License-Identifier: Apache-2.0 */
/* Finds processes of a container that were moved to another memory cgroup. */
#include "sidecar/sample/memcg_follow.h"

#include <string.h>

#include "lib/fnv.h"
#include "lib/macros.h"
#include "sidecar/sample/memcg_node.h"

/* Returns whether the cgroup was found before. Remembers it, if there is room. */
static bool memcg_follow_is_known(struct memcg_follow *f, const char *cgroup)
{
	uint64_t hash = fnv1a(cgroup, FNV_START);

	for (size_t i = 0; i < MEMCG_PLACES_MAX; i++) {
		if (f->places[i] == hash)
			return true;
		if (f->places[i])
			continue;
		f->places[i] = hash;
		break;
	}
	return false;
}

enum memcg_move memcg_follow_look(struct memcg_follow *f, int root_fd, pid_t pid,
				  const struct memcg_place *home, bool below_too)
{
	char cgroup[MEMCG_PATH_MAX];
	int version;

	if (memcg_cgroup_of(root_fd, pid, cgroup, sizeof(cgroup), &version) < 0 ||
	    version != home->version)
		return MEMCG_MOVE_UNKNOWN;
	if (strcmp(cgroup, home->cgroup) == 0 ||
	    (below_too && path_is_below(cgroup, home->cgroup)) || memcg_follow_is_known(f, cgroup))
		return MEMCG_MOVE_NONE;
	return MEMCG_MOVE_NEW;
}
