/* SPDX-License-Identifier: Apache-2.0 */
/* Observes one container over time. */
#include "sidecar/watch/observer.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "lib/units.h"
#include "sidecar/verdict/oom_cause.h"

#define LAST_OF_LIFE_NS (2 * NS_PER_SEC)
#define SWEEP_CHANGE ((int64_t)4 << 20) /* bytes of usage that are a reason for a sweep */
/*
 * Part of all anonymous memory: the kernel's counters for the cgroup and for its processes differ
 * by as much
 */
#define SWEEP_CHANGE_SHARE 64
#define SWEEP_FEW 64 /* so few processes are swept whatever the usage is */
#define READ_AT_ONCE 256 /* unchanged processes that are read in one sample */
/* How many of the largest processes are read between sweeps, besides the command. */
#define FOLLOWED 2
#define SURVIVED_NS NS_PER_SEC
#define REMEMBER_NS (19 * NS_PER_MS) /* a little less than 20 ms */
#define VICTIM_DIES_NS (5 * NS_PER_SEC) /* a victim frees a GiB in a tenth of a second */
#define DWARF_PART 64 /* a process with less than 1/DWARF_PART of the memory counts as small */

void observer_leave_errand(struct observer *o, struct errand *e)
{
	errand_cancel(&o->files);
	o->files = *e;
	*e = ERRAND_NONE;
}

int observer_open(struct observer *o, int root_fd, pid_t launcher,
		  const struct handed_cgroup *cgroup, struct err *err)
{
	*o = (struct observer){ .root_fd = root_fd,
				.baseline = MEMORY_ABSENT,
				.latest = MEMORY_ABSENT,
				.last.memory = MEMORY_ABSENT,
				.last.shm_used = -1,
				.node = RAY_NODE_UNKNOWN,
				.launcher = launcher };
	o->history = history_new();
	if (!o->history)
		return err_set(err, ENOMEM, "history");
	o->ray = ray_watch_new(root_fd, now_boottime_ns());
	ray_watch_of_others(o->ray, launcher != 1);
	o->table = process_table_new(root_fd, launcher, err);
	if (cgroup_watch_open(&o->cgroups, &o->memcg, root_fd, launcher, cgroup, err) == 0)
		cgroup_watch_read(&o->cgroups, &o->memcg, now_boottime_ns(), true, &o->baseline);
	o->shmem_at_start = o->baseline.shmem;
	return 0;
}

void observer_close(struct observer *o)
{
	ray_watch_free(TAKE_PTR(o->ray));
	errand_cancel(&o->files);
	closep(&o->root_fd);
	kernel_log_close(&o->kernel);
	memcg_close(&o->memcg);
	cgroup_watch_close(&o->cgroups);
	process_table_free(TAKE_PTR(o->table));
	history_free(TAKE_PTR(o->history));
}

void observer_leave_out_memory(struct observer *o)
{
	memcg_close(&o->memcg);
	cgroup_watch_close(&o->cgroups);
	o->baseline = MEMORY_ABSENT;
	o->shmem_at_start = o->baseline.shmem;
}

void observer_look_below(struct observer *o)
{
	cgroup_watch_look_below(&o->cgroups);
	if (o->memcg.version)
		observer_read_memory(o, now_boottime_ns(), true, &o->baseline);
}

void observer_count_from_start(struct observer *o)
{
	o->baseline.oom_kill = MIN(o->baseline.oom_kill, (int64_t)0);
	o->baseline.oom_group_kill = MIN(o->baseline.oom_group_kill, (int64_t)0);
	/*
	 * These counters show which memory ran out. If the sidecar meets a container only after its
	 * OOM kill, they have risen already.
	 */
	o->baseline.oom = MIN(o->baseline.oom, (int64_t)0);
	o->baseline.limit_hits = MIN(o->baseline.limit_hits, (int64_t)0);
	o->baseline.peak = MIN(o->baseline.peak, (int64_t)0);
	o->counts_from_start = true;
	memcg_tree_count_from_start(&o->cgroups.tree);
}

