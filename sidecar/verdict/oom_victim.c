/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether an OOM kill in a container is what ended the container. */
#include "sidecar/verdict/oom_victim.h"

#include <signal.h>
#include <sys/wait.h>

#include "lib/units.h"
#include "sidecar/verdict/oom_cause.h"
#include "sidecar/verdict/sender.h"

/*
 * A victim of the OOM killer is gone within this time. Its memory has to be freed first, which
 * takes a tenth of a second for each GiB, and longer on a busy machine.
 */
#define DIES_WITHIN_NS NS_PER_SEC
/*
 * For a certain verdict, the last look at the processes and the kill must be no longer before the
 * end than this.
 */
#define FRESH_NS (2 * NS_PER_SEC)

int64_t oom_kills_at_the_end(const struct observation *o)
{
	return o->after_known ?
		       oom_rise(MAX(o->before.oom_kill, o->latest.oom_kill), o->after.oom_kill) :
		       0;
}

int64_t oom_groups_at_the_end(const struct observation *o)
{
	return o->after_known ? oom_rise(MAX(o->before.oom_group_kill, o->latest.oom_group_kill),
					 o->after.oom_group_kill) :
				0;
}

static int64_t kills_in_all(const struct observation *o)
{
	int64_t alive = oom_rise(o->before.oom_kill, o->latest.oom_kill);

	return MAX(alive, o->after_known ? oom_rise(o->before.oom_kill, o->after.oom_kill) : 0);
}

int64_t oom_latest_age_ns(const struct observation *o)
{
	return o->oom_age_ns < 0 ? -1 : MAX(o->oom_age_ns - o->oom_span_ns, (int64_t)0);
}

int64_t oom_victim_age_ns(const struct observation *o, const struct kernel_evidence *k)
{
	int64_t seen = oom_kills_at_the_end(o) ? 0 : MAX(oom_latest_age_ns(o), (int64_t)0);

	/*
	 * Each is a lower bound: the sampler looked after the kill, and the log has a clock of its
	 * own.
	 */
	return k && k->by_cgroup ? MAX(k->age_ns, seen) : seen;
}

bool oom_log_spares_command(const struct observation *o)
{
	return o->kernel.rules_out && !o->container_lives && o->status_known &&
	       WIFSIGNALED(o->wait_status);
}

bool oom_is_possible(const struct observation *o)
{
	return o->cgroup_shared && !o->container_lives &&
	       (oom_kills_at_the_end(o) || (kills_in_all(o) && o->oom_age_ns >= 0));
}

/* Before Linux 5.17, v2 does not count kills of whole groups, but only each process. */
static bool all_were_counted(const struct observation *o)
{
	return o->cgroup_version == 2 && o->after_known && o->after.oom_group_kill < 0 &&
	       !o->status_known && o->processes >= 2 &&
	       oom_rise(o->before.oom_kill, o->after.oom_kill) >= (int64_t)o->processes;
}

/*
 * Returns whether the limit is that of a cgroup below. The launcher is in the container's own
 * cgroup.
 */
static bool limit_is_elsewhere(const struct observation *o, const struct kernel_evidence *k)
{
	if (k && k->by_cgroup)
		return k->below[0] || k->elsewhere;
	return o->cgroup_limit && o->cgroup_limit->place != CGROUP_LIMIT_ABOVE;
}

/*
 * Returns whether the group that was killed was the container. It was if the launcher could not
 * report any more how the command ended. If it could, as many processes have to be killed as there
 * were. Any cgroup below may be a group, too.
 */
static bool group_was_container(const struct observation *o)
{
	return !o->status_known ||
	       (o->processes >= 2 && !o->cgroup_unseen &&
		oom_rise(o->before.oom_kill, o->after.oom_kill) >= (int64_t)o->processes);
}

/*
 * Returns whether the launcher, which reported no end of the command, was itself a victim. While
 * the kernel kills a group one by one, the command may come to its own end, as its child has ended,
 * before its turn comes.
 */
static bool launcher_was_taken(const struct observation *o, const struct kernel_evidence *k)
{
	return k && k->by_cgroup && k->took_launcher && !o->status_known && !o->gap;
}

static bool all_were_taken(const struct observation *o, const struct kernel_evidence *k)
{
	bool group = o->after_known &&
		     oom_rise(o->before.oom_group_kill, o->after.oom_group_kill) > 0 &&
		     group_was_container(o);
	/* A group kill of a cgroup below leaves the command alive, so it does not count here. */
	bool at_the_end = oom_groups_at_the_end(o) > 0;

	if (launcher_was_taken(o, k))
		return true;
	if (o->cgroup_shared)
		return false;
	if (o->group_ended_by_us || limit_is_elsewhere(o, k))
		return o->group_ended_by_us;
	/*
	 * The log lists each kill, and none was that of the command, so the group was a cgroup
	 * below.
	 */
	if (k && k->by_cgroup && k->victim == KERNEL_VICTIM_OTHER &&
	    (int64_t)k->killed >= kills_in_all(o))
		return false;
	return o->group_unsurvived || ((group || all_were_counted(o)) &&
				       (at_the_end || oom_victim_age_ns(o, k) <= FRESH_NS));
}

