/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether the OOM killer came: by the kernel's counters, then its log, then how full the
 * memory was.
 */
#include "sidecar/verdict/oom_verdict.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/exit_code.h"
#include "lib/units.h"
#include "sidecar/verdict/gap.h"
#include "sidecar/verdict/oom_cause.h"
#include "sidecar/verdict/oom_victim.h"
#include "sidecar/verdict/status_verdict.h"
#include "sidecar/verdict/watched_ends.h"

/*
 * An OOM kill up to this long before the end still explains it: raylet gives up within seconds of
 * losing a process.
 */
#define OOM_EXPLAINS_NS (10 * NS_PER_SEC)
/*
 * A process may take this long to die of it: it gives its memory back first, at a tenth of a second
 * for each GiB, and waits for a processor on a busy machine.
 */
#define DIES_AT_LAST_NS (120 * NS_PER_SEC)
/* Without counters, memory this full, this short before the end, makes an OOM kill likely. */
#define NEARLY_FULL 0.97
#define NEARLY_FULL_AGE_NS (2 * NS_PER_SEC)
#define VICTIM_NAME_MAX 128
#define PASSES_ON_NS NS_PER_SEC

/*
 * Returns whether the counters decide: both readings exist (a final 0 needs no first reading), and
 * the kernel counts kills.
 */
static bool counters_tell(const struct observation *o)
{
	return o->after_known && o->after.oom_kill >= 0 &&
	       (o->before.oom_kill >= 0 || o->after.oom_kill == 0);
}

/*
 * Returns whether the command may be a shell that exited with 137 because the OOM killer killed its
 * child. That kill may have been counted and reported long before, because a process may take long
 * to die.
 */
static bool shell_may_tell_late(const struct observation *o)
{
	return o->status_known && WIFEXITED(o->wait_status) &&
	       WEXITSTATUS(o->wait_status) == EXIT_CODE_OF_SIGNAL(SIGKILL) && o->after.oom_kill > 0;
}

/*
 * The counters did not rise. That rules an OOM kill out if they cover all of the container's
 * memory.
 */
static enum oom none_counted(const struct observation *o, struct verdict *v)
{
	verdict_add_evidence(v, oom_counter_file(o), "oom_kill stayed at %" PRId64,
			     o->after.oom_kill);
	if (!o->cgroup_unseen)
		return shell_may_tell_late(o) ? OOM_UNKNOWN : OOM_NO;
	if (o->kernel.rules_out && o->status_known && WIFSIGNALED(o->wait_status)) {
		verdict_add_evidence(v, "kernel log", "no OOM kill of the command's PID");
		return OOM_NO;
	}
	verdict_add_missing(v, o->cgroup_unseen,
			    "the kernel log, which names each process that the OOM killer took");
	return OOM_UNKNOWN;
}

/*
 * In a shared cgroup another container's process may have raised the counter. A command that ended
 * by SIGKILL may have been the victim.
 */
static enum oom shared_kill(const struct observation *o, struct verdict *v)
{
	verdict_add_evidence(
		v, oom_counter_file(o),
		"that cgroup holds processes of others too: the kill may have been of theirs");
	if (!o->kernel.oom || !o->kernel.by_cgroup)
		verdict_add_missing(
			v, "which container's process the OOM killer took",
			"the kernel log with the PIDs of this container, or a memory cgroup for it alone");
	if (oom_log_spares_command(o)) {
		verdict_add_evidence(v, "kernel log",
				     "no OOM kill of the command: its PID is not in it");
		return OOM_UNKNOWN;
	}
	/* Here only its end makes a process the victim (classify.c). */
	if (o->victim && o->victim_pid == o->unread_end.pid)
		verdict_add_evidence(
			v, "launcher",
			"%s (PID %d) of this container, which had held %s, ended at that time",
			o->victim, o->victim_pid, SIZE_TEXT(o->unread_held));
	else if (o->victim)
		verdict_add_evidence(
			v, "launcher",
			"%s (PID %d) of this container was ended by SIGKILL at that time",
			o->victim, o->victim_pid);
	return o->victim || (!o->container_lives && v->signal == SIGKILL) ? OOM_PROBABLE :
									    OOM_UNKNOWN;
}

static bool log_names_command(const struct observation *o)
{
	return o->kernel.oom && o->kernel.by_cgroup && o->kernel.victim == KERNEL_VICTIM_COMMAND;
}

/* The victim may have ended only now, and the command after it. */
static void long_before_evidence(const char *source, int64_t age_ns, struct verdict *v)
{
	verdict_add_evidence(v, source, "but %s before the end: %s", DURATION_TEXT(age_ns),
			     age_ns <= DIES_AT_LAST_NS ? "few processes take so long to die of it" :
							 "too long to explain it");
}