void observer_resume_counters(struct observer *o, int64_t now_ns)
{
	struct memory now;

	if (!o->memcg.version || o->memcg.fds[0] < 0 ||
	    observer_read_memory(o, now_ns, true, &now) < 0 || now.oom_kill >= o->baseline.oom_kill)
		return;
	o->baseline.oom_kill = now.oom_kill;
	o->cgroups.tree.lost_ns = now_ns;
}

/*
 * If the usage has not grown much, no process has grown much. Then, as between two sweeps, it is
 * enough to read the largest processes.
 */
static enum sweep_reason reason_to_sweep(const struct observer *o, const struct memory *memory)
{
	int64_t moved = memory->usage - o->swept_usage;

	if (memory->oom_kill != o->last.memory.oom_kill)
		return SWEEP_KILLED;
	if (!o->memcg.version || moved >= SWEEP_CHANGE || -moved >= SWEEP_CHANGE ||
	    o->last.n_processes <= SWEEP_FEW)
		return SWEEP_MOVED;
	return process_table_new_names(o->table) ? SWEEP_NEWS : SWEEP_REST;
}

static int64_t processor_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

static void look_at_all(struct observer *o, int64_t now_ns, const struct memory *memory)
{
	process_table_sweep_active(o->table, now_ns, NULL);
	process_table_refresh_names(o->table, now_ns);
	o->swept_ns = now_ns;
	o->swept_usage = memory->usage;
	o->last.n_top = process_table_top(o->table, now_ns, o->last.top, REPORT_TOP_MAX);
	process_table_components(o->table, &o->last.components);
	process_table_note_tasks(o->table);
	process_table_zombies(o->table, &o->last.zombies);
	ray_watch_node(o->ray, process_table_find(o->table, "raylet"), &o->node);
	if (o->processes.n > 0)
		ray_watch_of_others(o->ray, false);
	o->last.shm_used = o->node.shm_used;
	vm_events_memory(&o->last.machine);
}

static void glance(struct observer *o, int64_t now_ns)
{
	process_table_glance(o->table, now_ns);
	process_table_refresh_names(o->table, now_ns);
	o->last.n_top = process_table_top(o->table, now_ns, o->last.top, REPORT_TOP_MAX);
}

/*
 * Finds a process that changed without being read. Sweeps skip processes that have not changed for
 * a while. If those that are read do not account for the change of the cgroup's anonymous memory,
 * one of the others has changed, and they are read, some in each sample.
 */
static void find_unread_change(struct observer *o, int64_t now_ns, const struct memory *memory)
{
	int64_t own = process_table_own(o->table), began_ns;
	int64_t unexplained = (memory->anon - o->explained_anon) - (own - o->explained_own);

	if (memory->anon < 0 ||
	    (unexplained < MAX(SWEEP_CHANGE, memory->anon / SWEEP_CHANGE_SHARE) &&
	     -unexplained < MAX(SWEEP_CHANGE, memory->anon / SWEEP_CHANGE_SHARE))) {
		o->read_past = 0;
		return;
	}
	if (!sweep_plan_may_spend(&o->sweeps, now_ns))
		return;
	began_ns = processor_ns();
	o->read_past += process_table_read_resting(o->table, now_ns, READ_AT_ONCE);
	sweep_plan_spend(&o->sweeps, processor_ns() - began_ns);
	if (o->read_past < process_table_count(o->table))
		return;
	/*
	 * All have been read, so what is left is the difference between the two ways of counting.
	 */
	o->explained_anon = memory->anon;
	o->explained_own = process_table_own(o->table);
	o->read_past = 0;
}

/*
 * Memory that is far from its limit explains no death, so nothing more is read then. It is read as
 * often as samples are remembered: they may follow each other much faster.
 */
static void look_at_largest(struct observer *o, int64_t now_ns, const struct memory *memory)
{
	pid_t pid = o->last.n_top > 0 ? o->last.top[0].pid : 0;

	if (!pid || memory->limit <= 0 || memory->usage < memory->limit / 2)
		o->last.large = (struct large_process){ 0 };
	else if (pid != o->last.large.pid || now_ns - o->remembered_ns >= REMEMBER_NS)
		large_process_read(o->root_fd, pid, &o->last.large);
}

