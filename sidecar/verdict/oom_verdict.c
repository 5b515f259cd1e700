/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the OOM killer did it: the kernel's counters, its log, then how full the memory was. */
#include "sidecar/verdict/oom_verdict.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/units.h"

/* An OOM kill this long before the end still explains it: raylet gives up within seconds of losing a process. */
#define OOM_EXPLAINS_NS (10 * NS_PER_SEC)
/* Without counters: this full, this short before, is taken for an OOM, and said to be likely only. */
#define NEARLY_FULL 0.97
#define NEARLY_FULL_AGE_NS (2 * NS_PER_SEC)
/* Of the limit: usage below it was no reason for an OOM kill, as quickly as it may have grown since. */
#define FAR_BELOW 0.8

static const char *counter_file(const struct observation *o)
{
	return o->cgroup_version == 1 ? "memory.oom_control" : "memory.events";
}

/* By how much a counter rose, 0 when either reading lacks it. */
static int64_t rise(int64_t before, int64_t after)
{
	return before >= 0 && after > before ? after - before : 0;
}

/* Whether the counters tell: both readings are there (a final 0 needs no first), and the kernel counts kills. */
static bool counters_tell(const struct observation *o)
{
	return o->after_known && o->after.oom_kill >= 0 && (o->before.oom_kill >= 0 || o->after.oom_kill == 0);
}

/* The counters did not rise: that rules an OOM kill out where they count all there is. */
static enum oom none_counted(const struct observation *o, struct verdict *v)
{
	verdict_add_evidence(v, counter_file(o), "oom_kill stayed at %" PRId64, o->after.oom_kill);
	if (!o->cgroup_unseen)
		return OOM_NO;
	verdict_add_missing(v, o->cgroup_unseen, "the kernel log, which names each process that the OOM killer took");
	return OOM_UNTOLD;
}

/* A rise in a cgroup of several owners says that somebody's process was taken. One of ours ended by SIGKILL may have been it. */
static enum oom shared_kill(const struct observation *o, struct verdict *v)
{
	verdict_add_evidence(v, counter_file(o), "that cgroup holds processes of others too: the kill may have been of theirs");
	verdict_add_missing(v, "whose process the OOM killer took", "the kernel log, or a memory cgroup for this command alone");
	return !o->container_lives && v->signal == SIGKILL ? OOM_PROBABLE : OOM_UNTOLD;
}

enum oom oom_from_counters(const struct observation *o, struct verdict *v)
{
	int64_t kills, groups;
	char age[DURATION_TEXT_MAX];

	if (counters_tell(o)) {
		groups = rise(o->before.oom_group_kill, o->after.oom_group_kill);
		kills = rise(o->before.oom_kill, o->after.oom_kill);
		if (groups)
			verdict_add_evidence(v, counter_file(o), "oom_group_kill %" PRId64 " -> %" PRId64,
				     o->before.oom_group_kill, o->after.oom_group_kill);
		if (kills)
			verdict_add_evidence(v, counter_file(o), "oom_kill %" PRId64 " -> %" PRId64, o->before.oom_kill,
				     o->after.oom_kill);
		if (kills && !groups && !o->container_lives && o->oom_age_ns > OOM_EXPLAINS_NS) {
			verdict_add_evidence(v, counter_file(o), "but %s before the end: too long to explain it",
				     duration_format(o->oom_age_ns, age));
			return OOM_NO;
		}
		if (groups || kills)
			return o->cgroup_shared ? shared_kill(o, v) : OOM_PROVED;
		return none_counted(o, v);
	}
	if (o->gap)
		; /* said already */
	else if (o->after_known)
		verdict_add_missing(v, "the kernel's count of OOM kills", "Linux 4.13 or newer, and a reading before the death");
	else
		verdict_add_missing(v, "memory counters after the death",
			    "a runtime that keeps the cgroup some milliseconds longer");
	if (o->oom_age_ns >= 0 && o->oom_age_ns <= OOM_EXPLAINS_NS) {
		verdict_add_evidence(v, counter_file(o), "oom_kill rose %s before the end", duration_format(o->oom_age_ns, age));
		return o->cgroup_shared ? shared_kill(o, v) : OOM_PROVED;
	}
	if (o->gap)
		return gap_near_limit(o->gap, &o->last, v) && !o->gap->rebooted ? OOM_PROBABLE : OOM_UNTOLD;
	if (o->last.limit > 0 && (double)o->last.usage >= NEARLY_FULL * (double)o->last.limit &&
	    o->last_age_ns <= NEARLY_FULL_AGE_NS && v->signal == SIGKILL) {
		verdict_add_evidence(v, "samples", "%.0f %% of the limit in use %s before the end",
			     100.0 * (double)o->last.usage / (double)o->last.limit, duration_format(o->last_age_ns, age));
		return OOM_PROBABLE;
	}
	return OOM_UNTOLD;
}

