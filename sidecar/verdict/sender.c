/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the sender of the signal that ended a container or one of its processes. */
#include "sidecar/verdict/sender.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/units.h"

/*
 * The memory of a process is freed before the process is gone: that takes a tenth of a second for
 * each GiB, and more on a busy machine.
 */
#define DIES_WITHIN_NS (10 * NS_PER_SEC)
/*
 * The end may appear to be before the signal by at most this, a tick of the kernel's coarse clock.
 */
#define SLACK_NS (20 * NS_PER_MS)
/* The launcher passes a signal on at once. */
#define FORWARDS_WITHIN_NS NS_PER_SEC

/* Describes programs of the node by the kernel's names for them, which are cut to 15 bytes. */
static const struct role {
	const char *comm; /* the beginning of the kernel's name */
	const char *text;
} roles[] = {
	{ "containerd-shim", ", the container runtime," },
	{ "containerd", ", the container runtime," },
	{ "runc", ", the container runtime," },
	{ "crun", ", the container runtime," },
	{ "conmon", ", the container runtime," },
	{ "crio", ", the container runtime," },
	{ "dockerd", ", the container runtime," },
	{ "systemd-oomd", ", which kills when memory runs low," },
	{ "earlyoom", ", which kills when memory runs low," },
	{ "oomd", ", which kills when memory runs low," },
	{ "nohang", ", which kills when memory runs low," },
};

static const char *role_of(const char *comm)
{
	for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
		if (strncmp(comm, roles[i].comm, strlen(roles[i].comm)) == 0)
			return roles[i].text;
	return "";
}

#define TEXT_MAX 160

/*
 * Describes the sender: "kubelet (PID 812) on the node", "python3 (PID 12) in container ray-head",
 * "itself". Returns text.
 */
static const char *sender_describe(const struct node_signal *s, const char *container,
				   char text[static TEXT_MAX])
{
	const char *comm = s->comm[0] ? s->comm : "a process";
	int own = (int)(s->sender_own ? s->sender_own : s->sender);
	const char *on_node = s->sender_own ? "" : " on the node";

	switch (s->place) {
	case NODE_SIGNAL_NODE:
		snprintf(text, TEXT_MAX, "%s (PID %d)%s on the node", comm, (int)s->sender,
			 role_of(comm));
		break;
	case NODE_SIGNAL_SAME:
		if (s->sender_own && s->sender_own == s->target)
			snprintf(text, TEXT_MAX, "itself");
		else
			snprintf(text, TEXT_MAX, "%s (PID %d%s) in container %s", comm, own,
				 on_node, container);
		break;
	case NODE_SIGNAL_POD:
		snprintf(text, TEXT_MAX, "%s (PID %d%s) in another container of the pod", comm, own,
			 on_node);
		break;
	case NODE_SIGNAL_OTHER_POD:
		snprintf(text, TEXT_MAX, "%s (PID %d on the node) in another pod", comm,
			 (int)s->sender);
		break;
	case NODE_SIGNAL_UNKNOWN:
		snprintf(text, TEXT_MAX, "%s (PID %d on the node), which ended right after", comm,
			 (int)s->sender);
		break;
	}
	return text;
}

/*
 * Returns the process with which the container ended: the command, or the launcher if it died
 * before it reported the command's end.
 */
static pid_t decisive_process(const struct observation *o)
{
	return o->status_known ? o->command_pid : o->launcher_pid;
}

static bool fits(const struct node_signal *s, int64_t ended_ns)
{
	return s->at_ns <= ended_ns + SLACK_NS && s->at_ns >= ended_ns - DIES_WITHIN_NS;
}

/* Returns the last record with this target. signal 0 stands for an OOM kill. */
static const struct node_signal *signal_find(const struct observation *o, pid_t target, int signal,
					     int64_t ended_ns)
{
	const struct node_signal *found = NULL;

	for (size_t i = 0; target > 0 && i < o->n_signals; i++) {
		const struct node_signal *s = &o->signals[i];

		if (s->target == target && s->oom == !signal && (s->oom || s->signal == signal) &&
		    fits(s, ended_ns))
			found = s;
	}
	return found;
}

/*
 * If the launcher forwarded the signal, returns the signal that the launcher had received, or NULL
 * if it is not known; else s.
 */
static const struct node_signal *origin(const struct observation *o, const struct node_signal *s)
{
	if (!s || o->launcher_pid <= 0 || s->place != NODE_SIGNAL_SAME ||
	    s->sender_own != o->launcher_pid || s->target == o->launcher_pid)
		return s;
	const struct node_signal *before = signal_find(o, o->launcher_pid, s->signal, s->at_ns);
	if (before && s->at_ns - before->at_ns <= FORWARDS_WITHIN_NS)
		return before;
	return s->signal == o->asked.signal ? NULL : s;
}

bool sender_is_another(const struct observation *o, pid_t target, const char *comm)
{
	const struct node_signal *killed = signal_find(o, target, SIGKILL, o->ended_ns);
	const struct node_signal *s =
		killed ? killed : signal_find(o, target, SIGTERM, o->ended_ns);

	return s && (s->place != NODE_SIGNAL_SAME || strcmp(s->comm, comm) != 0);
}

unsigned int sender_oom_others(const struct observation *o)
{
	unsigned int n = 0;

	for (size_t i = 0; i < o->n_signals; i++)
		n += o->signals[i].oom && fits(&o->signals[i], o->ended_ns) &&
		     o->signals[i].target > 0 && o->signals[i].target != decisive_process(o) &&
		     !signal_find(o, o->signals[i].target, SIGKILL, o->ended_ns);
	return n;
}

