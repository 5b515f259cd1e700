/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a memory cgroup for a command, below or beside the cgroup of this process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

struct made_memcg {
	char path[640]; /* "" while there is none */
};

/*
 * Makes a child memory cgroup with that limit (bytes) and without swap. With
 * group set and cgroup v2, the OOM killer kills all processes in it together. Errors say
 * what is missing: root, or a delegated cgroup with the memory controller. Also removes
 * cgroups that an earlier run left: a command that kills its process group (kill -9 0)
 * kills the process that would have removed its cgroup.
 */
int made_memcg_new(struct made_memcg *m, int64_t limit, bool group, struct err *err);

/* Moves the calling process into it. */
int made_memcg_join(const struct made_memcg *m, struct err *err);

/*
 * Removes the cgroup and the cgroups that the command made below it. end: kills the processes in
 * them first. Takes up to half a second. Returns the number of processes that still live in them:
 * they stay where the limit holds, and m->path stays, too.
 */
unsigned int made_memcg_remove(struct made_memcg *m, bool end);
