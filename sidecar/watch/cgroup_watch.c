/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a container's memory from all cgroups that concern it. */
#include "sidecar/watch/cgroup_watch.h"

#include <fcntl.h>
#include <string.h>

#include "lib/fileio.h"
#include "lib/printable.h"
#include "lib/units.h"
#include "sidecar/sample/memcg_search.h"
#include "sidecar/sample/proc_stat.h"
#include "sidecar/sample/vm_events.h"

#define MOUNTINFO_MAX (1 << 20)
#define FOLLOW_SPACING_NS (100 * NS_PER_MS)
/*
 * A command that moves itself to another cgroup does so at its start, as systemd-run --scope does.
 */
#define EARLY_SAMPLES 20
#define EARLY_NS (20 * NS_PER_MS)

/* The mount shows more than the container's cgroup, and cgroups can be written to. */
static bool can_move_away(const struct cgroup_watch *w)
{
	const struct memcg_place *place = &w->tree.place;

	return place->version && place->writable && strlen(place->path) > place->top;
}

/*
 * Whether cgroup2 is mounted with memory_localevents; its mount options are the same on the whole
 * machine.
 */
static bool counts_locally(int version)
{
	_cleanup_strbuf_ struct strbuf mounts = STRBUF_INIT(MOUNTINFO_MAX);

	return version == 2 && file_read(AT_FDCWD, "/proc/self/mountinfo", &mounts, NULL) == 0 &&
	       memcg_local_events(strbuf_str(&mounts));
}

/*
 * Uses the cgroup that the launcher opened. It is the top of what the container sees: nothing is
 * above it, and no process can have moved out of it.
 */
static bool open_handed(struct cgroup_watch *w, struct memcg *own,
			const struct handed_cgroup *handed)
{
	const struct memcg_place place = { .cgroup = "/",
					   .version = handed->version,
					   .own = true,
					   .whole = true,
					   .local_events = counts_locally(handed->version) };

	if (memcg_open_at(own, handed->fd, &place, NULL) < 0)
		return false;
	memcg_tree_init(&w->tree, handed->fd, &place);
	return true;
}

int cgroup_watch_open(struct cgroup_watch *w, struct memcg *own, int root_fd, pid_t launcher,
		      const struct handed_cgroup *handed, struct err *err)
{
	struct memcg_place process, place;

	*w = (struct cgroup_watch){ .kills_then = -1, .machine_kills_then = -1 };
	if (handed && handed->fd >= 0 && open_handed(w, own, handed))
		return 0;
	int r = memcg_place_of(root_fd, launcher, &process, err);
	if (r < 0)
		return r;
	if (!process.own)
		memcg_search(root_fd, &process);
	place = process;
	/* A command that moves its launcher to another cgroup does so at once. */
	w->made = handed && handed->made && memcg_place_to_made(&place, handed->made);
	if (!w->made)
		memcg_place_to_container(&place);
	r = memcg_open_at(own, root_fd, &place, NULL);
	/*
	 * The machine's topmost cgroup has no memory counters: a privileged Ray makes its cgroups
	 * below that one.
	 */
	if (r < 0) {
		w->made = false;
		place = process;
		r = memcg_open_at(own, root_fd, &place, err);
	}
	/*
	 * If the mount does not show the process's own cgroup, the whole machine may be below it.
	 */
	if (r < 0 || !place.own)
		return r;
	memcg_tree_init(&w->tree, root_fd, &place);
	w->tree.killed_elsewhere = true; /* until the command has been found */
	memcg_above_init(&w->above, root_fd, &place);
	return 0;
}

void cgroup_watch_close(struct cgroup_watch *w)
{
	memcg_tree_close(&w->tree);
	memcg_above_close(&w->above);
}

void cgroup_watch_look_below(struct cgroup_watch *w)
{
	w->tree.walks = true;
	w->kills_then = -1;
}

/*
 * Whether there were OOM kills since the command was last found, and none that the container's
 * cgroups count: then one may have taken the command in a cgroup to which it had just moved.
 */
static bool killed_elsewhere(const struct cgroup_watch *w)
{
	int64_t now = vm_events_oom_kills();

	return w->kills == w->kills_then &&
	       (now < 0 || w->machine_kills_then < 0 || now > w->machine_kills_then);
}

static void follow_command(struct cgroup_watch *w)
{
	int64_t machine_kills = vm_events_oom_kills();

	/* Where others are, such as the launcher, does not tell where the command may be killed. */
	if (!memcg_tree_follow(&w->tree, w->command))
		return;
	/*
	 * A zombie of cgroup v2 shows the cgroup where it was killed, and the machine has counted
	 * that kill.
	 */
	if (proc_stat_gone(w->tree.root_fd, w->command))
		return;
	w->tree.killed_elsewhere = false;
	w->kills_then = w->kills;
	w->machine_kills_then = machine_kills;
}

