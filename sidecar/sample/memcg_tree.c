/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the memory cgroups, besides the container's own, in which its processes may be. */
#include "sidecar/sample/memcg_tree.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/directory.h"
#include "lib/units.h"
#include "sidecar/sample/rootfd.h"

#define FULL 0.95 /* part of a limit; the OOM killer comes when no more memory can be freed */
#define WALK_SHARE 50 /* walks take at most 1/WALK_SHARE of the time */
#define ALMOST_NEVER_NS (10 * NS_PER_SEC) /* between walks for which there is no reason */
#define LOST_MATTERS_NS (10 * NS_PER_SEC) /* an OOM kill older than this does not explain an end */

/*
 * Returns whether we have to sum up, because the container's own counter leaves out what happens
 * below it.
 */
static bool memcg_tree_sums(const struct memcg_tree *t)
{
	return t->place.version == 1 || t->place.local_events;
}

static int64_t memcg_tree_rise(int64_t before, int64_t after)
{
	return MAX(after - MAX(before, (int64_t)0), (int64_t)0);
}

static struct memcg_node *find_node(struct memcg_tree *t, const char *path)
{
	for (size_t i = 0; i < t->n_nodes; i++)
		if (strcmp(t->nodes[i].path, path) == 0)
			return &t->nodes[i];
	return NULL;
}

/* Returns NULL if there is no room or the cgroup cannot be read. */
static struct memcg_node *add_node(struct memcg_tree *t, const char *path, bool outside)
{
	if (t->n_nodes == MEMCG_NODES_MAX) {
		t->too_many = true;
		return NULL;
	}
	if (!t->nodes)
		t->nodes = calloc(MEMCG_NODES_MAX, sizeof(*t->nodes));
	if (!t->nodes)
		return NULL;
	struct memcg_node *node = &t->nodes[t->n_nodes];
	/* Without the memory controller a cgroup has no counters, and its parent counts for it. */
	if (!memcg_node_open(node, t->root_fd, t->place.version, path))
		return NULL;
	node->outside = outside;
	t->n_nodes++;
	return node;
}

/*
 * Returns whether the cgroup ran out of memory before it was removed. Between the kill and the
 * removal perhaps only some of its files were read, and the peak, which is read last, may be older
 * than the kill. So on v1 it is enough that the cgroup has a limit.
 */
static bool ran_out_before_it_went(const struct memcg_tree *t, const struct memcg_node *node)
{
	return node->limit > 0 && memcg_tree_rise(node->kills_before, node->kills) > 0 &&
	       (t->place.version == 1 || memcg_tree_rise(node->ooms_before, node->ooms) > 0);
}

static void drop_node(struct memcg_tree *t, size_t i, int64_t now_ns)
{
	struct memcg_node *node = &t->nodes[i];

	if (ran_out_before_it_went(t, node))
		t->gone = *node; /* its descriptors are not used any more */
	if (!node->only_limits && (memcg_tree_sums(t) || node->outside)) {
		t->kills_gone += node->outside ? memcg_tree_rise(node->kills_before, node->kills) :
						 MAX(node->kills, (int64_t)0);
		t->lost_ns = now_ns;
	}
	memcg_node_close(node);
	t->nodes[i] = t->nodes[--t->n_nodes];
	t->changed = true;
}

/* --- The walk --- */

struct walk {
	struct memcg_tree *tree;
	int64_t now_ns;
	unsigned int visits, entries;
};

static void memcg_tree_watch(const struct memcg_tree *t, int dir_fd)
{
	char path[40];

	if (t->inotify_fd < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir_fd);
	/* A second call for the same directory gives the same watch. */
	inotify_add_watch(t->inotify_fd, path, IN_CREATE | IN_DELETE | IN_ONLYDIR);
}

static void walk_into(struct walk *w, const char *path, unsigned int depth);

