/* SPDX-License-Identifier: Apache-2.0 */
/* A memory cgroup other than the container's own whose limit counts: above it, or below. */
#ifndef AFTERGLOW_SIDECAR_VERDICT_CGROUP_LIMIT_H
#define AFTERGLOW_SIDECAR_VERDICT_CGROUP_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/ray/isolation.h"

#define CGROUP_LIMIT_NAME_MAX 128

enum cgroup_limit_place {
	CGROUP_LIMIT_ABOVE, /* around the container's; its counters stand in place of the container's */
	CGROUP_LIMIT_BELOW, /* and it ran out: the kernel's counters say so */
	CGROUP_LIMIT_OUTSIDE, /* likewise; one of the container's processes was moved there */
};

struct cgroup_limit {
	enum cgroup_limit_place place;
	char name[CGROUP_LIMIT_NAME_MAX]; /* printable; below: from the container's cgroup on, else from the top of what is seen */
	enum isolation_part part; /* of Ray's resource isolation */
	int64_t limit, usage, peak; /* bytes, -1 unknown */
};

#endif
