/* SPDX-License-Identifier: Apache-2.0 */
/* What the wait status alone says. */
#include "sidecar/verdict/status_verdict.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "lib/units.h"
#include "sidecar/verdict/crash_verdict.h"

void status_read(const struct observation *o, struct verdict *v)
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

/* how: the signal's name, or the exit code. */
static void pod_stopped_verdict(const struct observation *o, const char *how, struct verdict *v)
{
	v->class = FAILURE_POD_DELETED;
	v->confidence = CONFIDENCE_LIKELY;
	verdict_add_evidence(v, "sidecar", "it was asked to stop as well, before the container ended");
	snprintf(v->sentence, sizeof(v->sentence), "Container %s ended with its pod, which was stopped (%s).", o->container, how);
}

void signal_verdict(const struct observation *o, enum oom oom, struct verdict *v)
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

void exit_verdict(const struct observation *o, struct verdict *v)
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