static void walk_entries(struct walk *w, DIR *dir, const char *path, unsigned int depth)
{
	const struct dirent *entry;

	while ((entry = dir_next(dir))) {
		char below[MEMCG_PATH_MAX];

		/* The container may show any directory as its cgroup. */
		if (++w->entries > MEMCG_ENTRIES_MAX) {
			w->tree->too_many = true;
			return;
		}
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		if (depth == MEMCG_DEPTH_MAX || w->visits == MEMCG_VISITS_MAX ||
		    (size_t)snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) >=
			    sizeof(below)) {
			w->tree->too_many = true;
			return;
		}
		w->visits++;
		if (!find_node(w->tree, below)) {
			/*
			 * Before it was watched, a cgroup in it may have come, counted something
			 * and gone.
			 */
			if (w->tree->walked_ns && memcg_tree_sums(w->tree))
				w->tree->lost_ns = w->now_ns;
			if (!add_node(w->tree, below, false))
				w->tree->incomplete = true;
		}
		walk_into(w, below, depth + 1);
	}
}

/* Opens a cgroup; "" is that of the root descriptor. */
static int open_cgroup(int root_fd, const char *path)
{
	return rootfd_open_no_fuse(root_fd, *path ? path : "/", O_RDONLY | O_DIRECTORY, NULL);
}

static void walk_into(struct walk *w, const char *path, unsigned int depth)
{
	int fd = open_cgroup(w->tree->root_fd, path);
	struct stat st;

	if (fd < 0)
		return;
	memcg_tree_watch(w->tree, fd);
	/* A directory has two links, and one more for each cgroup below it. */
	if (fstat(fd, &st) < 0 || st.st_nlink == 2) {
		close(fd);
		return;
	}
	if (depth == 0)
		w->tree->links = st.st_nlink;
	_cleanup_dir_ DIR *dir = dir_of_fd(fd);
	walk_entries(w, dir, path, depth);
}

static void memcg_tree_walk(struct memcg_tree *t, int64_t now_ns)
{
	struct walk w = { .tree = t, .now_ns = now_ns };
	int64_t began_ns = now_boottime_ns();

	if (!t->walked_ns) {
		/* Before the first walk, so that cgroups made during the walk are noticed. */
		t->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		if (t->base_fd >= 0)
			memcg_tree_watch(t, t->base_fd);
	}
	t->changed = t->incomplete = t->too_many = false;
	t->links = 2;
	walk_into(&w, t->place.path, 0);
	/* Cgroups that the first walk finds are older than the sidecar. */
	if (!t->walked_ns)
		memcg_tree_forget(t);
	t->walked_ns = now_ns;
	t->walk_took_ns = now_boottime_ns() - began_ns;
}

/* Reads the events that say whether cgroups came or went. */
static void memcg_tree_notice(struct memcg_tree *t, int64_t now_ns)
{
	char buf[16 * (sizeof(struct inotify_event) + NAME_MAX + 1)] __attribute__((aligned(8)));
	ssize_t n;
	struct stat st;

	if (t->inotify_fd < 0) {
		t->changed |=
			now_ns - t->walked_ns >= ALMOST_NEVER_NS ||
			(t->base_fd >= 0 && fstat(t->base_fd, &st) == 0 && st.st_nlink != t->links);
		return;
	}
	for (int i = 0; i < 16 && (n = read(t->inotify_fd, buf, sizeof(buf))) > 0; i++) {
		t->changed = true;
		for (const char *p = buf; p < buf + n;) {
			const struct inotify_event *e = (const void *)p;

			/* The cgroup may have counted a kill after we last read it. */
			if ((e->mask & (IN_DELETE | IN_Q_OVERFLOW)) && memcg_tree_sums(t))
				t->lost_ns = now_ns;
			p += sizeof(*e) + e->len;
		}
	}
}

void memcg_tree_init(struct memcg_tree *t, int root_fd, const struct memcg_place *place)
{
	*t = (struct memcg_tree){ .root_fd = root_fd, .place = *place, .changed = true };
	t->base_fd = open_cgroup(root_fd, place->path);
	t->inotify_fd = -1;
}