/* An OOM kill long before the end. */
static enum oom counted_long_before(const struct observation *o, struct verdict *v)
{
	bool killed = o->status_known && WIFSIGNALED(o->wait_status) && v->signal == SIGKILL;
	int64_t age_ns = oom_latest_age_ns(o);

	if (killed && log_names_command(o))
		return OOM_PROVED;
	long_before_evidence(oom_counter_file(o), age_ns, v);
	if (shell_may_tell_late(o) ||
	    (killed && age_ns <= DIES_AT_LAST_NS && !oom_log_spares_command(o)))
		return OOM_UNKNOWN;
	return o->cgroup_unseen ? OOM_UNKNOWN : OOM_NO;
}

/* The counters rose. */
static enum oom some_counted(const struct observation *o, struct verdict *v)
{
	if (!o->container_lives && oom_latest_age_ns(o) > OOM_EXPLAINS_NS &&
	    !oom_kills_at_the_end(o) && !oom_groups_at_the_end(o))
		return counted_long_before(o, v);
	return o->cgroup_shared ? shared_kill(o, v) : OOM_PROVED;
}

static enum oom counted(const struct observation *o, struct verdict *v)
{
	int64_t groups = oom_rise(o->before.oom_group_kill, o->after.oom_group_kill);
	int64_t kills = oom_rise(o->before.oom_kill, o->after.oom_kill);

	if (groups)
		verdict_add_evidence(v, oom_counter_file(o),
				     "oom_group_kill %" PRId64 " -> %" PRId64,
				     o->before.oom_group_kill, o->after.oom_group_kill);
	if (kills)
		verdict_add_evidence(v, oom_counter_file(o), "oom_kill %" PRId64 " -> %" PRId64,
				     o->before.oom_kill, o->after.oom_kill);
	return groups || kills ? some_counted(o, v) : none_counted(o, v);
}

enum oom oom_from_counters(const struct observation *o, struct verdict *v)
{
	if (counters_tell(o))
		return counted(o, v);
	if (o->gap)
		; /* gap_evidence has added the entry already */
	else if (o->after_known)
		verdict_add_missing(v, "the kernel's count of OOM kills",
				    "Linux 4.13 or newer, and a reading before the death");
	else
		verdict_add_missing(v, "memory counters after the death",
				    "a runtime that keeps the cgroup some milliseconds longer");
	if (o->oom_age_ns >= 0 && oom_latest_age_ns(o) <= OOM_EXPLAINS_NS) {
		verdict_add_evidence(v, oom_counter_file(o), "oom_kill rose %s before the end",
				     DURATION_TEXT(oom_latest_age_ns(o)));
		return o->cgroup_shared ? shared_kill(o, v) : OOM_PROVED;
	}
	if (o->gap)
		return gap_near_limit(o->gap, &o->last, v) && !o->gap->rebooted ? OOM_PROBABLE :
										  OOM_UNKNOWN;
	if (o->last.limit > 0 && (double)o->last.usage >= NEARLY_FULL * (double)o->last.limit &&
	    o->last_age_ns <= NEARLY_FULL_AGE_NS && v->signal == SIGKILL) {
		verdict_add_evidence(v, "samples", "%.0f %% of the limit in use %s before the end",
				     100.0 * (double)o->last.usage / (double)o->last.limit,
				     DURATION_TEXT(o->last_age_ns));
		return OOM_PROBABLE;
	}
	return OOM_UNKNOWN;
}

/* A cgroup namespace and a PID namespace hide the names that the kernel's log has. */
static const char *unlogged_kill_needs(const struct kernel_evidence *k)
{
	if (!k->whole)
		return "a larger kernel log (log_buf_len): they are not in it";
	if (k->foreign)
		return "the kernel's own names of this container's cgroup and PIDs: the log is whole, but its OOM kills "
		       "of that time name none that are known here, as in a node that is itself a container";
	return "the log of the kernel that counted it: this log is whole, and has no OOM kill of that time";
}

