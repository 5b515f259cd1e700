/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a container's memory from all cgroups that concern it: its own, those below it, those to which its processes were moved,
 * and the one above whose limit holds for it.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_CGROUP_WATCH_H
#define AFTERGLOW_SIDECAR_RECORD_CGROUP_WATCH_H

#include "sidecar/sample/memcg_above.h"
#include "sidecar/sample/memcg_tree.h"
#include "sidecar/verdict/cgroup_limit.h"

/* The container's own, as its launcher handed it over. */
struct handed_cgroup {
	int fd; /* O_PATH of its directory, -1: none; the owner's, as long as it is watched */
	int version; /* 1 or 2 */
	const char *made; /* its directory, as the launcher sees it, if it was made for the container and that is known; else NULL */
};

struct cgroup_watch {
	struct memcg_tree tree;
	struct memcg_above above;
	pid_t command; /* as the container's /proc numbers it, 0 unknown; set by the owner */
	int64_t followed_ns;
	bool made; /* the container's is the one that was made for it, wherever its launcher is */
	struct cgroup_limit limit; /* what cgroup_watch_limit said last */
};

/*
 * Opens own and what is around it: the one that was handed over, else (NULL, or it cannot be read) the one that was made for it, else
 * the one that the container's mounts show. Fails only without own; then there is nothing to close.
 */
int cgroup_watch_open(struct cgroup_watch *w, struct memcg *own, int root_fd, pid_t launcher, const struct handed_cgroup *handed,
		      struct err *err);
void cgroup_watch_close(struct cgroup_watch *w);

/* Like memcg_read of own. at_end: the container is dying, so everything is read now, however lately that was done. */
int cgroup_watch_read(struct cgroup_watch *w, const struct memcg *own, int64_t now_ns, bool at_end, struct memory *ret_memory);

/*
 * Finds out in which cgroups the command and the n largest processes are now. Does nothing where processes cannot be moved away,
 * or when it was done a short time ago.
 */
void cgroup_watch_follow(struct cgroup_watch *w, int64_t now_ns, const pid_t *pids, size_t n);

/* Bytes up to the nearest limit, the container's own (in memory) or one below it. -1: there is no limit. */
int64_t cgroup_watch_headroom(const struct cgroup_watch *w, const struct memory *memory);

/* Nanoseconds until the next sample: delay_ns, or less in the first moments of a command that may move itself away. */
int64_t cgroup_watch_delay(const struct cgroup_watch *w, uint64_t samples, int64_t delay_ns);

/* The cgroup whose limit was met, if not the container's own; NULL: none is known. Valid until the next call. */
const struct cgroup_limit *cgroup_watch_limit(struct cgroup_watch *w, const struct memory *memory);

/* The part of Ray's resource isolation that has a limit, as it was read last; false: there is none. */
bool cgroup_watch_isolation(const struct cgroup_watch *w, struct cgroup_limit *ret_limit);

#endif
