/* SPDX-License-Identifier: Apache-2.0 */
/* From evidence to verdict. */
#include "sidecar/verdict/classify.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/units.h"
#include "sidecar/verdict/crash_verdict.h"
#include "sidecar/verdict/limit_verdict.h"
#include "sidecar/verdict/ray_verdict.h"

/* An OOM kill this long before the end still explains it: raylet gives up within seconds of losing a process. */
#define OOM_EXPLAINS_NS (10 * NS_PER_SEC)
/* Without counters: this full, this short before, is taken for an OOM, and said to be likely only. */
#define NEARLY_FULL 0.97
#define NEARLY_FULL_AGE_NS (2 * NS_PER_SEC)
/* Of the limit: usage below it was no reason for an OOM kill, as quickly as it may have grown since. */
#define FAR_BELOW 0.8

void verdict_add_evidence(struct verdict *v, const char *source, const char *fmt, ...)
{
	struct evidence *e = &v->evidence[v->n_evidence];
	va_list ap;

	if (v->n_evidence == EVIDENCE_MAX)
		return;
	v->n_evidence++;
	e->source = source;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
}

void verdict_add_missing(struct verdict *v, const char *what, const char *needs)
{
	for (unsigned int i = 0; i < v->n_missing; i++)
		if (strcmp(v->missing[i].what, what) == 0)
			return; /* said before: a bundle may be written twice, to the store and to the spool */
	if (v->n_missing < MISSING_MAX)
		v->missing[v->n_missing++] = (struct missing){ what, needs };
}

static const char *counter_file(const struct observation *o)
{
	return o->cgroup_version == 1 ? "memory.oom_control" : "memory.events";
}

/* By how much a counter rose, 0 when either reading lacks it. */
static int64_t rise(int64_t before, int64_t after)
{
	return before >= 0 && after > before ? after - before : 0;
}

/* Exit code and signal, from the wait status or, without one, from what ends a container's PID 1. */
static void read_status(const struct observation *o, struct verdict *v)
{
	v->exit_code = -1;
	if (o->container_lives)
		return;
	if (o->gap) {
		gap_evidence(o->gap, v);
	} else if (!o->status_known) {
		/* Nothing else ends PID 1 before it could say a word; the kubelet reports 137 for it. */
		v->exit_code = 128 + SIGKILL;
		v->signal = SIGKILL;
		verdict_add_evidence(v, "launcher", "it died with the container, without a word: only SIGKILL does that");
	} else if (!WIFEXITED(o->wait_status) && !(WIFSIGNALED(o->wait_status) && signal_name(WTERMSIG(o->wait_status)))) {
		verdict_add_evidence(v, "wait status", "0x%x, with which no process ends", (unsigned int)o->wait_status);
	} else if (WIFSIGNALED(o->wait_status)) {
		v->signal = WTERMSIG(o->wait_status);
		v->exit_code = 128 + v->signal;
		verdict_add_evidence(v, "wait status", "the command was ended by %s", signal_name(v->signal));
	} else {
		v->exit_code = WEXITSTATUS(o->wait_status);
		if (v->exit_code > 128 && failure_class_of_signal(v->exit_code - 128) != FAILURE_UNKNOWN) {
			v->signal = v->exit_code - 128;
			verdict_add_evidence(v, "wait status", "exit code %d, by which a shell tells that its command was ended by %s",
				     v->exit_code, signal_name(v->signal));
		} else
			verdict_add_evidence(v, "wait status", "exit code %d", v->exit_code);
	}
}

enum oom { OOM_NO, OOM_UNTOLD, OOM_PROVED, OOM_PROBABLE };

/* Whether the counters tell: both readings are there (a final 0 needs no first), and the kernel counts kills. */
static bool counters_tell(const struct observation *o)
{
	return o->after_known && o->after.oom_kill >= 0 && (o->before.oom_kill >= 0 || o->after.oom_kill == 0);
}

static enum oom look_for_oom(const struct observation *o, struct verdict *v)
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
			return OOM_PROVED;
		verdict_add_evidence(v, counter_file(o), "oom_kill stayed at %" PRId64, o->after.oom_kill);
		return OOM_NO;
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
		return OOM_PROVED;
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