static void take_snapshot(struct observer *o, int64_t now_ns, const struct memory *memory)
{
	enum sweep_reason reason = o->table ? reason_to_sweep(o, memory) : SWEEP_REST;
	int64_t began_ns;

	o->last.at_ns = now_ns;
	o->last.memory = *memory;
	if (!o->table)
		return;
	if (sweep_plan_due(&o->sweeps, now_ns, reason)) {
		began_ns = processor_ns();
		look_at_all(o, now_ns, memory);
		sweep_plan_swept(&o->sweeps, now_ns, processor_ns() - began_ns);
	} else
		glance(o, now_ns);
	if (o->swept_ns == now_ns || o->read_past > 0)
		find_unread_change(o, now_ns, memory);
	look_at_largest(o, now_ns, memory);
	o->last.n_processes = (uint32_t)process_table_count(o->table);
	o->last.ends = process_table_ends(o->table);
}

static void remember(struct observer *o)
{
	struct sample s = {
		.at_ns = o->last.at_ns,
		.memory = o->last.memory,
		.n_processes = o->last.n_processes,
		.n_top = (uint32_t)MIN(o->last.n_top, (size_t)SAMPLE_TOP),
	};

	for (uint32_t i = 0; i < s.n_top; i++) {
		s.top[i].pid = o->last.top[i].pid;
		s.top[i].rss = o->last.top[i].rss;
		s.top[i].shared = o->last.top[i].shared;
		memcpy(s.top[i].name, o->last.top[i].name, sizeof(s.top[i].name));
	}
	history_add(o->history, &s);
	o->remembered_ns = s.at_ns;
}

/*
 * Returns whether the snapshot shows that process with memory. A process without memory has ended
 * and only waits for its parent.
 */
static bool lives_in(const struct snapshot *s, pid_t pid)
{
	for (size_t i = 0; i < s->n_top; i++)
		if (s->top[i].pid == pid)
			return s->top[i].rss > 0;
	return false;
}

/*
 * Returns whether the process is so small that the likelier victim is another one, which this look
 * has not seen: most of the memory was in processes that it has not seen.
 */
static bool is_dwarf(const struct snapshot *s, const struct process *p)
{
	int64_t seen = 0;

	for (size_t i = 0; i < s->n_top; i++)
		seen += s->top[i].rss;
	return seen < s->memory.anon / 2 && p->rss < s->memory.anon / DWARF_PART;
}

const struct process *snapshot_victim(const struct snapshot *before, const struct snapshot *after,
				      pid_t not_it)
{
	for (size_t i = 0; i < before->n_top; i++)
		if (before->top[i].pid != not_it && !lives_in(after, before->top[i].pid))
			return is_dwarf(before, &before->top[i]) ? NULL : &before->top[i];
	return NULL;
}

int64_t snapshot_victim_size(const struct snapshot *before, const struct snapshot *after,
			     const struct process *victim, pid_t command)
{
	for (size_t i = 0; i < before->n_top; i++) {
		const struct process *p = &before->top[i];

		if (p != victim && p->pid != command && !lives_in(after, p->pid) &&
		    p->rss >= before->memory.anon / DWARF_PART)
			return 0;
	}
	return victim->rss;
}

bool snapshot_is_from_before(const struct snapshot *s, int64_t limit, pid_t pid)
{
	if (limit <= 0 || s->memory.usage < 0 || s->memory.usage >= limit / 2)
		return false;
	for (size_t i = 0; i < s->n_top; i++)
		if (s->top[i].pid == pid)
			return process_own(&s->top[i]) < limit / DWARF_PART;
	return false;
}

/*
 * A large victim takes longer to die than a small process that ends for another reason, perhaps
 * because the victim is gone. So each look for a while names the largest that is gone by then. It
 * may as well have ended because the victim is gone, such as the driver of a worker, so its size
 * proves nothing then.
 */
