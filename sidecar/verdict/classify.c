/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a verdict from evidence. */
#include "sidecar/verdict/classify.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/utf8.h"
#include "sidecar/verdict/crash_verdict.h"
#include "sidecar/verdict/gpu_verdict.h"
#include "sidecar/verdict/limit_verdict.h"
#include "sidecar/verdict/oom_verdict.h"
#include "sidecar/verdict/oom_victim.h"
#include "sidecar/verdict/ray_process_cause.h"
#include "sidecar/verdict/ray_process_verdict.h"
#include "sidecar/verdict/ray_verdict.h"
#include "sidecar/verdict/sender.h"
#include "sidecar/verdict/status_verdict.h"
#include "sidecar/verdict/watched_ends.h"

static void set_process(struct verdict *v, const char *name, int pid, int signal)
{
	v->process.pid = pid;
	v->process.signal = signal;
	v->process.exit_code = -1;
	snprintf(v->process.name, sizeof(v->process.name), "%s", name);
	utf8_mend(v->process.name);
}

static bool oom_ended_container(const struct observation *o, const struct verdict *v)
{
	return !o->container_lives && failure_class_is_oom((int)v->class);
}

/*
 * Returns whether the victim is known, by a name that the kernel does not contradict, and is not
 * the command itself.
 */
static bool victim_is_known(const struct observation *o)
{
	const char *named = o->kernel.oom && o->kernel.by_cgroup ? o->kernel.name : "";

	return o->victim && o->victim_pid != o->command_pid &&
	       strncmp(o->victim, named, strlen(named)) == 0;
}

/*
 * Fills v->process, unless it is set. While the container lives on, the process is the OOM killer's
 * victim, the worker that Ray's logs name, or the process that left a core. Otherwise it is the
 * command that ended.
 */
static void process_of_verdict(const struct observation *o, struct verdict *v)
{
	if (v->process.name[0] || !o->container_lives)
		return;
	if (o->ray) {
		set_process(v, o->ray->event.task[0] ? o->ray->event.task : "worker",
			    (int)o->ray->event.pid,
			    o->worker_ended && o->worker_status > 0 &&
					    WIFSIGNALED(o->worker_status) ?
				    WTERMSIG(o->worker_status) :
			    v->class == FAILURE_RAY_MEMORY_MONITOR ||
					    v->class == FAILURE_KERNEL_OOM_PROCESS ?
				    SIGKILL :
			    v->signal ? v->signal :
			    o->crash  ? o->crash->signal :
					0);
		snprintf(v->process.worker_id, sizeof(v->process.worker_id), "%s",
			 o->ray->event.worker_id);
		if (o->worker_ended && o->worker_status >= 0 && WIFEXITED(o->worker_status))
			v->process.exit_code = WEXITSTATUS(o->worker_status);
	} else if (o->crash)
		set_process(v, o->crash->comm, (int)o->crash->pid, o->crash->signal);
	else if (v->class == FAILURE_KERNEL_OOM_PROCESS && o->victim)
		set_process(v, o->victim, o->victim_pid, SIGKILL);
}

/* After sender_verdict: the OOM killer's victim, where its kill ended the container. */
static void process_of_oom_kill(const struct observation *o, struct verdict *v)
{
	if (!v->process.name[0] && oom_ended_container(o, v) && victim_is_known(o))
		set_process(v, o->victim, o->victim_pid, SIGKILL);
}

