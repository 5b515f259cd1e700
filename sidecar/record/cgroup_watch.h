/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a container as all the cgroups tell it that have to do with it: its own, those below it or to which its
 * processes were moved, and the one above it whose limit holds for it.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_CGROUP_WATCH_H
#define AFTERGLOW_SIDECAR_RECORD_CGROUP_WATCH_H

#include "sidecar/sample/memcg_above.h"
#include "sidecar/sample/memcg_tree.h"
#include "sidecar/verdict/cgroup_limit.h"

struct cgroup_watch {
	struct memcg_tree tree;
	struct memcg_above above;
	pid_t command; /* as the container's /proc numbers it, 0 unknown; set by the owner */
	int64_t followed_ns;
	struct cgroup_limit limit; /* what cgroup_watch_limit said last */
};

/* Opens own and what is around it. Fails only without own; then there is nothing to close. */
int cgroup_watch_open(struct cgroup_watch *w, struct memcg *own, int root_fd, pid_t launcher, struct err *err);
void cgroup_watch_close(struct cgroup_watch *w);

/* As memcg_read of own. at_end: the container is dying, and there may be no other time to read. */
int cgroup_watch_read(struct cgroup_watch *w, const struct memcg *own, int64_t now_ns, bool at_end, struct memory *ret_memory);

/* Where the command and the n largest processes are now; does nothing where processes cannot be moved away, or too early. */
void cgroup_watch_follow(struct cgroup_watch *w, int64_t now_ns, const pid_t *pids, size_t n);

/* Bytes until the first limit is met: the container's (memory, -1 where it has none), or one below. -1: there is none. */
int64_t cgroup_watch_headroom(const struct cgroup_watch *w, const struct memory *memory);

/* Nanoseconds until the next sample, delay_ns without it: in the first moments of a command that may move itself away. */
int64_t cgroup_watch_delay(const struct cgroup_watch *w, uint64_t samples, int64_t delay_ns);

/* Which cgroup's limit it was, if not the container's own; NULL: none is known. Valid until the next call. */
const struct cgroup_limit *cgroup_watch_limit(struct cgroup_watch *w, const struct memory *memory);

/* The part of Ray's resource isolation that has a limit, as it was read last; false: there is none. */
bool cgroup_watch_isolation(const struct cgroup_watch *w, struct cgroup_limit *ret_limit);

#endif