/*
 * Returns whether the kernel log shows that the command was the victim. Samples alone do not prove
 * it: a child that began and was killed after the last sample leaves the same counters, and its
 * parent may have ended by another SIGKILL, as one that passes its child's signal on. The size
 * proves nothing either, because a child holds what its parent held when it was forked. But if the
 * kernel's table has as many processes as the last sample, and only the command is gone, no child
 * began in between.
 */
static bool log_fits_command(const struct observation *o, const struct kernel_evidence *k)
{
	return k && k->by_cgroup && k->kills == 1 && o->last.limit > 0 &&
	       k->rss > o->last.limit / 2 && k->table > 0 && k->table == o->processes;
}

static enum oom_victim victim_by_samples(const struct observation *o,
					 const struct kernel_evidence *k)
{
	bool killed_itself = o->status_known && WIFSIGNALED(o->wait_status);
	bool fresh = o->last_age_ns >= 0 && o->last_age_ns <= FRESH_NS &&
		     oom_victim_age_ns(o, k) <= FRESH_NS;
	bool alone = !o->cgroup_shared && !o->cgroup_unseen;

	if (oom_is_of_largest(o, o->command_rss) && !o->others_ended)
		return killed_itself && fresh && kills_in_all(o) == 1 && alone &&
				       log_fits_command(o, k) ?
			       OOM_VICTIM_COMMAND :
			       OOM_VICTIM_LIKELY_COMMAND;
	if (o->cgroup_shared)
		return OOM_VICTIM_UNKNOWN;
	if (o->victim_pid > 0 && o->victim_pid == o->command_pid)
		return OOM_VICTIM_LIKELY_COMMAND;
	return o->victim_pid > 0 ? OOM_VICTIM_LIKELY_OTHER : OOM_VICTIM_UNKNOWN;
}

enum oom_victim oom_victim(const struct observation *o, const struct kernel_evidence *k)
{
	if (all_were_taken(o, k))
		return OOM_VICTIM_ALL;
	if ((k && k->by_cgroup && k->victim == KERNEL_VICTIM_COMMAND) || sender_oom_took_command(o))
		return OOM_VICTIM_COMMAND;
	if (sender_killed_command(o) ||
	    (sender_oom_others(o) > 0 && (int64_t)sender_oom_others(o) >= kills_in_all(o)))
		return OOM_VICTIM_OTHER;
	/* A kill that is missing from the log may have hit the command. */
	if (k && k->by_cgroup && k->victim == KERNEL_VICTIM_OTHER &&
	    (int64_t)k->killed >= kills_in_all(o))
		return OOM_VICTIM_OTHER;
	if (oom_log_spares_command(o))
		return OOM_VICTIM_OTHER;
	return victim_by_samples(o, k);
}

enum oom oom_explains(const struct observation *o, enum oom oom, const struct kernel_evidence *k,
		      struct verdict *v)
{
	enum oom_victim victim = oom_victim(o, k);
	bool at_once = oom_victim_age_ns(o, k) <= DIES_WITHIN_NS;
	bool exited = o->status_known && WIFEXITED(o->wait_status);

	if ((oom != OOM_PROVED && oom != OOM_PROBABLE) || o->container_lives || o->gap ||
	    !v->signal)
		return oom;
	if (v->signal != SIGKILL)
		return OOM_BEFORE;
	if (victim == OOM_VICTIM_ALL)
		return oom;
	/*
	 * Exit code 137: a shell reports at its end, perhaps after some cleaning up, that its child
	 * was killed.
	 */
	if (exited)
		return OOM_PROBABLE;
	switch (victim) {
	case OOM_VICTIM_ALL:
	case OOM_VICTIM_COMMAND:
		return oom;
	case OOM_VICTIM_OTHER:
		return OOM_BEFORE;
	case OOM_VICTIM_LIKELY_OTHER:
	case OOM_VICTIM_UNKNOWN:
		if (!at_once)
			return OOM_BEFORE;
		break;
	case OOM_VICTIM_LIKELY_COMMAND:
		break;
	}
	/* A missing log is listed already. */
	if (!o->kernel.needs)
		verdict_add_missing(
			v, "whether the OOM killer took the command or a child of it",
			"memory.oom.group or oomGroup, which end a container as a whole");
	return OOM_PROBABLE;
}
