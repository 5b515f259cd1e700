/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the cgroup of a container that has the host's cgroup namespace. */
#include "sidecar/sample/memcg_search.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/directory.h"
#include "sidecar/sample/rootfd.h"

struct search {
	int root_fd;
	const char *name; /* name of the directory, name_len bytes long */
	size_t name_len;
	unsigned int visits, entries;
	char found[MEMCG_PATH_MAX]; /* its path; "" not found */
};

/* Returns what follows the last "/..", such as "/cri-containerd-ID.scope/init". */
static const char *known_end(const char *cgroup)
{
	for (const char *up; (up = strstr(cgroup, "/..")) && (!up[3] || up[3] == '/');)
		cgroup = up + 3;
	return cgroup;
}

static DIR *open_dir(int root_fd, const char *path)
{
	int fd = rootfd_open_no_fuse(root_fd, path, O_RDONLY | O_DIRECTORY, NULL);
	struct stat st;

	/* A directory with two links has no cgroups below it. */
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_nlink == 2) {
		closep(&fd);
		return NULL;
	}
	return dir_of_fd(fd);
}

static void search_in(struct search *s, const char *path, unsigned int depth)
{
	_cleanup_dir_ DIR *dir = open_dir(s->root_fd, path);
	const struct dirent *entry;

	/* The container may show any directory as its cgroups. */
	while (dir && !s->found[0] && s->visits < MEMCG_SEARCH_VISITS_MAX &&
	       s->entries++ < MEMCG_SEARCH_ENTRIES_MAX && (entry = dir_next(dir))) {
		char below[MEMCG_PATH_MAX];

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    (size_t)snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) >=
			    sizeof(below))
			continue;
		s->visits++;
		if (strlen(entry->d_name) == s->name_len &&
		    memcmp(entry->d_name, s->name, s->name_len) == 0)
			memcpy(s->found, below, strlen(below) + 1);
		else if (depth < MEMCG_SEARCH_DEPTH_MAX)
			search_in(s, below, depth + 1);
	}
}

bool memcg_search(int root_fd, struct memcg_place *place)
{
	const char *end = known_end(place->cgroup), *rest;
	struct search s = { .root_fd = root_fd };

	if (*end != '/')
		return false;
	s.name = end + 1;
	rest = strchrnul(s.name, '/');
	s.name_len = (size_t)(rest - s.name);
	if (s.name_len < MEMCG_SEARCH_NAME_MIN)
		return false;
	search_in(&s, place->path, 1);
	size_t len = strlen(s.found);
	if (!len || len + strlen(rest) >= sizeof(place->path))
		return false;
	memcpy(s.found + len, rest, strlen(rest) + 1);
	memcpy(place->path, s.found, strlen(s.found) + 1);
	place->own = true;
	return true;
}
