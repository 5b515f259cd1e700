/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a limit that applies to a memory cgroup but is set on a cgroup above it. */
#include "sidecar/sample/memcg_above.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/units.h"
#include "sidecar/sample/rootfd.h"

static const char *limit_file(const struct memcg_above *a)
{
	return a->place.version == 1 ? "memory.limit_in_bytes" : "memory.max";
}

/* Replaces path by that of its parent. Returns false at the top of what can be seen. */
static bool memcg_above_go_up(const struct memcg_above *a, char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || strlen(path) <= a->place.top)
		return false;
	*slash = '\0';
	return true;
}

void memcg_above_init(struct memcg_above *a, int root_fd, const struct memcg_place *place)
{
	char path[MEMCG_PATH_MAX];

	*a = (struct memcg_above){ .root_fd = root_fd, .place = *place };
	memcpy(path, place->path, sizeof(path));
	/* Every cgroup above the container's is taken. */
	while (a->n < MEMCG_ABOVE_MAX && memcg_above_go_up(a, path)) {
		char file[MEMCG_PATH_MAX + 64];

		snprintf(file, sizeof(file), "%s/%s", path, limit_file(a));
		a->ends[a->n] = strlen(path);
		a->limit_fds[a->n++] = rootfd_open_no_fuse(root_fd, file, O_RDONLY, NULL);
	}
}

void memcg_above_close(struct memcg_above *a)
{
	memcg_close(&a->memcg);
	while (a->n > 0)
		closep(&a->limit_fds[--a->n]);
}

static int64_t read_limit(int fd)
{
	char text[64];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return -1;
	text[n] = '\0';
	return memcg_parse_value(text);
}

/*
 * Opens the cgroup with the lowest limit, if it has changed. Of equal limits the outermost is met
 * first.
 */
static void memcg_above_look(struct memcg_above *a)
{
	struct memcg_place place = a->place;
	int64_t lowest = -1;
	size_t found = 0;

	for (size_t i = 0; i < a->n; i++) {
		int64_t limit = read_limit(a->limit_fds[i]);

		if (limit >= 0 && (lowest < 0 || limit <= lowest)) {
			lowest = limit;
			found = i;
		}
	}
	if (lowest >= 0 && a->memcg.version && a->tightest == found)
		return;
	memcg_close(&a->memcg);
	if (lowest < 0)
		return;
	place.path[a->ends[found]] = '\0';
	a->tightest = found;
	if (memcg_open_at(&a->memcg, a->root_fd, &place, NULL) < 0)
		a->memcg.version = 0;
}

void memcg_above_apply(struct memcg_above *a, int64_t now_ns, struct memory *memory)
{
	struct memory above, own = *memory;

	a->applied = false;
	if (a->n == 0)
		return;
	if (!a->looked_ns || now_ns - a->looked_ns >= NS_PER_SEC) {
		memcg_above_look(a);
		a->looked_ns = now_ns;
	}
	if (!a->memcg.version || memcg_read(&a->memcg, &above, NULL) < 0 || above.limit < 0)
		return;
	/* v1's memory.stat gives the lower of the two limits, which is in `memory` already. */
	if (own.own_limit >= 0 && own.own_limit <= above.limit)
		return;
	*memory = above;
	memory->own_limit = own.own_limit;
	memory->oom = own.oom;
	/* memory.high of the container must not be compared with the usage of another cgroup. */
	memory->high = -1;
	memory->high_hits = own.high_hits;
	memory->oom_kill = own.oom_kill;
	memory->oom_group_kill = own.oom_group_kill;
	memory->psi_some = own.psi_some;
	memory->psi_full = own.psi_full;
	a->applied = true;
}

const char *memcg_above_name(const struct memcg_above *a)
{
	const char *name = a->memcg.path + a->place.top;

	return !a->applied ? NULL : name[0] ? name : "/";
}