void memcg_tree_close(struct memcg_tree *t)
{
	if (!t->place.version)
		return;
	while (t->n_nodes > 0)
		memcg_node_close(&t->nodes[--t->n_nodes]);
	free(TAKE_PTR(t->nodes));
	closep(&t->inotify_fd);
	closep(&t->base_fd);
	t->place.version = 0;
}

static bool walk_is_due(const struct memcg_tree *t, int64_t now_ns, bool all_now)
{
	int64_t since = now_ns - t->walked_ns;

	if (!t->walked_ns || (all_now && (t->changed || t->incomplete)))
		return true;
	return (t->changed && since >= MAX(MEMCG_WALK_SPACING_NS, WALK_SHARE * t->walk_took_ns)) ||
	       (t->incomplete && since >= MAX(NS_PER_SEC, WALK_SHARE * t->walk_took_ns));
}

void memcg_tree_look(struct memcg_tree *t, int64_t now_ns, bool all_now)
{
	if (!t->place.version)
		return;
	if (t->walks)
		memcg_tree_notice(t, now_ns);

	for (size_t i = t->n_nodes; i-- > 0;)
		if (!memcg_node_read(&t->nodes[i]))
			drop_node(t, i, now_ns);

	if (t->walks && walk_is_due(t, now_ns, all_now))
		memcg_tree_walk(t, now_ns);
}

/* --- Following processes that are moved --- */

/* Starts to count. Kills counted before were not of the process that arrives now. */
static void begin_to_count(struct memcg_node *node)
{
	node->kills_before = node->kills;
	node->ooms_before = node->ooms;
}

/*
 * Adds the cgroups above that have limits. Ray's resource isolation sets one on the parent of the
 * workers' cgroup.
 */
static void add_limits_above(struct memcg_tree *t, const struct memcg_place *place)
{
	char path[MEMCG_PATH_MAX];

	memcpy(path, place->path, sizeof(path));
	for (char *slash; (slash = strrchr(path, '/')) && (size_t)(slash - path) > place->top;) {
		*slash = '\0';
		/* From here on the cgroups are above the container, too. */
		if (path_is_below(t->place.path, path))
			return;
		struct memcg_node *node = find_node(t, path) ? NULL : add_node(t, path, true);
		if (!node)
			continue;
		node->only_limits = true;
		begin_to_count(node);
		if (node->limit <= 0)
			memcg_node_close(&t->nodes[--t->n_nodes]);
	}
}

/*
 * Adds the cgroup of a process. Reading mountinfo may take milliseconds, so it is done only for a
 * new cgroup.
 */
static void go_to(struct memcg_tree *t, pid_t pid)
{
	struct memcg_place place;

	if (memcg_place_of(t->root_fd, pid, &place, NULL) < 0)
		return;
	if (!place.own)
		memcg_place_beside(&t->place, &place);
	struct memcg_node *node = find_node(t, place.path);
	if (node) {
		/* From now on its counts are used, too. */
		node->only_limits = false;
		return;
	}
	node = place.own ? add_node(t, place.path, true) : NULL;
	if (!node) {
		t->hidden = true;
		return;
	}
	begin_to_count(node);
	add_limits_above(t, &place);
}

bool memcg_tree_follow(struct memcg_tree *t, pid_t pid)
{
	enum memcg_move move = MEMCG_MOVE_UNKNOWN;

	/* The walk finds the cgroups below. */
	if (t->place.version)
		move = memcg_follow_look(&t->follow, t->root_fd, pid, &t->place, t->walks);
	if (move == MEMCG_MOVE_NEW)
		go_to(t, pid);
	return move == MEMCG_MOVE_NONE;
}

/* --- Results --- */

int64_t memcg_tree_kills(const struct memcg_tree *t)
{
	int64_t kills = t->kills_gone;

	for (size_t i = 0; i < t->n_nodes; i++) {
		const struct memcg_node *node = &t->nodes[i];

		if (node->only_limits)
			continue;
		if (node->outside)
			kills += memcg_tree_rise(node->kills_before, node->kills);
		else if (memcg_tree_sums(t))
			kills += MAX(node->kills, (int64_t)0);
	}
	return kills;
}

