/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which GPUs a container was given. */
#include "sidecar/sample/gpus.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lib/directory.h"
#include "lib/macros.h"
#include "sidecar/sample/rootfd.h"

#define ENTRIES_MAX 4096 /* of a directory that may be full of the container's own files */

static bool gpus_exists(int root_fd, const char *path)
{
	_cleanup_close_ int fd = rootfd_open_no_fuse(root_fd, path, O_PATH, NULL);

	return fd >= 0;
}

static unsigned int count_nvidia(int root_fd)
{
	unsigned int n = 0;
	char path[32];

	/* A container may have the second GPU and not the first. */
	for (unsigned int i = 0; i < GPUS_MAX; i++) {
		snprintf(path, sizeof(path), "dev/nvidia%u", i);
		n += gpus_exists(root_fd, path);
	}
	return n;
}

static bool is_place(const char *name)
{
	return name[0] != '.' && strlen(name) < GPU_PLACE_MAX &&
	       strspn(name, "0123456789abcdefABCDEF:.") == strlen(name);
}

static unsigned int list_places(int root_fd, struct gpus *g)
{
	_cleanup_dir_ DIR *dir = dir_of_fd(rootfd_open_no_fuse(root_fd, "proc/driver/nvidia/gpus",
							       O_RDONLY | O_DIRECTORY, NULL));
	const struct dirent *entry;
	unsigned int n = 0;

	for (unsigned int i = 0; i < ENTRIES_MAX && n <= GPUS_MAX && (entry = dir_next(dir)); i++) {
		if (!is_place(entry->d_name))
			continue;
		if (n < GPUS_MAX)
			snprintf(g->places[n], GPU_PLACE_MAX, "%.*s", GPU_PLACE_MAX - 1,
				 entry->d_name);
		n++;
	}
	return n;
}

void gpus_read(int root_fd, struct gpus *ret_gpus)
{
	struct gpus g = { .n = 0 };

	if (root_fd >= 0) {
		g.n = count_nvidia(root_fd);
		g.known = g.n > 0 && list_places(root_fd, &g) == g.n;
		if (g.n == 0 && gpus_exists(root_fd, "dev/kfd"))
			g.n = 1;
	}
	*ret_gpus = g;
}
