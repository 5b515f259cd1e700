/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the verdict from the wait status alone. */
#include "sidecar/verdict/status_verdict.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/exit_code.h"
#include "lib/units.h"
#include "sidecar/verdict/crash_verdict.h"
#include "sidecar/verdict/gap.h"
#include "sidecar/verdict/stop_request.h"

#define COMMAND_SHOWN 120
#define EXIT_CODE_OF_TIMEOUT 124 /* of timeout(1); other programs may use it, too */
#define AT_ONCE_NS NS_PER_SEC /* an end so soon after the start may be a refusal to run there */
/* Limit after an OOM kill that may be why the command ended */
#define OOM_FOLLOWED_NS (60 * NS_PER_SEC)
#define HOW_MAX 160
#define CRASH_IN_MAX 400

static bool is_by_wait_status(const struct observation *o)
{
	return o->status_known && WIFSIGNALED(o->wait_status);
}

void status_read(const struct observation *o, struct verdict *v)
{
	v->exit_code = -1;
	if (o->container_lives)
		return;
	if (o->gap) {
		gap_evidence(o->gap, v);
	} else if (!o->status_known) {
		/*
		 * As a rule SIGKILL ended it, for which the kubelet gives 137. It also ends in this
		 * way if its report could not be delivered.
		 */
		v->exit_code = EXIT_CODE_OF_SIGNAL(SIGKILL);
		v->signal = SIGKILL;
		verdict_add_evidence(v, "launcher",
				     "it ended with the container, without a word: "
				     "SIGKILL is the usual cause");
	} else if (!WIFEXITED(o->wait_status) &&
		   !(WIFSIGNALED(o->wait_status) && signal_name(WTERMSIG(o->wait_status)))) {
		verdict_add_evidence(v, "wait status", "0x%x, with which no process ends",
				     (unsigned int)o->wait_status);
	} else if (WIFSIGNALED(o->wait_status)) {
		v->signal = WTERMSIG(o->wait_status);
		v->exit_code = EXIT_CODE_OF_SIGNAL(v->signal);
		verdict_add_evidence(v, "wait status", "the command was ended by %s",
				     signal_name(v->signal));
	} else {
		v->exit_code = WEXITSTATUS(o->wait_status);
		v->signal = exit_code_signal(v->exit_code);
		if (v->signal)
			verdict_add_evidence(
				v, "wait status",
				"exit code %d, with which a shell reports that %s ended its command",
				v->exit_code, signal_name(v->signal));
		else
			verdict_add_evidence(
				v, "wait status", "exit code %d%s", v->exit_code,
				v->exit_code == EXIT_CODE_OF_TIMEOUT ?
					", with which timeout reports that its limit of time had passed" :
					"");
	}
	stop_request_evidence(o, v);
}

/* `how` is the signal's name, or the exit code. */
static void pod_stopped_verdict(const struct observation *o, const char *how, struct verdict *v)
{
	v->class = FAILURE_POD_DELETED;
	v->confidence = CONFIDENCE_LIKELY;
	verdict_add_evidence(v, "sidecar",
			     "it was asked to stop as well, before the container ended");
	verdict_say(v, "Container %s most likely ended with its pod, which was stopped (%s).",
		    o->container, how);
}

/* Returns whether nothing shows that it had a child: the launcher was the only other process. */
static bool was_alone(const struct observation *o)
{
	return o->processes == 2 && o->n_watched_ends == 0 && o->unread_end.pid == 0;
}

/*
 * Writes the clause after the container's name, which asserts no more than is known. `did` is "was
 * ended by" or "crashed with".
 */
static const char *how_it_ended(const struct observation *o, const struct verdict *v,
				const char *did, char how[static HOW_MAX])
{
	const char *signal = signal_name(v->signal);

	if (is_by_wait_status(o))
		snprintf(how, HOW_MAX, "%s %s", did, signal);
	else if (o->status_known)
		snprintf(how, HOW_MAX,
			 "ended with exit code %d, %s that of a shell whose command %s %s",
			 v->exit_code,
			 was_alone(o) ? "its own, as no other process was seen, or" : "most likely",
			 did, signal);
	else
		snprintf(how, HOW_MAX,
			 "most likely %s %s (its launcher ended with it, without a word)", did,
			 signal);
	return how;
}

