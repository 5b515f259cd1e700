/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the facts of a node that decide how deaths on it look: kernel, cgroups, cores, swap,
 * runtime. `afterglow-node facts` prints them.
 */
#pragma once

#include <stdbool.h>

#include "lib/strbuf.h"

struct facts {
	char kernel[65]; /* "6.18.44" */
	int cgroup_version; /* of the memory controller, 0: unknown */
	const char *
		cgroup_driver; /* of the kubelet, "systemd" or "cgroupfs"; NULL: there is no pod's cgroup */
	const char *runtime; /* "containerd", "cri-o", "docker"; NULL: unknown */
	char core_pattern[129]; /* the value without the agent; "": unknown */
	bool cores_left_alone; /* the agent cannot take such a pattern over (core_pattern_make) */
	long long swap; /* bytes, -1: unknown */
	int oom_group; /* whether the kernel has memory.oom.group: 1, 0, -1: unknown */
	int dmesg_restrict; /* kernel.dmesg_restrict: 1, 0, -1: unknown */
};

/*
 * root: where the node's files are seen, "" at their own paths; proc: a procfs of the node;
 * directory: that of the core handler. A fact that cannot be read is unknown.
 */
void facts_read(const char *root, const char *proc, const char *directory, struct facts *ret_facts);

/* Appends the facts that are known, as a line of JSON. Pure. */
void facts_to_json(const struct facts *facts, struct strbuf *out);
