/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the process that a verdict is about. */
#include "sidecar/verdict/process.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/utf8.h"

static void set(struct verdict *v, const char *name, int pid, int signal)
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

void process_of_verdict(const struct observation *o, struct verdict *v)
{
	if (v->process.name[0] || !o->container_lives)
		return;
	if (o->ray) {
		set(v, o->ray->event.task[0] ? o->ray->event.task : "worker",
		    (int)o->ray->event.pid,
		    o->worker_ended && o->worker_status > 0 && WIFSIGNALED(o->worker_status) ?
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
		set(v, o->crash->comm, (int)o->crash->pid, o->crash->signal);
	else if (v->class == FAILURE_KERNEL_OOM_PROCESS && o->victim)
		set(v, o->victim, o->victim_pid, SIGKILL);
}

void process_of_oom_kill(const struct observation *o, struct verdict *v)
{
	if (!v->process.name[0] && oom_ended_container(o, v) && victim_is_known(o))
		set(v, o->victim, o->victim_pid, SIGKILL);
}