/*
 * Returns whether there are no data about memory, so that nothing says whether the OOM killer came.
 * The kernel log does if it names the command's PID.
 */
static bool lacks_memory_data(const struct observation *o)
{
	bool counted = o->after_known && o->after.oom_kill >= 0;

	return !counted && o->last.usage < 0 && !o->kernel.rules_out && !o->gap;
}

static void killed_sentence(const struct observation *o, enum oom oom, struct verdict *v)
{
	char how[HOW_MAX];

	how_it_ended(o, v, "was killed with", how);
	if (oom == OOM_UNKNOWN && o->status_known && !is_by_wait_status(o) && o->after.oom_kill > 0)
		verdict_say(
			v,
			"Container %s %s, perhaps by the OOM killer, which took a process earlier.",
			o->container, how);
	else if (oom == OOM_UNKNOWN && lacks_memory_data(o))
		verdict_say(
			v,
			"Container %s %s; whether by the OOM killer is not known: its memory could not be read.",
			o->container, how);
	else if (oom == OOM_UNKNOWN)
		verdict_say(
			v, "Container %s %s; that it was not the OOM killer is likely, not proved.",
			o->container, how);
	else if (o->status_known && !is_by_wait_status(o))
		/*
		 * The shell may have got that code from anywhere: from a command in another cgroup,
		 * or on another machine.
		 */
		verdict_say(v, "Container %s %s; no OOM kill was counted for the container.",
			    o->container, how);
	else
		verdict_say(v, "Container %s %s%s and not by the OOM killer%s.", o->container, how,
			    is_by_wait_status(o) ? "" : ",",
			    is_by_wait_status(o) ? ": sender unknown" : "");
}

/* Returns whether the core with this signal is that of another process of the container. */
static bool is_core_of_another(const struct observation *o)
{
	return is_by_wait_status(o) && o->crash && o->crash->pid > 0 && o->command_pid > 0 &&
	       o->crash->pid != o->command_pid;
}

/* A line about a crash names no container. */
static void kernel_crash_evidence(const struct observation *o, struct verdict *v)
{
	if (o->kernel.crash[0])
		verdict_add_evidence(v, "kernel log", "%s%s",
				     o->kernel.crash_by_pid ?
					     "" :
					     "perhaps of this container, as name and time fit: ",
				     o->kernel.crash);
}

static void crashed_verdict(const struct observation *o, struct verdict *v)
{
	bool another = is_core_of_another(o);
	char how[HOW_MAX], in[CRASH_IN_MAX];

	verdict_say(v, "Container %s %s%s.", o->container,
		    how_it_ended(o, v,
				 !another && o->crash && o->crash->sent ? "was ended by" :
									  "crashed with",
				 how),
		    another ? "" : crash_in(o, in, sizeof(in)));
	if (another)
		verdict_add_missing(v, "core file of the command",
				    "its own core: the one that is there is of another process");
	kernel_crash_evidence(o, v);
	crash_evidence(o, v);
}

/*
 * Some of them dump core as well: SIGQUIT, SIGXCPU, SIGXFSZ, SIGSYS. Anybody may send any of them
 * with kill, and a timer of the command may have been given any of them, so their meaning is only
 * the usual one.
 */
static void signaled_verdict(const struct observation *o, struct verdict *v)
{
	char how[HOW_MAX];

	verdict_say(v, "Container %s %s, which a process usually gets %s.", o->container,
		    how_it_ended(o, v, "was ended by", how), signal_meaning(v->signal));
	if (o->crash && o->crash->signal == v->signal)
		crash_evidence(o, v);
}

void signal_verdict(const struct observation *o, enum oom oom, struct verdict *v)
{
	char how[HOW_MAX];

	v->class = failure_class_of_signal(v->signal);
	/* A shell passes 137 on, but a program may also exit with 137 by itself. */
	v->confidence = is_by_wait_status(o) ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY;
	if (v->class == FAILURE_KILLED && oom == OOM_UNKNOWN)
		v->confidence = lacks_memory_data(o) ? CONFIDENCE_UNKNOWN : CONFIDENCE_LIKELY;
	if (v->class == FAILURE_UNKNOWN)
		v->confidence = CONFIDENCE_UNKNOWN;
	if (o->pod_terminating && (v->signal == SIGTERM || v->signal == SIGKILL)) {
		pod_stopped_verdict(o, signal_name(v->signal), v);
		return;
	}
	switch (v->class) {
	case FAILURE_KILLED:
		killed_sentence(o, oom, v);
		break;
	case FAILURE_TERMINATED:
	case FAILURE_INTERRUPTED:
	case FAILURE_UNKNOWN:
		verdict_say(v, "Container %s %s.", o->container,
			    how_it_ended(o, v, "was ended by", how));
		break;
	case FAILURE_SIGNALED:
		signaled_verdict(o, v);
		break;
	default:
		crashed_verdict(o, v);
	}
	stop_request_append(o, v);
	if (o->status_known && !is_by_wait_status(o))
		verdict_add_missing(
			v, "whether a signal ended the command, or the code is its own",
			"the command as the container's own process (exec COMMAND), without a shell before it");
}