enum oom oom_from_kernel_log(const struct observation *o, enum oom oom, struct verdict *v,
			     const struct kernel_evidence **ret_kernel)
{
	const struct kernel_evidence *k = &o->kernel;
	char age[DURATION_TEXT_MAX];

	*ret_kernel = NULL;
	if (k->needs) {
		verdict_add_missing(v, "kernel log", k->needs);
		return oom;
	}
	if (!k->oom && o->gap) {
		verdict_add_evidence(v, "kernel log", "no OOM kill in this container's cgroup");
		return oom == OOM_PROVED ? oom : OOM_NO;
	}
	if (!k->oom) {
		if (oom == OOM_PROVED)
			verdict_add_missing(v, "the kernel log's lines about this kill",
					    "a larger kernel log (log_buf_len): they are not in it");
		return oom;
	}
	/* The counters rule out that it was ours, or were not read: another container's process of the same name. */
	if (!k->by_cgroup && (oom == OOM_NO || o->gap))
		return oom;
	verdict_add_evidence(v, "kernel log", "%s", k->line);
	if (!o->container_lives && !o->gap && k->age_ns > OOM_EXPLAINS_NS) {
		verdict_add_evidence(v, "kernel log", "but %s before the end: too long to explain it",
				     duration_format(k->age_ns, age));
		return oom;
	}
	*ret_kernel = k;
	if (k->kills > 1)
		verdict_add_evidence(v, "kernel log", "the last of %u OOM kills of this container", k->kills);
	if (k->by_cgroup)
		return OOM_PROVED;
	verdict_add_evidence(v, "kernel log", "that line names no cgroup: ours by name, size and time");
	return oom == OOM_UNTOLD && (o->container_lives || v->signal == SIGKILL) ? OOM_PROBABLE : oom;
}

/*
 * Without the kernel log: "max" of memory.events counts how often the container's own limit
 * was met. An OOM kill without that, far below the limit, came from above. Not on v1, whose
 * failcnt stays 0 on new kernels (seen on 6.18).
 */
static bool limit_was_not_met(const struct observation *o)
{
	return o->cgroup_version == 2 && counters_tell(o) && o->before.limit_hits >= 0 &&
	       o->before.limit_hits == o->after.limit_hits && o->last.limit > 0 && o->last.usage >= 0 &&
	       (double)o->last.usage < FAR_BELOW * (double)o->last.limit;
}

#define REASON_MAX 160