/*
 * Returns whether SIGKILL ended the container. The wait status says so, or the launcher sent no
 * report.
 */
static bool was_killed(const struct observation *o)
{
	return !o->container_lives && !o->gap &&
	       (!o->status_known ||
		(WIFSIGNALED(o->wait_status) && WTERMSIG(o->wait_status) == SIGKILL));
}

bool sender_killed_command(const struct observation *o)
{
	return was_killed(o) && signal_find(o, decisive_process(o), SIGKILL, o->ended_ns) != NULL;
}

bool sender_oom_took_command(const struct observation *o)
{
	/* The kernel marks also a process that is already dying of another SIGKILL. */
	return !o->container_lives && !sender_killed_command(o) &&
	       signal_find(o, decisive_process(o), 0, o->ended_ns) != NULL;
}

enum oom sender_oom(const struct observation *o, enum oom oom, struct verdict *v)
{
	if (!was_killed(o) || o->group_ended_by_us)
		return oom;
	if (sender_oom_took_command(o)) {
		verdict_add_evidence(v, "node agent", "the OOM killer took the %s (PID %d)",
				     o->status_known ? "command" : "launcher",
				     (int)decisive_process(o));
		return OOM_PROVED;
	}
	return sender_killed_command(o) && (oom == OOM_UNKNOWN || oom == OOM_PROBABLE) ? OOM_NO :
											 oom;
}

/* The list has room for eight entries. The one that names the sender must not be dropped. */
static void add_evidence(struct verdict *v, const char *target, const struct node_signal *s,
			 int64_t ended_ns, const char *sender)
{
	if (v->n_evidence == EVIDENCE_MAX)
		v->n_evidence--;
	verdict_add_evidence(v, "node agent", "%s to %s (PID %d), %s before its end, from %s",
			     signal_name(s->signal), target, (int)s->target,
			     DURATION_TEXT(ended_ns - s->at_ns), sender);
}

static void append(struct verdict *v, const char *before, const char *text)
{
	verdict_continue(v, "%s%s.", before, text);
}

/* Uses only a record for the process itself, because then no other sender can have ended it. */
static void of_container(const struct observation *o, struct verdict *v)
{
	const struct node_signal *s =
		origin(o, signal_find(o, decisive_process(o), v->signal, o->ended_ns));
	bool exited = o->status_known && !WIFSIGNALED(o->wait_status);
	char sender[TEXT_MAX];

	/* A shell's exit code is about another process, which only the shell knows. */
	if (!s || exited)
		return;
	sender_describe(s, o->container, sender);
	add_evidence(v, s->target == o->launcher_pid ? "the launcher" : "the command", s,
		     o->ended_ns, sender);
	if (v->class == FAILURE_KILLED) {
		v->confidence = CONFIDENCE_CERTAIN;
		verdict_say(v, "Container %s was killed with SIGKILL from %s.", o->container,
			    sender);
	} else if (v->class != FAILURE_POD_DELETED &&
		   v->class == failure_class_of_signal(v->signal))
		append(v, o->asked.signal ? "; the signal came from " : ", sent by ", sender);
}

/* Adds the sender to the verdict on a process of the container. */
static void of_process(const struct observation *o, struct verdict *v)
{
	int64_t ended_ns = o->process ? o->process->ended_ns : o->ended_ns;
	char sender[TEXT_MAX], text[TEXT_MAX + 32];

	for (size_t i = 0; i < o->n_ends; i++)
		if (o->ends[i].pid == v->process.pid)
			ended_ns = o->ends[i].ended_ns;
	const struct node_signal *s = signal_find(o, v->process.pid, v->process.signal, ended_ns);
	if (!s)
		return;
	sender_describe(s, o->container, sender);
	add_evidence(v, v->process.name[0] ? v->process.name : "the process", s, ended_ns, sender);
	snprintf(text, sizeof(text), "%s came from %s", signal_name(s->signal), sender);
	append(v, "; ", text);
}

/*
 * The sender of a SIGKILL is what the reader misses. Where the counters rule the OOM killer out,
 * the kernel log has nothing to add, and is not missing.
 */
static void sender_is_missing(const struct observation *o, struct verdict *v)
{
	bool of_ray =
		v->process.signal == SIGKILL && !failure_class_is_oom((int)v->class) &&
		ray_process_of_type(v->process.name, strlen(v->process.name)) != RAY_PROCESS_NONE;
	bool worker = v->class == FAILURE_WORKER_CRASH && v->signal == SIGKILL;

	if (o->n_signals ||
	    (!worker && !of_ray && (o->container_lives || v->class != FAILURE_KILLED)))
		return;
	for (unsigned int i = 0; i < v->n_missing && v->confidence == CONFIDENCE_CERTAIN; i++)
		if (o->pod && strcmp(v->missing[i].what, "kernel log") == 0) {
			v->n_missing--;
			memmove(&v->missing[i], &v->missing[i + 1],
				(v->n_missing - i) * sizeof(v->missing[0]));
		}
	verdict_add_missing(
		v, "who sent the SIGKILL",
		o->pod ?
			"the node agent (nodeAgent.enabled), which sees each signal that ends a process" :
		of_ray ?
			"the log of whoever may stop Ray here: `ray stop --force` sends it" :
			"the log of its parent; at ulimit -H -t (CPU time) the kernel itself sends it, and timeout -k sends it to itself");
}

void sender_verdict(const struct observation *o, struct verdict *v)
{
	if (o->gap)
		return;
	sender_is_missing(o, v);
	if (v->process.pid > 0 && v->process.signal > 0 && v->class != FAILURE_KERNEL_OOM_PROCESS)
		of_process(o, v);
	else if (!o->container_lives && v->signal > 0)
		of_container(o, v);
}