/* Asked to stop, some commands exit with a code of their own: `ray start --block` with 1. */
static void asked_verdict(const struct observation *o, struct verdict *v)
{
	char asked[HOW_MAX];

	verdict_set(
		v, FAILURE_TERMINATED, CONFIDENCE_LIKELY,
		"Container %s ended with exit code %d, most likely because it was asked to stop (%s).",
		o->container, v->exit_code, stop_request_describe(o, asked, sizeof(asked)));
	verdict_add_missing(v, "who asked it to stop, and why", "the pod's events");
}

/*
 * Whether a process of the container crashed. A request to stop does not make a process crash. A
 * Ray node ends only if one of Ray's own processes crashes, and ray_process_verdict decides on
 * that.
 */
static bool has_crashed(const struct observation *o)
{
	bool dumped = o->crash && signal_is_of_crash(o->crash->signal);

	return (dumped || o->kernel.crash[0]) && !o->has_raylet;
}

/*
 * Writes "python3 (PID 9) in it had crashed with SIGSEGV in f". The kernel's line may be matched to
 * the container by the name alone.
 */
static const char *who_crashed(const struct observation *o, char who[static HOW_MAX])
{
	const struct crash_info *c = o->crash;
	char in[CRASH_IN_MAX];

	if (!c || !signal_is_of_crash(c->signal)) {
		snprintf(who, HOW_MAX, "a process in it had most likely crashed");
		return who;
	}
	snprintf(who, HOW_MAX, "%s (PID %d) in it had crashed with %s%.60s",
		 c->comm[0] ? c->comm : "a process", (int)c->pid, signal_name(c->signal),
		 crash_in(o, in, sizeof(in)));
	return who;
}

/* Both are known to have happened. Which of them ended the container is not known. */
static void crashed_and_asked_verdict(const struct observation *o, const char *ran,
				      struct verdict *v)
{
	char who[HOW_MAX];

	verdict_set(v, FAILURE_APPLICATION_ERROR, CONFIDENCE_LIKELY,
		    "Container %s ended with exit code %d after %s, when %s.", o->container,
		    v->exit_code, ran, who_crashed(o, who));
	stop_request_append(o, v);
	kernel_crash_evidence(o, v);
	verdict_add_missing(v, "whether the crash ended it, or who asked it to stop",
			    "the command's own log, and the pod's events");
}

/* 126 or 127 of a command that was executed may come from a shell, or from the program itself. */
static void shell_verdict(const struct observation *o, const char *ran, struct verdict *v)
{
	bool found = v->exit_code == EXIT_CODE_NOT_EXECUTABLE;

	verdict_set(
		v, exit_code_class(v->exit_code), CONFIDENCE_LIKELY,
		"Container %s ended with exit code %d after %s, most likely because %s.",
		o->container, v->exit_code, ran,
		found ? "a command could not be executed (as a shell reports)" :
			"a command was not found (as a shell reports), or a library is missing (as the loader reports)");
	verdict_add_missing(
		v,
		"which program ended with this exit code, and which command or library was missing",
		"the container's own log, where a shell or the loader names it");
}

/*
 * In a cgroup that others share, only a report says that the victim was a process of the container.
 */
static bool oom_took_a_process(const struct observation *o)
{
	return o->process_oom_ns && (o->process_oom_reported || !o->cgroup_shared);
}

