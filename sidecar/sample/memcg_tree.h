/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches the other memory cgroups that a container's processes may be in: those below the
 * container's own, and those to which a process was moved (memcg_follow.h).
 *
 * Theory of operation: cgroup v1 counts an OOM kill only in the victim's own cgroup; v2 counts it
 * in all cgroups above, too (except with the mount option memory_localevents). On both, a limit may
 * be set below the container's cgroup. So the tree below is walked, and each cgroup's counters stay
 * open so that they can be read right after a kill (memcg_node.h). cgroups are made and removed
 * only by mkdir and rmdir, which inotify reports. So if there is no cgroup below, a look costs one
 * read that returns at once. If inotify is refused, the number of links of the container's
 * directory shows almost as much.
 *
 * A hostile container may make thousands of cgroups. The limits below bound how many are kept, how
 * deep they are, and how many directories a walk visits. memcg_tree_unseen names what is beyond
 * these limits, or came and went between two looks.
 */
#pragma once

#include "sidecar/sample/memcg.h"
#include "sidecar/sample/memcg_follow.h"
#include "sidecar/sample/memcg_node.h"

#define MEMCG_NODES_MAX 32
#define MEMCG_DEPTH_MAX 8
#define MEMCG_VISITS_MAX 256 /* directories in a walk */
#define MEMCG_ENTRIES_MAX \
	(256 * MEMCG_VISITS_MAX) /* files and directories in a walk; a cgroup has some 60 files */
/* between walks, or fifty times what the last walk took */
#define MEMCG_WALK_SPACING_NS ((int64_t)5 * 1000 * 1000)

struct memcg_tree {
	int root_fd; /* the owner's */
	struct memcg_place place; /* of the container */
	int inotify_fd, base_fd; /* -1: none */
	struct memcg_node *nodes; /* NULL while there are none */
	size_t n_nodes;
	uint64_t links; /* of the container's directory, at the last walk */
	int64_t kills_gone; /* OOM kills that were counted in cgroups that are gone */
	/*
	 * The last cgroup to go of those that ran out of memory since memcg_tree_forget; path "":
	 * none.
	 */
	struct memcg_node gone;
	int64_t walked_ns, walk_took_ns;
	struct memcg_follow follow;
	/*
	 * Set by the owner: the container's cgroups count no OOM kill since the command was last
	 * found in one of them, and the machine may have counted one.
	 */
	bool killed_elsewhere;
	int64_t lost_ns; /* since when cgroups that are gone may have counted more kills; 0: none */
	/* set by the owner: only the container uses its cgroup, and so the cgroups below */
	bool walks;
	bool changed; /* a walk is due */
	/*
	 * some cgroups below have no counters yet: v2 adds them, without an event, when a
	 * controller is enabled
	 */
	bool incomplete;
	bool too_many; /* there are more cgroups than are kept */
	bool hidden; /* a process was moved to a cgroup that cannot be seen */
};

/*
 * Initializes the tree. Nothing is read yet, and cgroups below are not searched yet. place is the
 * container's cgroup.
 */
void memcg_tree_init(struct memcg_tree *t, int root_fd, const struct memcg_place *place);
void memcg_tree_close(struct memcg_tree *t);

/*
 * Reads the counters. Walks the tree if something changed and the last walk is long enough ago, or
 * all_now is set.
 */
void memcg_tree_look(struct memcg_tree *t, int64_t now_ns, bool all_now);

/*
 * Follows a process of the container: if it was moved to a cgroup that is not below the
 * container's, watches that cgroup too. Returns whether that cgroup was watched before: the kills
 * that a new one has counted until now may not concern the process.
 */
bool memcg_tree_follow(struct memcg_tree *t, pid_t pid);

/* The number of OOM kills that the container's own counter does not show. */
int64_t memcg_tree_kills(const struct memcg_tree *t);
/*
 * The number of these kills that came in cgroups outside of the container's; their victims may be
 * foreign processes.
 */
int64_t memcg_tree_kills_outside(const struct memcg_tree *t);

/* Ignore the kills so far, or count all kills below in the container's life. */
void memcg_tree_forget(struct memcg_tree *t);
void memcg_tree_count_from_start(struct memcg_tree *t);

/*
 * The cgroup at the limit of which the kernel has killed since the last memcg_tree_forget; NULL:
 * none is known. Valid until the next look.
 */
const struct memcg_node *memcg_tree_ran_out(const struct memcg_tree *t);

/*
 * Whether that cgroup was near its limit in one of the last two looks. To be asked right after the
 * look that shows the kill: later the victim's memory is gone.
 */
bool memcg_tree_was_full(const struct memcg_node *node);

/* The cgroup with the least room up to its limit; NULL: none has a limit. */
const struct memcg_node *memcg_tree_tightest(const struct memcg_tree *t);

/* Its path below the container's cgroup: "ray-node_1/user"; or from the top if it is outside. */
const char *memcg_tree_name(const struct memcg_tree *t, const struct memcg_node *node);

/*
 * A noun phrase for the OOM kills right before ended_ns that may be missing from the counts; NULL:
 * none. Static text.
 */
const char *memcg_tree_unseen(const struct memcg_tree *t, int64_t ended_ns);