int cgroup_watch_read(struct cgroup_watch *w, const struct memcg *own, int64_t now_ns, bool at_end,
		      struct memory *ret_memory)
{
	struct memory memory;

	/*
	 * The cgroups below are read first, because a kill of the whole group removes them before
	 * the container's own.
	 */
	memcg_tree_look(&w->tree, now_ns, at_end);
	int r = memcg_read(own, &memory, NULL);
	if (r < 0)
		return r;
	if (memory.oom_kill >= 0)
		memory.oom_kill += memcg_tree_kills(&w->tree);
	w->kills = memory.oom_kill;
	if (w->kills_then < 0)
		w->kills_then = w->kills;
	if (at_end && can_move_away(w))
		w->tree.killed_elsewhere = killed_elsewhere(w);
	memcg_above_apply(&w->above, now_ns, &memory);
	*ret_memory = memory;
	return 0;
}

void cgroup_watch_find(struct cgroup_watch *w, pid_t command, int64_t kills_before)
{
	w->command = command;
	w->kills_then = kills_before;
	if (can_move_away(w) && command > 0)
		follow_command(w);
}

void cgroup_watch_follow(struct cgroup_watch *w, int64_t now_ns, const pid_t *pids, size_t n)
{
	if (!can_move_away(w) || (w->followed_ns && now_ns - w->followed_ns < FOLLOW_SPACING_NS))
		return;
	w->followed_ns = now_ns;
	if (w->command > 0)
		follow_command(w);
	for (size_t i = 0; i < n; i++)
		if (pids[i] != w->command)
			memcg_tree_follow(&w->tree, pids[i]);
}

const char *cgroup_watch_unseen(const struct cgroup_watch *w, int64_t ended_ns, bool of_command)
{
	const char *unseen = memcg_tree_unseen(&w->tree, ended_ns);

	if (unseen || of_command || !can_move_away(w))
		return unseen;
	return "OOM kills in another memory cgroup, if the process was moved to one";
}

int64_t cgroup_watch_headroom(const struct cgroup_watch *w, const struct memory *memory)
{
	/* Memory that the kernel can reclaim at once does not count. */
	int64_t used = memory->usage - MAX(memory->inactive_file, (int64_t)0);
	int64_t headroom = memory->limit < 0 ? -1 : MAX(memory->limit - used, (int64_t)0);
	const struct memcg_node *tightest = memcg_tree_tightest(&w->tree);

	if (!tightest)
		return headroom;
	used = MAX(tightest->limit - tightest->usage, (int64_t)0);
	return headroom < 0 ? used : MIN(headroom, used);
}

int64_t cgroup_watch_delay(const struct cgroup_watch *w, uint64_t samples, int64_t delay_ns)
{
	return samples < EARLY_SAMPLES && can_move_away(w) ? MIN(delay_ns, EARLY_NS) : delay_ns;
}

/* The process that makes a cgroup chooses its name. */
static void cgroup_name_copy(char name[static CGROUP_LIMIT_NAME_MAX], const char *from)
{
	copy_printable(name, CGROUP_LIMIT_NAME_MAX, from, strlen(from));
}

static struct cgroup_limit limit_of(const struct cgroup_watch *w, const struct memcg_node *node)
{
	struct cgroup_limit limit = {
		.place = node->outside ? CGROUP_LIMIT_OUTSIDE : CGROUP_LIMIT_BELOW,
		.part = isolation_part_of(node->path),
		.limit = node->limit,
		.usage = node->usage,
		.peak = node->peak,
	};

	cgroup_name_copy(limit.name, memcg_tree_name(&w->tree, node));
	return limit;
}

bool cgroup_watch_isolation(const struct cgroup_watch *w, struct cgroup_limit *ret_limit)
{
	for (size_t i = 0; i < w->tree.n_nodes; i++) {
		const struct memcg_node *node = &w->tree.nodes[i];

		if (node->limit > 0 && isolation_part_of(node->path) == ISOLATION_USER) {
			*ret_limit = limit_of(w, node);
			return true;
		}
	}
	return false;
}

const struct cgroup_limit *cgroup_watch_limit(struct cgroup_watch *w, const struct memory *memory)
{
	const struct memcg_node *node = memcg_tree_ran_out(&w->tree);
	const char *above = memcg_above_name(&w->above);

	if (node) {
		w->limit = limit_of(w, node);
		return &w->limit;
	}
	if (!above)
		return NULL;
	w->limit = (struct cgroup_limit){ .place = CGROUP_LIMIT_ABOVE,
					  .limit = memory->limit,
					  .usage = memory->usage,
					  .peak = memory->peak };
	cgroup_name_copy(w->limit.name, above);
	return &w->limit;
}