enum oom oom_from_kernel_log(const struct observation *o, enum oom oom, struct verdict *v,
			     const struct kernel_evidence **ret_kernel)
{
	const struct kernel_evidence *k = &o->kernel;

	*ret_kernel = NULL;
	if (k->needs) {
		verdict_add_missing(v, "kernel log", k->needs);
		return oom;
	}
	if (!k->oom && o->gap) {
		verdict_add_evidence(v, "kernel log", "no OOM kill in this container's cgroup");
		return oom == OOM_PROVED ? oom : OOM_NO;
	}
	if (k->others && oom != OOM_NO)
		verdict_add_evidence(
			v, "kernel log",
			"the OOM killer took %u process%s of that cgroup, perhaps of others",
			k->others, k->others == 1 ? "" : "es");
	if (!k->oom) {
		/* The kills of other processes explain the rise, unless the log has lost some. */
		if (k->others && oom == OOM_PROBABLE &&
		    k->others >= oom_rise(o->before.oom_kill, o->after.oom_kill))
			return OOM_UNKNOWN;
		if (oom == OOM_PROVED)
			verdict_add_missing(v, "the kernel log's lines about this kill",
					    unlogged_kill_needs(k));
		return oom;
	}
	/*
	 * The counters rule out a victim in this container, or were not read. So the victim may be
	 * a process of the same name in another container.
	 */
	if (!k->by_cgroup && (oom == OOM_NO || o->gap))
		return oom;
	verdict_add_evidence(v, "kernel log", "%s", k->line);
	/* The command dies of it, however long that takes. */
	if (!o->container_lives && !o->gap && k->age_ns > OOM_EXPLAINS_NS &&
	    !log_names_command(o)) {
		long_before_evidence("kernel log", k->age_ns, v);
		return oom;
	}
	/* Another container on the node may have a cgroup of the same path. */
	if (oom == OOM_NO && !k->by_pid && oom_rise(o->before.oom_kill, o->after.oom_kill) == 0) {
		verdict_add_evidence(
			v, "kernel log",
			"but its own counters did not count that kill: perhaps another cgroup has the same path");
		verdict_add_missing(v, "which container's process the OOM killer took",
				    "the PIDs of this container in the node's PID namespace");
		return OOM_UNKNOWN;
	}
	*ret_kernel = k;
	if (k->kills > 1)
		verdict_add_evidence(v, "kernel log", "%s of %u OOM kills of this container",
				     k->victim == KERNEL_VICTIM_COMMAND ? "one" : "the last",
				     k->kills);
	if (k->by_cgroup)
		return OOM_PROVED;
	verdict_add_evidence(v, "kernel log",
			     "that line names no cgroup: ours by name, size and time");
	return oom == OOM_UNKNOWN && (o->container_lives || v->signal == SIGKILL) ? OOM_PROBABLE :
										    oom;
}

/*
 * Names the victim. The kernel's name counts, with the PID in the container if it is the same
 * process. A process that is missing from the next sample may have ended by itself, unless it held
 * more than half of the memory.
 */
static const char *name_victim(const struct observation *o, const struct kernel_evidence *k,
			       char *text, size_t size)
{
	bool named = k && k->by_cgroup && k->name[0];
	/* The kernel's name is cut after 15 bytes, as that of ray::load_samples. */
	bool whole = named && o->victim && strncmp(o->victim, k->name, strlen(k->name)) == 0;
	/* Where the kill is only likely, the sentence says so already. */
	bool sure = (o->last.limit > 0 && o->victim_rss > o->last.limit / 2) ||
		    watched_ends_oom_victim(o);

	if (named && k->victim != KERNEL_VICTIM_UNKNOWN)
		snprintf(text, size, "%.90s (PID %d)",
			 whole && o->victim_pid == k->pid ? o->victim : k->name, (int)k->pid);
	else if (named && !whole)
		snprintf(text, size, "%.90s (PID %d on the node)", k->name, (int)k->pid);
	else if (o->victim)
		snprintf(text, size,
			 sure || named ? "%.90s (PID %d)" : "a process (most likely %.80s, PID %d)",
			 o->victim, o->victim_pid);
	else
		return NULL;
	return text;
}

/* The sentence says only once that it is not certain. */
static const char *likely(bool is_only_likely)
{
	return is_only_likely ? "most likely " : "";
}

static void container_killed(const struct observation *o, enum oom oom,
			     const struct oom_cause *cause, const char *victim,
			     const struct kernel_evidence *k, struct verdict *v)
{
	/*
	 * Whether the kill ended every process. With a group kill it did. On v1 the OOM killer may
	 * have killed one process, and the sidecar the rest.
	 */
	bool all =
		o->group_unsurvived || (k && k->group) ||
		(o->after_known && oom_rise(o->before.oom_group_kill, o->after.oom_group_kill) > 0);

	if (o->group_ended_by_us)
		verdict_add_evidence(
			v, "sidecar",
			"ended the rest of the container after the OOM kill (oomGroup; cgroup v1 has no memory.oom.group)");
	verdict_say(v, "Container %s was %s%s: %s%s%s%s.", o->container, likely(oom != OOM_PROVED),
		    o->group_ended_by_us ? "ended by the kernel's OOM killer" :
					   "killed by the kernel",
		    likely(oom == OOM_PROVED && !cause->proved), cause->clause,
		    victim && !all ? " and the kernel killed " : "", victim && !all ? victim : "");
}

