/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads from raylet's command line what the Ray node in a container was given: how
 * large its object store may become, how many CPUs it offers to tasks, whether it is
 * the head. Also reads /dev/shm, which contains the object store.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RAY_NODE_PATH_MAX 256
#define RAY_NODE_ID_MAX 60
#define RAY_NODE_SESSION_MAX 80

struct ray_node {
	int64_t shm_size, shm_used; /* bytes of the tmpfs at /dev/shm; -1: not known */
	int64_t object_store; /* bytes, --object_store_memory; -1: not known */
	int64_t memory; /* bytes that tasks may reserve (memory=); -1: not known */
	/*
	 * logical CPUs for tasks (num-cpus), in thousandths; -1: not known. A head that runs no
	 * tasks has 0.
	 */
	int64_t cpus;
	bool head;
	/*
	 * A Python program began it by ray.init(): it was raylet's parent when raylet was read.
	 * False: `ray start`, or not known.
	 */
	bool of_driver;
	char id[RAY_NODE_ID_MAX]; /* Ray's ID of the node, hexadecimal; "": not known */
	/*
	 * Ray's name of the session, which all nodes of a cluster share:
	 * "session_2026-11-27_11-52-09_843279_30"; "": not known
	 */
	char session[RAY_NODE_SESSION_MAX];
	char spill_dir
		[RAY_NODE_PATH_MAX]; /* the directory for spilled objects, --fallback_directory; "": not known, or no directory */
	pid_t raylet; /* the PID of the raylet that was read; 0: none yet */
};

#define RAY_NODE_UNKNOWN \
	((struct ray_node){ \
		.shm_size = -1, .shm_used = -1, .object_store = -1, .memory = -1, .cpus = -1 })

/*
 * Parses raylet's command line, len bytes with NULs in between. What it does not contain stays as
 * it is. Pure.
 */
void ray_node_parse(const char *cmdline, size_t len, struct ray_node *n);

/*
 * Reads the command lines of raylet and of its parent, unless they were read already; raylet 0:
 * there is none. Returns false if n is unchanged.
 */
bool ray_node_read_raylet(struct ray_node *n, int root_fd, pid_t raylet);

/* Opens the tmpfs at /dev/shm, O_PATH; -1: there is no tmpfs. */
int ray_node_open_shm(int root_fd);
/* Reads its size and use. A tmpfs always answers. shm_fd -1: nothing changes. */
void ray_node_read_shm(struct ray_node *n, int shm_fd);