int64_t memcg_tree_kills_outside(const struct memcg_tree *t)
{
	int64_t kills = 0;

	for (size_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].outside && !t->nodes[i].only_limits)
			kills += memcg_tree_rise(t->nodes[i].kills_before, t->nodes[i].kills);
	return kills;
}

void memcg_tree_forget(struct memcg_tree *t)
{
	t->gone.path[0] = '\0';
	for (size_t i = 0; i < t->n_nodes; i++) {
		struct memcg_node *node = &t->nodes[i];

		/* Those outside are counted from the moment when they were first seen. */
		if (!node->outside)
			node->kills_before = node->kills;
		node->ooms_before = node->ooms;
	}
}

void memcg_tree_count_from_start(struct memcg_tree *t)
{
	for (size_t i = 0; i < t->n_nodes; i++)
		if (!t->nodes[i].outside)
			t->nodes[i].kills_before = t->nodes[i].ooms_before = 0;
}

/*
 * On v1 the kernel does not say which limit it was. It is one that was met, of a cgroup around the
 * victim.
 */
static bool limit_was_met(const struct memcg_tree *t, const struct memcg_node *node)
{
	if (node->limit <= 0 || node->peak < node->limit)
		return false;
	for (size_t i = 0; i < t->n_nodes; i++)
		if (path_is_below(t->nodes[i].path, node->path) &&
		    memcg_tree_rise(t->nodes[i].kills_before, t->nodes[i].kills) > 0)
			return true;
	return false;
}

const struct memcg_node *memcg_tree_ran_out(const struct memcg_tree *t)
{
	const struct memcg_node *found = NULL;

	for (size_t i = 0; i < t->n_nodes; i++) {
		const struct memcg_node *node = &t->nodes[i];
		bool met = t->place.version == 2 ?
				   node->limit > 0 &&
					   memcg_tree_rise(node->ooms_before, node->ooms) > 0 :
				   limit_was_met(t, node);

		/* v2 counts in the parents as well, so the lowest one is the right one. */
		if (met && (!found || path_is_below(node->path, found->path)))
			found = node;
	}
	return found || !t->gone.path[0] ? found : &t->gone;
}

bool memcg_tree_was_full(const struct memcg_node *node)
{
	return node->limit > 0 &&
	       (double)MAX(node->usage, node->usage_before) >= FULL * (double)node->limit;
}

const struct memcg_node *memcg_tree_tightest(const struct memcg_tree *t)
{
	const struct memcg_node *found = NULL;

	for (size_t i = 0; i < t->n_nodes; i++) {
		const struct memcg_node *node = &t->nodes[i];

		if (node->limit > 0 && node->usage >= 0 &&
		    (!found || node->limit - node->usage < found->limit - found->usage))
			found = node;
	}
	return found;
}

const char *memcg_tree_name(const struct memcg_tree *t, const struct memcg_node *node)
{
	const char *name = node->path + (node->outside ? t->place.top : strlen(t->place.path));

	return *name == '/' && !node->outside ? name + 1 : name;
}

const char *memcg_tree_unseen(const struct memcg_tree *t, int64_t ended_ns)
{
	bool elsewhere = t->place.writable && strlen(t->place.path) > t->place.top;

	if (!t->place.version)
		return NULL;
	if (t->hidden)
		return "OOM kills in the memory cgroup that a process was moved to, which cannot be seen from here";
	if (t->lost_ns && ended_ns - t->lost_ns <= LOST_MATTERS_NS)
		return "OOM kills in a memory cgroup below that was removed";
	if (t->too_many && memcg_tree_sums(t))
		return "OOM kills in memory cgroups below: there are too many cgroups";
	if (elsewhere && t->killed_elsewhere)
		return "OOM kills in another memory cgroup, if the process was moved to one just before";
	return NULL;
}
