/* SPDX-License-Identifier: Apache-2.0 */
/* A memory cgroup other than the container's own with a limit that its processes can meet. */
#pragma once

#include <stdint.h>

#include "sidecar/sample/isolation.h"

#define CGROUP_LIMIT_NAME_MAX 128

enum cgroup_limit_place {
	/* it contains the container's cgroup; the verdict uses its counters instead */
	CGROUP_LIMIT_ABOVE,
	/* in the container's cgroup; the kernel's counters say that it ran out of memory */
	CGROUP_LIMIT_BELOW,
	/* elsewhere, with a process of the container; its counters say the same */
	CGROUP_LIMIT_OUTSIDE,
};

struct cgroup_limit {
	enum cgroup_limit_place place;
	/*
	 * printable path, relative to the container's cgroup for BELOW, else to the top of what is
	 * visible
	 */
	char name[CGROUP_LIMIT_NAME_MAX];
	enum isolation_part part; /* which part of Ray's resource isolation this cgroup is */
	int64_t limit, usage, peak; /* bytes, -1 unknown */
};
