/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the memory cgroup of this container.
 *
 * Theory of operation: a container runtime mounts only this cgroup at the usual place: by a cgroup
 * namespace, or by a bind mount on v1. It is ours if its list of processes contains our PID. That
 * is true at our start; later, Ray may move us to a cgroup below. In this way the launcher need not
 * parse the kernel's lists of cgroups and mounts.
 */
#include "sidecar/launch/own_cgroup.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/macros.h"

#define CGROUP1_MAGIC 0x27e0eb
#define CGROUP2_MAGIC 0x63677270
#define PROCESSES_MAX (64 * 1024) /* bytes of the list; at our start it is short */

static const struct {
	const char *path, *counter;
	long magic;
	int version;
} places[] = {
	{ "/sys/fs/cgroup/memory", "memory.usage_in_bytes", CGROUP1_MAGIC, 1 },
	/* The root cgroup of v2, which covers the whole machine, has no such file. */
	{ "/sys/fs/cgroup", "memory.current", CGROUP2_MAGIC, 2 },
};

static bool is_of_type(int fd, long magic)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && (long)fs.f_type == magic;
}

/* Returns whether our PID is in the list, which has one PID per line. */
static bool lists_us(int fd)
{
	long pid = 0, own = getpid();
	size_t total = 0;
	char text[1024];
	ssize_t n;

	while (total < PROCESSES_MAX && (n = read(fd, text, sizeof(text))) > 0) {
		total += (size_t)n;
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + text[i] - '0';
				continue;
			}
			if (pid == own)
				return true;
			pid = 0;
		}
	}
	return false;
}

static bool is_ours(int dir_fd)
{
	_cleanup_close_ int fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);

	return fd >= 0 && lists_us(fd);
}

int own_cgroup_open(int *ret_version)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		_cleanup_close_ int fd = open(places[i].path, O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0 && is_of_type(fd, places[i].magic) &&
		    faccessat(fd, places[i].counter, R_OK, 0) == 0 && is_ours(fd)) {
			*ret_version = places[i].version;
			return TAKE_FD(fd);
		}
	}
	return -1;
}
