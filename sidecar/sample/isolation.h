/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognizes the memory cgroups of Ray's resource isolation (`ray start
 * --enable-resource-isolation`, Ray 2.51 and newer, cgroup v2). Pure.
 *
 * Below the container's cgroup raylet makes ray-node_ID with two branches: "system" for Ray's own
 * processes (raylet, the GCS, the dashboard and its agents), which gets memory.low, and one for
 * everything else. In Ray 2.60 that is "user", with "workers" and "non-ray" below it. Its
 * memory.max is that of the container, and its memory.high leaves the system its reserved memory.
 * The first releases had ray_node_ID, and "application" with one leaf and no limit. Source:
 * raylet.out of Ray 2.60, and Ray's cgroup_manager of 2025.
 */
#pragma once

#include <stddef.h>
#include <string.h>

enum isolation_part {
	ISOLATION_NONE, /* not one of Ray's */
	ISOLATION_NODE, /* all of Ray on this node */
	ISOLATION_SYSTEM,
	ISOLATION_USER, /* workers, drivers, and what Ray did not start */
	ISOLATION_WORKERS,
	ISOLATION_NON_RAY,
};

/*
 * The end of a cgroup's path from the name of Ray's node on: "/ray-node_ID/user". NULL: the cgroup
 * is none of Ray's.
 */
static inline const char *isolation_node(const char *cgroup)
{
	const char *node = strstr(cgroup, "/ray-node_");

	return node ? node : strstr(cgroup, "/ray_node_"); /* the first releases */
}

/* The part that the cgroup with that path is. Any path may precede ray-node_ID. */
enum isolation_part isolation_part_of(const char *cgroup);

/*
 * Its path without the node's ID ("user", "user/workers"), and the processes in it. Static texts,
 * "" for ISOLATION_NONE.
 */
const char *isolation_name(enum isolation_part part);
const char *isolation_holds(enum isolation_part part);

/*
 * The setting of Ray that keeps the part from running out again; NULL: there is none. Static text.
 */
const char *isolation_advice(enum isolation_part part);

/*
 * A sentence for what a line of raylet's log says about the isolation: the system's processes
 * outgrew their reserved memory, or raylet could not make its cgroups. NULL: the line says nothing
 * about it. Static text.
 */
const char *isolation_remark(const char *line, size_t len);