static void find_victim(struct observer *o, const struct snapshot *before,
			const struct snapshot *after, pid_t not_it)
{
	const struct process *victim = snapshot_victim(before, after, not_it);

	if (!victim ||
	    (o->victim[0] && o->oom_seen_ns && after->at_ns - o->oom_seen_ns > VICTIM_DIES_NS))
		return;
	int64_t size = snapshot_victim_size(before, after, victim, o->command);
	if (o->victim[0])
		size = o->victim_pid == victim->pid ? MIN(o->victim_rss, size) : 0;
	o->victim_pid = victim->pid;
	o->victim_rss = size;
	memcpy(o->victim, victim->name, sizeof(o->victim));
}

/*
 * Combines two snapshots. An OOM kill ends the largest process and then frees its memory, so the
 * processes come from the earlier one and the memory from the later one.
 */
static struct snapshot with_the_largest(const struct snapshot *earlier,
					const struct snapshot *later)
{
	struct snapshot s = *later;

	if (!earlier->at_ns || later->at_ns - earlier->at_ns > LAST_OF_LIFE_NS || !earlier->n_top ||
	    snapshot_has(later, earlier->top[0].pid))
		return s;
	s = *earlier;
	s.memory = later->memory;
	s.at_ns = later->at_ns;
	return s;
}

int observer_read_memory(struct observer *o, int64_t now_ns, bool at_end, struct memory *ret_memory)
{
	int r = cgroup_watch_read(&o->cgroups, &o->memcg, now_ns, at_end, ret_memory);

	/* Processes of others may be in a cgroup to which a process was moved. */
	if (r == 0 && memcg_tree_kills_outside(&o->cgroups.tree) > 0)
		o->cgroup_shared = true;
	return r;
}

static void follow(struct observer *o, int64_t now_ns)
{
	pid_t pids[FOLLOWED];
	size_t n = 0;

	for (; n < o->last.n_top && n < FOLLOWED; n++)
		pids[n] = o->last.top[n].pid;
	cgroup_watch_follow(&o->cgroups, now_ns, pids, n);
}

void observer_note_peak(struct observer *o, const struct memory *memory, int64_t at_ns)
{
	if (!o->limit_met_ns &&
	    oom_peak_met(memory->peak, memory->own_limit > 0 ? memory->own_limit : memory->limit))
		o->limit_met_ns = o->latest_ns ? at_ns : 1;
	/* Only readings before a kill count, because the kill frees the victim's memory. */
	if (o->limit_met_ns && memory->usage > 0 && memory->oom_kill <= o->baseline.oom_kill)
		o->least_usage =
			o->least_usage > 0 ? MIN(o->least_usage, memory->usage) : memory->usage;
}

int64_t observer_groups_survived(struct observer *o, const struct memory *memory, bool command_dies,
				 int64_t now_ns)
{
	int64_t survived = o->latest_ns ? o->latest.oom_group_kill : o->baseline.oom_group_kill;

	if (memory->oom_group_kill <= survived) {
		o->group_seen_ns = 0;
		return memory->oom_group_kill;
	}
	if (!o->group_seen_ns)
		o->group_seen_ns = now_ns;
	if (command_dies || now_ns - o->group_seen_ns < SURVIVED_NS)
		return survived;
	o->group_seen_ns = 0;
	return memory->oom_group_kill;
}