/* The kernel log's word, after the counters'. *ret_kernel: it tells of this death; else NULL. */
static enum oom ask_kernel_log(const struct observation *o, enum oom oom, struct verdict *v,
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

static void oom_verdict(const struct observation *o, enum oom oom, const struct kernel_evidence *k, struct verdict *v)
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

/* how: the signal's name, or the exit code. */
static void pod_stopped_verdict(const struct observation *o, const char *how, struct verdict *v)
{
	v->class = FAILURE_POD_DELETED;
	v->confidence = CONFIDENCE_LIKELY;
	verdict_add_evidence(v, "sidecar", "it was asked to stop as well, before the container ended");
	snprintf(v->sentence, sizeof(v->sentence), "Container %s ended with its pod, which was stopped (%s).", o->container, how);
}

static void signal_verdict(const struct observation *o, enum oom oom, struct verdict *v)
{
	char in[400];

	v->class = failure_class_of_signal(v->signal);
	/* A shell's exit code is its word only: a program may exit with 137 of its own. */
	v->confidence = o->status_known && WIFSIGNALED(o->wait_status) ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY;
	if (v->class == FAILURE_KILLED && oom == OOM_UNTOLD)
		v->confidence = CONFIDENCE_LIKELY;
	if (v->class == FAILURE_UNKNOWN)
		v->confidence = CONFIDENCE_UNKNOWN;
	if (o->pod_terminating && (v->signal == SIGTERM || v->signal == SIGKILL)) {
		pod_stopped_verdict(o, signal_name(v->signal), v);
		return;
	}
	switch (v->class) {
	case FAILURE_KILLED:
		snprintf(v->sentence, sizeof(v->sentence),
			 oom == OOM_UNTOLD ?
				 "Container %s was killed with SIGKILL; that it was not the OOM killer is likely, not proved." :
				 "Container %s was killed with SIGKILL and not by the OOM killer: kill -9, sender unknown.",
			 o->container);
		break;
	case FAILURE_TERMINATED:
	case FAILURE_INTERRUPTED:
		snprintf(v->sentence, sizeof(v->sentence), "Container %s was asked to stop with %s and did.", o->container,
			 signal_name(v->signal));
		break;
	case FAILURE_UNKNOWN:
		snprintf(v->sentence, sizeof(v->sentence), "Container %s was ended by %s.", o->container,
			 signal_name(v->signal));
		break;
	default:
		snprintf(v->sentence, sizeof(v->sentence), "Container %s crashed with %s%s.", o->container,
			 signal_name(v->signal), crash_in(o, in, sizeof(in)));
		if (o->kernel.crash[0])
			verdict_add_evidence(v, "kernel log", "%s", o->kernel.crash);
		crash_evidence(o, v);
	}
}

static void exit_verdict(const struct observation *o, struct verdict *v)
{
	char ran[DURATION_TEXT_MAX], code[32];

	v->confidence = CONFIDENCE_CERTAIN;
	duration_format(o->ran_ns, ran);
	switch (v->exit_code) {
	case 0:
		v->class = FAILURE_COMPLETED;
		snprintf(v->sentence, sizeof(v->sentence), "Container %s ended with exit code 0 after %s.", o->container, ran);
		return;
	case 126:
		v->class = FAILURE_COMMAND_NOT_EXECUTABLE;
		break;
	case 127:
		v->class = FAILURE_COMMAND_NOT_FOUND;
		break;
	default:
		/* Asked to stop, some commands exit with a code of their own: `ray start --block` with 1. */
		if (o->pod_terminating) {
			snprintf(code, sizeof(code), "exit code %d", v->exit_code);
			pod_stopped_verdict(o, code, v);
			return;
		}
		v->class = FAILURE_APPLICATION_ERROR;
	}
	snprintf(v->sentence, sizeof(v->sentence), "Container %s ended with exit code %d after %s%s.", o->container,
		 v->exit_code, ran,
		 v->exit_code == 127   ? ": a command was not found" :
		 v->exit_code == 126   ? ": a command could not be executed" :
					 "");
}

void classify(const struct observation *o, struct verdict *ret_verdict)
{
	struct verdict v = { .class = FAILURE_UNKNOWN, .confidence = CONFIDENCE_UNKNOWN };
	const struct kernel_evidence *kernel;
	enum oom oom;

	if (o->container_lives && o->ray) {
		ray_verdict(o, ret_verdict);
		return;
	}
	if (o->container_lives && o->crash) {
		crash_verdict(o, ret_verdict);
		return;
	}
	read_status(o, &v);
	if (!o->cgroup_version)
		verdict_add_missing(&v, "memory of the container", "a readable memory cgroup in the container");
	oom = o->cgroup_version ? look_for_oom(o, &v) : OOM_UNTOLD;
	oom = ask_kernel_log(o, oom, &v, &kernel);
	/* A clean exit is no death, whatever the kernel took meanwhile. */
	if ((oom == OOM_PROVED || oom == OOM_PROBABLE) && (o->container_lives || v.exit_code != 0))
		oom_verdict(o, oom, kernel, &v);
	else if (v.signal)
		signal_verdict(o, oom, &v);
	else if (v.exit_code >= 0)
		exit_verdict(o, &v);
	else if (o->gap && o->gap->rebooted) {
		v.class = FAILURE_NODE_LOST;
		v.confidence = CONFIDENCE_LIKELY;
		snprintf(v.sentence, sizeof(v.sentence), "Container %s ended with its node, which was restarted.", o->container);
	} else if (o->gap)
		snprintf(v.sentence, sizeof(v.sentence), "Container %s ended while no recorder ran: why is not known.", o->container);
	else
		snprintf(v.sentence, sizeof(v.sentence), "Container %s: what happened is not known.", o->container);
	/* A process of it crashed, and then it ended in its own way. */
	if (o->crash && !(v.signal && v.class == failure_class_of_signal(o->crash->signal)))
		crash_evidence(o, &v);
	limit_verdict(o, &v);
	if (o->ray)
		ray_last_words(o, &v);
	*ret_verdict = v;
}
