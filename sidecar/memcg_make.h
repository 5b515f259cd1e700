/* SPDX-License-Identifier: Apache-2.0 */
/* A memory cgroup of one's own, below or beside the one this process is in. */
#ifndef AFTERGLOW_SIDECAR_MEMCG_MAKE_H
#define AFTERGLOW_SIDECAR_MEMCG_MAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

struct made_memcg {
	char path[640]; /* "" while there is none */
	char home[512]; /* where the calling process is */
};

/*
 * Makes a child memory cgroup with that limit (bytes) and without swap. With
 * group set and cgroup v2, the OOM killer takes it as a whole. Errors say what
 * is lacking: root, or a delegated cgroup with the memory controller. Removes what others
 * of our kind left there: a command that kills its process group (kill -9 0) leaves nobody
 * who could do so.
 */
int made_memcg_new(struct made_memcg *m, int64_t limit, bool group, struct err *err);

/* Moves the calling process into it. */
int made_memcg_join(const struct made_memcg *m, struct err *err);

/*
 * Removes it and the cgroups that the command made below it. Takes up to half a second. Processes that live on in them go where
 * the caller is, without the limit. Returns how many those were.
 */
unsigned int made_memcg_remove(struct made_memcg *m);

#endif
