/* SPDX-License-Identifier: Apache-2.0 */
/* What of a node decides how its deaths look: kernel, cgroups, cores, swap, runtime. For `afterglow-node facts`. */
#ifndef AFTERGLOW_NODE_FACTS_H
#define AFTERGLOW_NODE_FACTS_H

#include "lib/strbuf.h"

struct facts {
	char kernel[65]; /* "6.18.44" */
	int cgroup_version; /* of the memory controller, 0 unknown */
	const char *cgroup_driver; /* of the kubelet, "systemd" or "cgroupfs"; NULL: no pod's cgroup is there */
	const char *runtime; /* "containerd", "cri-o", "docker"; NULL unknown */
	char core_pattern[129]; /* without the agent */
	long long swap; /* bytes, -1 unknown */
	int oom_group; /* whether the kernel has memory.oom.group: 1, 0, -1 unknown */
	int dmesg_restrict; /* 1, 0, -1 unknown */
};

/* root: where the node's files are seen, "" at their own paths; proc: a procfs of the node. What cannot be read is unknown. */
void facts_read(const char *root, const char *proc, struct facts *ret_facts);

/* One line of JSON without what is unknown. Pure. */
void facts_to_json(const struct facts *facts, struct strbuf *out);

#endif