/* Whose memory ran out, as a clause about the container. */
static enum failure_class oom_reason(const struct observation *o, const struct kernel_evidence *k, struct verdict *v,
				     char reason[static REASON_MAX])
{
	int64_t limit_bytes = k && k->limit > 0 ? k->limit : -1;
	char limit[SIZE_TEXT_MAX], used[SIZE_TEXT_MAX], of[SIZE_TEXT_MAX + 4] = "";

	if (limit_bytes > 0)
		snprintf(of, sizeof(of), " of %s", size_format((uint64_t)limit_bytes, limit));
	switch (k ? k->where : OOM_WHERE_UNKNOWN) {
	case OOM_WHERE_NODE:
		snprintf(reason, REASON_MAX, "the node had no memory left");
		return FAILURE_KERNEL_OOM_NODE;
	case OOM_WHERE_POD:
		verdict_add_evidence(v, "kernel log", "the limit was that of the pod's cgroup, %s", k->memcg);
		snprintf(reason, REASON_MAX, "its pod reached the pod's memory limit%s", of);
		return FAILURE_KERNEL_OOM_POD;
	case OOM_WHERE_ABOVE:
		verdict_add_evidence(v, "kernel log", "the limit was that of a cgroup above, %s", k->memcg);
		snprintf(reason, REASON_MAX, "the cgroup %.80s around it reached its memory limit%s", k->memcg, of);
		/* Around a pod there are only the cgroups of all pods, whose limit is what the node has for them. */
		return o->pod ? FAILURE_KERNEL_OOM_NODE : FAILURE_KERNEL_OOM_POD;
	case OOM_WHERE_CONTAINER:
	case OOM_WHERE_UNKNOWN:
		break;
	}
	if (!k && limit_was_not_met(o)) {
		verdict_add_evidence(v, counter_file(o), "max stayed at %" PRId64 ": the container's own limit was not met",
				     o->after.limit_hits);
		v->confidence = CONFIDENCE_LIKELY;
		snprintf(reason, REASON_MAX, "the node or a cgroup above it had no memory left; of its own limit of %s it used %s",
			 size_format((uint64_t)o->last.limit, limit), size_format((uint64_t)o->last.usage, used));
		return FAILURE_KERNEL_OOM_NODE;
	}
	if (o->last.limit > 0)
		snprintf(reason, REASON_MAX, "it reached its memory limit of %s", size_format((uint64_t)o->last.limit, limit));
	else if (k && k->where == OOM_WHERE_CONTAINER)
		snprintf(reason, REASON_MAX, "it reached its memory limit%s", of);
	else
		snprintf(reason, REASON_MAX, "it reached a memory limit (of a cgroup above it, or the node's)");
	return FAILURE_KERNEL_OOM_CONTAINER;
}

/* The kernel's name for the victim wins, with the PID the container knows if it is the same process. */
static const char *name_victim(const struct observation *o, const struct kernel_evidence *k, char *text, size_t size)
{
	if (k && k->name[0] && !(o->victim && strncmp(o->victim, k->name, strlen(k->name)) == 0))
		snprintf(text, size, "%s (PID %d on the node)", k->name, (int)k->pid);
	else if (o->victim)
		snprintf(text, size, "%s (PID %d)", o->victim, o->victim_pid);
	else
		return NULL;
	return text;
}

void oom_verdict(const struct observation *o, enum oom oom, const struct kernel_evidence *k, struct verdict *v)
{
	char reason[REASON_MAX], text[96];
	const char *victim = name_victim(o, k, text, sizeof(text));
	bool all = o->after_known && rise(o->before.oom_group_kill, o->after.oom_group_kill) > 0;

	v->confidence = oom == OOM_PROVED ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY;
	v->class = oom_reason(o, k, v, reason);
	if (o->container_lives) {
		v->class = FAILURE_KERNEL_OOM_PROCESS;
		snprintf(v->sentence, sizeof(v->sentence), "The kernel killed %s in container %s: %s; the container lives on.",
			 victim ? victim : "a process", o->container, reason);
		return;
	}
	if (o->group_ended_by_us) {
		verdict_add_evidence(v, "afterglow", "ended the rest of the container after the OOM kill (oomGroup; cgroup v1 has no memory.oom.group)");
		snprintf(v->sentence, sizeof(v->sentence), "Container %s was ended by the kernel's OOM killer: %s%s%s.",
			 o->container, reason, victim ? " and the kernel killed " : "", victim ? victim : "");
	} else if (o->gap) {
		v->confidence = CONFIDENCE_LIKELY;
		snprintf(v->sentence, sizeof(v->sentence),
			 "Container %s ended while no recorder ran, most likely killed by the kernel: %s.", o->container, reason);
	} else if (v->signal == SIGKILL)
		/* Of a group each was. Of v1 the victim may be one of many, and the rest ended by us before we saw the kill. */
		snprintf(v->sentence, sizeof(v->sentence), "Container %s was killed by the kernel: %s%s%s.", o->container, reason,
			 victim && !all ? " and the kernel killed " : "", victim && !all ? victim : "");
	else {
		/* The kill is proved; that the end followed from it is not. */
		v->confidence = CONFIDENCE_LIKELY;
		snprintf(v->sentence, sizeof(v->sentence),
			 "The kernel killed %s in container %s: %s; then the command ended with exit code %d.",
			 victim ? victim : "a process", o->container, reason, v->exit_code);
	}
}
