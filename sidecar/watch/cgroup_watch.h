/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a container's memory from all cgroups that concern it: its own, those below it, those to
 * which its processes were moved, and the one above it that sets its limit.
 */
#pragma once

#include "sidecar/sample/memcg_above.h"
#include "sidecar/sample/memcg_tree.h"
#include "sidecar/verdict/cgroup_limit.h"

/* The container's own cgroup, as its launcher passed it. */
struct handed_cgroup {
	/*
	 * O_PATH of its directory, -1: none; stays the owner's, and must stay open while the cgroup
	 * is watched
	 */
	int fd;
	int version; /* 1 or 2 */
	/*
	 * Its directory as the launcher sees it, if the cgroup was made for the container; NULL:
	 * not known
	 */
	const char *made;
};

struct cgroup_watch {
	struct memcg_tree tree;
	struct memcg_above above;
	pid_t command; /* as the container's /proc numbers it, 0 unknown */
	int64_t followed_ns;
	int64_t kills; /* OOM kills that the container's cgroups count, as last read */
	/*
	 * When the command was last found, or at first: kills, and the OOM kills on the whole
	 * machine (-1: not known).
	 */
	int64_t kills_then, machine_kills_then;
	/* the container's cgroup is the one that was made for it, wherever its launcher is */
	bool made;
	struct cgroup_limit limit; /* the latest result of cgroup_watch_limit */
};

/*
 * Opens own and the cgroups around it. own is the cgroup that the launcher passed; if there is none
 * (NULL) or it cannot be read, it is the cgroup that was made for the container; if that is not
 * known either, the cgroup that the container's mounts show. Fails only if own cannot be opened;
 * then there is nothing to close.
 */
int cgroup_watch_open(struct cgroup_watch *w, struct memcg *own, int root_fd, pid_t launcher,
		      const struct handed_cgroup *handed, struct err *err);
void cgroup_watch_close(struct cgroup_watch *w);

/* Says that the cgroups below are the container's, too; the next reading counts what they count. */
void cgroup_watch_look_below(struct cgroup_watch *w);

/*
 * Like memcg_read of own. at_end: the container is dying, so everything is read now, even if it was
 * read a moment ago.
 */
int cgroup_watch_read(struct cgroup_watch *w, const struct memcg *own, int64_t now_ns, bool at_end,
		      struct memory *ret_memory);

/*
 * Says which process the command is (as the container's /proc numbers it), and finds its cgroup at
 * once. kills_before: how many OOM kills the container's cgroups counted before those that may have
 * taken the command, which may be gone already; -1: as many as the next reading finds.
 */
void cgroup_watch_find(struct cgroup_watch *w, pid_t command, int64_t kills_before);

/*
 * Finds out in which cgroups the command and the n largest processes are now. Does nothing if
 * processes cannot be moved away, or if the last search was a short time ago.
 */
void cgroup_watch_follow(struct cgroup_watch *w, int64_t now_ns, const pid_t *pids, size_t n);

/*
 * A noun phrase for the OOM kills that may be missing from the counts, as memcg_tree_unseen; NULL:
 * none. of_command: it was the command that ended; only of the command is it known where it was.
 */
const char *cgroup_watch_unseen(const struct cgroup_watch *w, int64_t ended_ns, bool of_command);

/*
 * Bytes that are free below the nearest limit: the container's own (in memory) or that of a cgroup
 * below. -1: there is no limit.
 */
int64_t cgroup_watch_headroom(const struct cgroup_watch *w, const struct memory *memory);

/*
 * Nanoseconds until the next sample: delay_ns, or less in the first moments of a command that may
 * move itself away.
 */
int64_t cgroup_watch_delay(const struct cgroup_watch *w, uint64_t samples, int64_t delay_ns);

/*
 * The cgroup at the limit of which memory ran out, if it is not the container's own; NULL: none is
 * known. Valid until the next call.
 */
const struct cgroup_limit *cgroup_watch_limit(struct cgroup_watch *w, const struct memory *memory);

/*
 * The part of Ray's resource isolation that has a limit, as of the last reading. Returns false if
 * there is none.
 */
bool cgroup_watch_isolation(const struct cgroup_watch *w, struct cgroup_limit *ret_limit);
