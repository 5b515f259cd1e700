/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the process that a verdict is about. */
#include "sidecar/verdict/process.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

static void set(struct verdict *v, const char *name, int pid, int signal)
{
	v->process.pid = pid;
	v->process.signal = signal;
	v->process.exit_code = -1;
	snprintf(v->process.name, sizeof(v->process.name), "%s", name);
}

void process_of_verdict(const struct observation *o, struct verdict *v)
{
	if (v->process.name[0] || !o->container_lives)
		return;
	if (o->ray) {
		set(v, o->ray->event.task[0] ? o->ray->event.task : "worker",
		    (int)o->ray->event.pid,
		    v->class == FAILURE_RAY_MEMORY_MONITOR || v->class == FAILURE_KERNEL_OOM_PROCESS ?
			    SIGKILL :
		    v->signal ? v->signal :
		    o->crash  ? o->crash->signal :
				0);
		if (o->worker_ended && o->worker_status >= 0 && WIFEXITED(o->worker_status))
			v->process.exit_code = WEXITSTATUS(o->worker_status);
	} else if (o->crash)
		set(v, o->crash->comm, (int)o->crash->pid, o->crash->signal);
	else if (v->class == FAILURE_KERNEL_OOM_PROCESS && o->victim)
		set(v, o->victim, o->victim_pid, SIGKILL);
}
