/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the counters of one memory cgroup. Its files stay open, so that they can be read right
 * after an OOM kill.
 */
#pragma once

#include "sidecar/sample/memcg.h"

enum { MEMCG_NODE_KILLS, MEMCG_NODE_USAGE, MEMCG_NODE_LIMIT, MEMCG_NODE_PEAK, MEMCG_NODE_FILES };

struct memcg_node {
	char path[MEMCG_PATH_MAX]; /* from the container's root */
	int fds[MEMCG_NODE_FILES];
	/* it is not below the container's own; a process of the container was moved there */
	bool outside;
	/* it is above such a cgroup, and its limit applies to it; its kills are counted there */
	bool only_limits;
	/* The values of the last reading; -1 if the kernel does not report them. */
	int64_t kills; /* OOM kills of its processes; on v2 also of those below it */
	/* v2: how often the kernel killed at the limit of this cgroup, or of a cgroup below it */
	int64_t ooms;
	int64_t usage, limit, peak;
	int64_t usage_before; /* at the reading before the last; -1: there was none */
	int64_t kills_before, ooms_before; /* before anything had happened */
};

/*
 * Opens the cgroup of that version (1 or 2) at path and reads it. Returns false, with nothing open,
 * if it has no counters, because its controller is not enabled or the cgroup is gone.
 */
bool memcg_node_open(struct memcg_node *node, int root_fd, int version, const char *path);

/*
 * Reads the counters again. Returns false if the cgroup is gone; then the values of the last
 * reading stay.
 */
bool memcg_node_read(struct memcg_node *node);

void memcg_node_close(struct memcg_node *node);