int64_t observer_sample(struct observer *o, int64_t now_ns)
{
	struct memory memory = MEMORY_ABSENT;
	int64_t headroom, used, survived;

	/*
	 * The counters are read first: an OOM kill between the two readings is then seen in the
	 * processes, and not missed.
	 */
	if (o->memcg.version && observer_read_memory(o, now_ns, false, &memory) < 0)
		return SAMPLE_MAX_NS;
	observer_note_peak(o, &memory, now_ns);
	survived = observer_groups_survived(o, &memory,
					    o->group_seen_ns && observer_command_dies(o), now_ns);
	bool again = o->latest.oom_kill >= 0 && memory.oom_kill > o->latest.oom_kill;
	memory_most_add(&o->most, &memory);
	o->latest = memory;
	o->latest.oom_group_kill = survived;
	o->latest_ns = now_ns;
	bool killed = memory.oom_kill > o->baseline.oom_kill && o->baseline.oom_kill >= 0;
	if (killed && !o->oom_seen_ns) {
		o->oom_seen_ns = now_ns;
		/*
		 * The victim may have ended after the counters of that sample were read and before
		 * its processes were.
		 */
		o->before_oom = with_the_largest(&o->previous, &o->last);
	}
	if (killed && (again || !o->oom_last_ns))
		o->oom_last_ns = now_ns;
	/* Samples may follow so fast that a process takes several to die. */
	if (o->last.at_ns - o->previous.at_ns >= REMEMBER_NS)
		o->previous = o->last;
	take_snapshot(o, now_ns, &memory);
	if (killed || now_ns - o->remembered_ns >= REMEMBER_NS)
		remember(o);
	/*
	 * In a shared cgroup the victim may be a foreign process, so a process of ours that is gone
	 * proves nothing.
	 */
	if (killed && !o->others_end && !o->cgroup_shared)
		find_victim(o, &o->before_oom, &o->last, 0);
	o->samples++;
	follow(o, now_ns);
	headroom = cgroup_watch_headroom(&o->cgroups, &memory);
	used = memory.usage - MAX(memory.inactive_file, 0);
	o->delay_ns = sampler_next(&o->sampler, now_ns, used, headroom < 0 ? -1 : used + headroom);
	o->delay_ns = cgroup_watch_delay(&o->cgroups, o->samples, o->delay_ns);
	return o->delay_ns;
}

void observer_forget_oom(struct observer *o, const struct memory *reported)
{
	o->baseline = *reported;
	o->oom_seen_ns = o->oom_last_ns = 0;
	o->victim[0] = '\0';
}

void observer_find_victim(struct observer *o, const struct snapshot *before, int64_t now_ns,
			  pid_t not_it)
{
	struct snapshot after = { .at_ns = now_ns };

	/* With a command that ends by itself, others end as well. */
	if ((not_it && o->victim[0]) || o->cgroup_shared || !o->table ||
	    process_table_sweep(o->table, now_ns, NULL) < 0)
		return;
	after.n_top = process_table_top(o->table, now_ns, after.top, REPORT_TOP_MAX);
	find_victim(o, before, &after, not_it);
}

bool snapshot_others_ended(const struct snapshot *before, const struct snapshot *after,
			   pid_t command)
{
	for (size_t i = 0; i < before->n_top; i++)
		if (before->top[i].pid != command && before->top[i].rss > 0 &&
		    !lives_in(after, before->top[i].pid))
			return true;
	/*
	 * The OOM killer may choose a small process for its oom_score_adj, which Ray sets for
	 * workers. Of the small ones only their number and the number of ends are known, because a
	 * new process may hide that another is gone.
	 */
	if (before->n_processes <= before->n_top)
		return false;
	return before->ends < 0 || after->ends - before->ends > 1 ||
	       after->n_processes + 1 < before->n_processes;
}

bool observer_others_ended(const struct observer *o, const struct snapshot *before, int64_t now_ns)
{
	struct snapshot after = { .at_ns = now_ns };

	if (!o->table || process_table_sweep(o->table, now_ns, NULL) < 0)
		return true;
	after.n_top = process_table_top(o->table, now_ns, after.top, REPORT_TOP_MAX);
	after.n_processes = (uint32_t)process_table_count(o->table);
	after.ends = process_table_ends(o->table);
	return snapshot_others_ended(before, &after, o->command);
}

bool observer_command_dies(const struct observer *o)
{
	return o->table && o->command > 0 && process_table_dying(o->table, o->command);
}

int64_t observer_command_rss(const struct observer *o, const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_top; i++)
		if (s->top[i].pid == o->command)
			return s->top[i].rss;
	return 0;
}

struct snapshot observer_last_of_life(const struct observer *o, int64_t ended_ns)
{
	if (o->oom_seen_ns)
		return o->before_oom;
	if (!o->previous.at_ns || ended_ns - o->previous.at_ns > LAST_OF_LIFE_NS)
		return o->last;
	/* As a rule memory falls only then. */
	if (o->previous.memory.usage > o->last.memory.usage)
		return o->previous;
	return with_the_largest(&o->previous, &o->last);
}