/* A child or another process was OOM-killed, and the command then ended in another way. */
static void ended_after_kill(const struct observation *o, const struct oom_cause *cause,
			     const char *victim, struct verdict *v)
{
	/* In a cgroup that others share, the kill may have been of theirs. */
	bool proved = !o->cgroup_shared || o->kernel.oom;

	/* Even where the kill is proved, that it caused the end is not. */
	v->confidence = CONFIDENCE_LIKELY;
	verdict_say(
		v,
		"The kernel %skilled %s in container %s: %s%s; then the command ended with exit code %d.",
		likely(!proved), victim ? victim : "a process", o->container,
		likely(proved && !cause->proved), cause->clause, v->exit_code);
}

void oom_verdict(const struct observation *o, enum oom oom, const struct kernel_evidence *k,
		 struct verdict *v)
{
	char text[VICTIM_NAME_MAX];
	const char *victim = name_victim(o, k, text, sizeof(text));
	bool shell = o->status_known && WIFEXITED(o->wait_status) && oom != OOM_PROVED;
	struct oom_cause cause;

	oom_cause(o, k, v, &cause);
	v->confidence = oom == OOM_PROVED && cause.proved ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY;
	v->class = cause.class;
	if (o->container_lives) {
		/*
		 * The class does not depend on which memory ran out: the kernel killed a process,
		 * and the container lives.
		 */
		verdict_set(v, FAILURE_KERNEL_OOM_PROCESS,
			    oom == OOM_PROVED ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY,
			    "The kernel %skilled %s in container %s%s: %s%s%s.",
			    likely(oom != OOM_PROVED), victim ? victim : "a process", o->container,
			    o->container_over ? " shortly before its end" : "",
			    likely(oom == OOM_PROVED && !cause.proved), cause.clause,
			    o->container_over ? "" : "; the container lives on");
	} else if (o->gap) {
		v->confidence = CONFIDENCE_LIKELY;
		verdict_say(
			v,
			"Container %s ended while no sidecar ran, most likely killed by the kernel: %s.",
			o->container, cause.clause);
	} else if (o->group_ended_by_us || (v->signal == SIGKILL && !shell))
		container_killed(o, oom, &cause, victim, k, v);
	else
		ended_after_kill(o, &cause, victim, v);
}

/* Formats "2.0 s later" or "shortly before". */
static const char *name_age(int64_t age_ns, const char *exact, const char *vague, char *text,
			    size_t size)
{
	if (age_ns > 0)
		snprintf(text, size, "%s %s", DURATION_TEXT(age_ns), exact);
	else
		snprintf(text, size, "%s", vague);
	return text;
}

/* Returns whether the parent may have passed its child's signal on. It does that at once. */
static bool may_pass_on(const struct observation *o, int64_t age_ns)
{
	return o->status_known && WIFSIGNALED(o->wait_status) && age_ns <= PASSES_ON_NS;
}

void oom_before_verdict(const struct observation *o, const struct kernel_evidence *k,
			struct verdict *v)
{
	char text[VICTIM_NAME_MAX], age[DURATION_TEXT_MAX + 16];
	const char *victim = name_victim(o, k, text, sizeof(text));
	int64_t age_ns = oom_victim_age_ns(o, k);
	/* In a cgroup that others share, a victim without a name may have been theirs. */
	bool shared = o->cgroup_shared && !o->kernel.oom, theirs = shared && !victim;

	signal_verdict(o, OOM_UNKNOWN, v);
	if (v->confidence == CONFIDENCE_CERTAIN)
		v->confidence = CONFIDENCE_LIKELY;
	if (v->class == FAILURE_KILLED && !theirs) {
		verdict_say(
			v,
			"The kernel %skilled %s in container %s for lack of memory; %s the container ended "
			"with SIGKILL, most likely not by the OOM killer: sender unknown%s.",
			likely(shared), victim ? victim : "a process", o->container,
			name_age(age_ns, "later", "shortly afterwards", age, sizeof(age)),
			may_pass_on(o, age_ns) ?
				", perhaps the command itself, as `timeout` ends by its child's signal" :
				"");
		return;
	}
	if (v->class == FAILURE_KILLED)
		verdict_say(v,
			    "Container %s ended with SIGKILL, most likely not by the OOM killer: "
			    "sender unknown.",
			    o->container);
	verdict_continue(v, "; %s, the kernel had %skilled %s in %s for lack of memory.",
			 name_age(age_ns, "before", "shortly before", age, sizeof(age)),
			 likely(shared && victim), victim ? victim : "a process",
			 theirs ? "the cgroup that it shares with others," : "it");
}
