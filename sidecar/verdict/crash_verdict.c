/* SPDX-License-Identifier: Apache-2.0 */
/* Adds to a verdict what a core shows. */
#include "sidecar/verdict/crash_verdict.h"

#include <stdio.h>

#include "lib/units.h"

#define DUMP_SHOWN_NS NS_PER_SEC /* a shorter dump hardly delays the end */

const char *crash_in(const struct observation *o, char *text, size_t size)
{
	char where[sizeof(o->crash->function) + sizeof(o->crash->module)];

	text[0] = '\0';
	if (o->crash && o->crash->sent && o->crash->sender)
		snprintf(text, size, ", which PID %d sent", (int)o->crash->sender);
	else if (o->crash && o->crash->sent)
		snprintf(text, size, ", which a process outside of the container sent");
	else if (o->crash && crash_info_where(o->crash, where, sizeof(where))[0])
		snprintf(text, size, " in %s", where);
	return text;
}

static const char *core_needs_of(const struct observation *o)
{
	return o->core_needs && *o->core_needs ? o->core_needs :
						 "a sidecar that runs when it crashes";
}

void crash_evidence(const struct observation *o, struct verdict *v)
{
	const struct crash_info *c = o->crash;

	if (!c) {
		verdict_add_missing(v, "core file and backtrace", core_needs_of(o));
		return;
	}
	if (!c->known) {
		verdict_add_evidence(v, "launcher", "%s (PID %d) was ended by %s", c->comm,
				     (int)c->pid, signal_name(c->signal));
		verdict_add_missing(v, "core file and backtrace", core_needs_of(o));
		return;
	}
	if (c->sentence[0])
		verdict_add_evidence(v, "core", "%s", c->sentence);
	else
		verdict_add_evidence(
			v, "core", "%s (PID %d) dumped it%s%s", c->comm[0] ? c->comm : "a process",
			(int)c->pid, c->signal ? " after " : "",
			c->signal && signal_name(c->signal) ? signal_name(c->signal) : "");
	if (c->message[0])
		verdict_add_evidence(v, "core", "the C library aborted with: %s", c->message);
	if (c->dump_ns >= DUMP_SHOWN_NS)
		verdict_add_evidence(
			v, "core",
			"by the times of its file the kernel wrote it for %s: the process crashed that long before it ended",
			DURATION_TEXT(c->dump_ns));
	if (c->python[0])
		verdict_add_evidence(v, "Python", "%s", c->python);
	if (!c->unwound)
		verdict_add_missing(
			v, "backtrace",
			"more time than the report could wait, or a core that afterglow-unwind can read");
	if (c->left_out > 0) {
		verdict_add_evidence(v, "core", "%s of the process's memory are not in it",
				     SIZE_TEXT(c->left_out));
		verdict_add_missing(
			v, "the whole core",
			"a core_pattern by which the kernel writes cores in the container: of what the node "
			"agent brings, the sidecar keeps 64 MiB at most");
	}
	if (c->cut)
		verdict_add_missing(
			v, "the whole core",
			"a higher core limit (recording.coreDumpLimit, ulimit -c), or a disk that it fits on");
}

/*
 * A core with the PID of a process that lives on was copied: in a PID namespace, an earlier start
 * of the container gave the same PIDs.
 */
static bool may_be_of_another(const struct observation *o)
{
	return !o->ray && (o->core_is_unproved || (o->core_pid_lives && !o->core_is_old));
}

void crash_verdict(const struct observation *o, struct verdict *v)
{
	const struct crash_info *c = o->crash;
	const char *signal = signal_name(c->signal);
	char in[400];

	*v = (struct verdict){ .exit_code = -1,
			       .signal = c->signal,
			       .class = failure_class_of_signal(c->signal),
			       .confidence = CONFIDENCE_CERTAIN };
	/*
	 * The core is a file of the container, and a process that can dump core can also write such
	 * a file.
	 */
	if (v->class == FAILURE_UNKNOWN)
		v->confidence = CONFIDENCE_UNKNOWN;
	else if (c->by_debugger || may_be_of_another(o))
		v->confidence = CONFIDENCE_LIKELY;
	verdict_say(v, "Process %s (PID %d) in container %s %s%s %s%s%s.",
		    c->comm[0] ? c->comm : "?", (int)c->pid, o->container,
		    c->by_debugger ? "most likely " : "",
		    v->class == FAILURE_SIGNALED || c->sent ? "was ended by" : "crashed with",
		    signal ? signal : "a signal", crash_in(o, in, sizeof(in)),
		    o->core_is_old ? ", before this start of the container" :
		    o->core_pid_lives && may_be_of_another(o) ?
				     ", perhaps before this start of the container" :
		    may_be_of_another(o) ? "; perhaps it was not a process of this container" :
		    o->container_over	 ? ", shortly before its end" :
					   "; the container lives on");
	crash_evidence(o, v);
	if (may_be_of_another(o))
		verdict_add_missing(
			v, "whether the process was one of this container",
			o->core_pid_lives ?
				"a core that was not copied: the process of its PID lives on" :
				"a sample or a wait status of it: neither it nor its parent was seen below the launcher, and other jobs "
				"may leave cores in that directory");
	if (c->by_debugger)
		verdict_add_missing(v, "whether that signal ended it",
				    "a core that the kernel wrote, and not a debugger");
}
