/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides how large the cores of a container may be, so that a crash costs the container no more
 * than the process that crashed. The kernel writes a core where its pattern says before anybody can
 * look at it. In a filesystem in memory it counts against the container's memory limit while the
 * process still has its own memory; on a disk it takes room from all others.
 */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include "sidecar/launch/core_pattern.h"

#define CORE_LIMIT_SHARE 8 /* cores may take 1/CORE_LIMIT_SHARE of the free space */
#define CORE_LIMIT_SHARE_TEXT "an eighth"

/*
 * What is known of the filesystem that cores would go to; all zero: nothing, or none of this
 * container.
 */
struct core_place {
	bool known;
	bool in_memory;
	unsigned long long free_bytes;
};

/* Returns whether that filesystem is in memory. */
bool core_place_is_in_memory(const struct statfs *fs);

/* Looks at the place to which the pattern leads from the present working directory. */
struct core_place core_place_find(const struct core_pattern *pattern);

/*
 * Returns how many bytes a core may have, at most `most`; 0: none is to be written. memory: cores
 * may be written into memory, too. Pure.
 */
rlim_t core_limit(const struct core_place *place, rlim_t most, bool memory);

/* Does both for this machine's pattern. */
rlim_t core_limit_here(rlim_t most, bool memory);