static void of_container(const struct observation *o, struct verdict *ret_verdict)
{
	struct verdict v = { .class = FAILURE_UNKNOWN, .confidence = CONFIDENCE_UNKNOWN };
	const struct kernel_evidence *kernel;

	status_read(o, &v);
	if (!o->cgroup_version)
		verdict_add_missing(&v, "memory of the container", "a readable memory cgroup");
	enum oom oom = o->cgroup_version ? oom_from_counters(o, &v) : OOM_UNKNOWN;
	oom = oom_from_kernel_log(o, oom, &v, &kernel);
	oom = sender_oom(o, oom, &v);
	if (v.exit_code != 0)
		oom = oom_explains(o, oom, kernel, &v);
	/* A clean exit is no failure, whatever the OOM killer did meanwhile. */
	if ((oom == OOM_PROVED || oom == OOM_PROBABLE) && (o->container_lives || v.exit_code != 0))
		oom_verdict(o, oom, kernel, &v);
	else if (oom == OOM_BEFORE)
		oom_before_verdict(o, kernel, &v);
	else if (v.signal)
		signal_verdict(o, oom, &v);
	else if (v.exit_code >= 0) {
		exit_verdict(o, &v);
		if (v.class == FAILURE_APPLICATION_ERROR && oom == OOM_UNKNOWN &&
		    (oom_is_possible(o) || (!o->cgroup_version && !o->kernel.rules_out)))
			v.confidence = CONFIDENCE_LIKELY;
	} else if (o->gap && o->gap->rebooted) {
		verdict_set(&v, FAILURE_NODE_LOST, CONFIDENCE_LIKELY,
			    "Container %s most likely ended with its node, which was restarted.",
			    o->container);
	} else if (o->gap)
		verdict_say(&v, "Container %s ended while no sidecar ran: why is not known.",
			    o->container);
	else
		verdict_say(&v, "Container %s: what happened is not known.", o->container);
	/* A process of the container crashed, and the container then ended in another way. */
	if (o->crash &&
	    !(v.signal == o->crash->signal &&
	      IS_ONE_OF(v.class, failure_class_of_signal(v.signal), FAILURE_TERMINATED)))
		crash_evidence(o, &v);
	limit_verdict(o, &v);
	if (o->ray)
		ray_last_words(o, &v);
	if (o->isolation_logged && v.class != FAILURE_COMPLETED)
		verdict_add_evidence(&v, "raylet.out", "shortly before: %s", o->isolation_logged);
	ray_process_verdict(o, oom, &v);
	limit_of_objects(o, &v);
	limit_cpu_evidence(o, &v);
	gpu_container_verdict(o, &v);
	after_oom_verdict(o, &v);
	watched_ends_evidence(o, &v);
	*ret_verdict = v;
}

/*
 * Returns whether the worker whose death raylet logs is the OOM killer's victim in a cgroup that
 * others share. In a cgroup of the container's own, such a death has the kernel's report alone
 * (ray_tally.h).
 */
static bool oom_took_worker(const struct observation *o, const struct watched_end *victim)
{
	pid_t pid = o->ray->event.pid;
	bool logged = o->cgroup_shared && o->kernel.oom && o->kernel.by_pid && o->kernel.pid == pid;

	return o->ray->event.kind == RAY_WORKER_CRASH && pid > 0 &&
	       (logged || (victim && victim->pid == pid));
}

void classify(const struct observation *observed, struct verdict *ret_verdict)
{
	const struct ray_process_end *taken = ray_process_oom_victim(observed);
	const struct watched_end *other = taken ? NULL : watched_ends_oom_victim(observed);
	struct observation seen = *observed, *o = &seen;

	if (taken) {
		seen.victim = ray_process_type(taken->kind);
		seen.victim_rss = taken->pid == seen.victim_pid ? seen.victim_rss : 0;
		seen.victim_pid = (int)taken->pid;
	} else if (other) {
		seen.victim = other->name;
		seen.victim_rss = 0;
		seen.victim_pid = (int)other->pid;
	} else if (observed->cgroup_shared) {
		/* Sizes prove nothing there: the victim may be a process that we do not see. */
		seen.victim = NULL;
		seen.victim_pid = 0;
	}
	if (o->container_lives && o->ray && !oom_took_worker(o, other))
		ray_verdict(o, ret_verdict);
	else if (o->container_lives && o->process)
		ray_process_lives_verdict(o, ret_verdict);
	else if (o->container_lives && o->crash)
		crash_verdict(o, ret_verdict);
	else
		of_container(o, ret_verdict);
	if (o->container_lives)
		limit_of_process(o, ret_verdict);
	process_of_verdict(o, ret_verdict);
	sender_verdict(o, ret_verdict);
	process_of_oom_kill(o, ret_verdict);
}