/* On a busy machine the consequences take a while. */
void after_oom_verdict(const struct observation *o, struct verdict *v)
{
	int64_t before_ns = o->ended_ns - o->process_oom_ns;
	char before[DURATION_TEXT_MAX];

	if (v->class != FAILURE_APPLICATION_ERROR || v->signal || !oom_took_a_process(o) ||
	    before_ns < 0 || before_ns > OOM_FOLLOWED_NS ||
	    stop_request_explains(&o->asked, o->ended_ns))
		return;
	v->confidence = CONFIDENCE_LIKELY;
	duration_format(before_ns, before);
	verdict_add_evidence(v, "sidecar",
			     "%s before the end, the OOM killer took a process of the container%s",
			     before, o->process_oom_reported ? ": see its own report" : "");
	verdict_continue(v,
			 "; %s before, the kernel had killed a process in it for lack of memory.",
			 before);
	verdict_add_missing(v, "whether it ended for that OOM kill", "the command's own log");
}

/* Some inits end at once if they are not process 1. In a container that is the launcher. */
static void process_1_missing(const struct observation *o, struct verdict *v)
{
	if (o->pod && v->exit_code != 0 && o->launcher_pid == 1 && o->ran_ns <= AT_ONCE_NS)
		verdict_add_missing(
			v,
			"whether the command insists on being process 1, which the launcher is here",
			"a try with the annotation afterglow.dev/inject: \"false\"");
}

/* Both are facts. That the one led to the other is not said. */
static void append_crash(const struct observation *o, struct verdict *v)
{
	char who[HOW_MAX];

	verdict_continue(v, "; before, %s.", who_crashed(o, who));
}

/*
 * The command was never executed. Only the launcher knows the errno of its exec, and reports it.
 * The exit code is 126 or 127.
 */
static void unstarted_verdict(const struct observation *o, struct verdict *v)
{
	const struct unstarted *u = o->unstarted;
	const char *name = strerrorname_np(u->error), *words = strerror(u->error);

	v->class = u->error == ENOENT && !u->there ? FAILURE_COMMAND_NOT_FOUND :
						     FAILURE_COMMAND_NOT_EXECUTABLE;
	v->confidence = CONFIDENCE_CERTAIN;
	verdict_add_evidence(v, "launcher", "execve of %.*s gave %s (%s)", COMMAND_SHOWN,
			     u->command, name ? name : "an error", words);
	if (u->error == ENOENT && u->there)
		verdict_say(
			v,
			"Container %.63s could not start its command %.*s: the file is there, but"
			" not the interpreter or loader that it names.",
			o->container, COMMAND_SHOWN, u->command);
	else
		verdict_say(v, "Container %.63s could not start its command %.*s: %s.",
			    o->container, COMMAND_SHOWN, u->command[0] ? u->command : "\"\"",
			    words);
}

void exit_verdict(const struct observation *o, struct verdict *v)
{
	char ran[DURATION_TEXT_MAX], code[32];

	v->confidence = CONFIDENCE_CERTAIN;
	duration_format(o->ran_ns, ran);
	if (exit_code_is_of_shell(v->exit_code) && o->unstarted) {
		unstarted_verdict(o, v);
		return;
	}
	if (v->exit_code != 0 && !o->pod_terminating &&
	    stop_request_explains(&o->asked, o->ended_ns)) {
		if (has_crashed(o))
			crashed_and_asked_verdict(o, ran, v);
		else
			asked_verdict(o, v);
		return;
	}
	if (exit_code_is_of_shell(v->exit_code)) {
		shell_verdict(o, ran, v);
		return;
	}
	if (v->exit_code != 0 && o->pod_terminating) {
		snprintf(code, sizeof(code), "exit code %d", v->exit_code);
		pod_stopped_verdict(o, code, v);
		return;
	}
	v->class = v->exit_code == 0 ? FAILURE_COMPLETED : FAILURE_APPLICATION_ERROR;
	verdict_say(v, "Container %s ended with exit code %d after %s.", o->container, v->exit_code,
		    ran);
	if (v->exit_code != 0 && has_crashed(o) && o->crash)
		append_crash(o, v);
	process_1_missing(o, v);
	if (failure_class_of_signal(v->exit_code - EXIT_CODE_OF_SIGNAL(0)) == FAILURE_UNKNOWN)
		return;
	v->confidence = CONFIDENCE_LIKELY;
	verdict_add_missing(
		v, "whether the code is the command's own, or a shell's for a real-time signal",
		"the command as the container's own process (exec COMMAND), without a shell before it");
}
