/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a limit other than the memory limit explains the command's own exit code. */
#include "sidecar/verdict/limit_verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/units.h"

#define PERIODS_MIN 100 /* ten seconds, as a rule */
#define SAID_MAX 160
#define REFUSED_NS (60 * NS_PER_SEC) /* a task without its object fails at once, its job soon */
#define ZOMBIES_MIN 10 /* fewer explain no limit of processes */

/* The table of processes does not show zombies, and the kernel counts them. */
static void zombie_evidence(const struct zombies *z, struct verdict *v)
{
	if (z->n < ZOMBIES_MIN)
		return;
	if (z->of_parent)
		verdict_add_evidence(v, "processes",
				     "%" PRIu32 " zombies in the last sample, %" PRIu32
				     " of them children of %s (PID %d), which does not "
				     "wait for them",
				     z->n, z->of_parent, z->name[0] ? z->name : "a process",
				     (int)z->parent);
	else
		verdict_add_evidence(v, "processes", "%" PRIu32 " zombies in the last sample",
				     z->n);
}

static bool processes_ran_out(const struct observation *o, struct verdict *v)
{
	int64_t refused = o->limits.processes_refused - o->limits_before.processes_refused;
	char limit[64] = " of", there[64] = "";

	if (refused <= 0)
		return false;
	if (o->limits.processes_max > 0)
		snprintf(limit, sizeof(limit), " of %" PRId64, o->limits.processes_max);
	/* When the command has ended, so have most of them. */
	if (o->limits.processes >= o->limits.processes_max / 2)
		snprintf(there, sizeof(there), ", %" PRId64 " were there at the end",
			 o->limits.processes);
	verdict_add_evidence(v, "pids.events",
			     "%" PRId64 " new processes or threads were refused%s", refused, there);
	zombie_evidence(&o->zombies, v);
	verdict_set(
		v, FAILURE_PROCESS_LIMIT, CONFIDENCE_LIKELY,
		"Container %s ended with exit code %d after its limit%s processes and threads had been met.",
		o->container, v->exit_code, limit);
	return true;
}

/*
 * Returns whether raylet refused an object shortly before the death. A disk that is merely fuller
 * than it wants refuses nothing as long as the object store has room.
 */
static bool object_was_refused(const struct observation *o, struct verdict *v,
			       char full[static SAID_MAX])
{
	const struct ray_process_words *w = o->process_words;

	if (!w || !w->object_refused.at_ns || o->ended_ns - w->object_refused.at_ns > REFUSED_NS)
		return false;
	v->object_refused = true;
	/*
	 * "file_system_monitor.cc:116: /tmp/spill is over 95% full, available space: 0.009 GB; ..."
	 */
	const char *said = strstr(w->disk_full.line, ": ");
	snprintf(full, SAID_MAX, "the disk to which it spills objects had no room");
	if (said && strstr(said, ", available"))
		snprintf(full, SAID_MAX, "%.*s", (int)(strstr(said, ", available") - said - 2),
			 said + 2);
	verdict_add_evidence(v, "raylet.out", "%s", w->object_refused.line);
	if (w->disk_full.line[0])
		verdict_add_evidence(v, "raylet.out", "%s", w->disk_full.line);
	return true;
}

void limit_of_process(const struct observation *o, struct verdict *v)
{
	int64_t refused = o->limits.processes_refused - o->limits_before.processes_refused;
	char full[SAID_MAX];

	if (v->class == FAILURE_RAY_JOB_FAILED && object_was_refused(o, v, full))
		verdict_continue(v, ". Ray had refused to create an object: %s.", full);
	/* What gets no thread aborts, or fails in a way that nobody foresaw. */
	if (refused <= 0 || o->limits.processes_max <= 0 || !(o->ray || o->crash) ||
	    (v->class != FAILURE_WORKER_CRASH && v->class != failure_class_of_signal(v->signal)))
		return;
	verdict_add_evidence(
		v, "pids.events",
		"%" PRId64 " new processes or threads were refused since the last report", refused);
	verdict_continue(v,
			 ". Its container had met its limit of %" PRId64 " processes and threads.",
			 o->limits.processes_max);
}

static void disk_ran_full(const struct observation *o, struct verdict *v)
{
	const struct disk *d = &o->limits.fullest;
	/*
	 * The disk was full before, and the container lived on. So this is mentioned, but it is no
	 * cause.
	 */
	bool already = limits_had_full(&o->limits_before, d->device);
	char total[SIZE_TEXT_MAX];

	if (!disk_is_full(d))
		return;
	size_format((uint64_t)d->total, total);
	if (d->inodes > 0 && d->free_inodes == 0)
		verdict_add_evidence(v, "statfs", "%s has none of its %" PRId64 " inodes left%s",
				     d->point, d->inodes, already ? ", as at the start" : "");
	else
		verdict_add_evidence(v, "statfs", "%s has %s left of %s%s", d->point,
				     SIZE_TEXT(d->available), total,
				     already ? ", as at the start" : "");
	if (already)
		return;
	verdict_set(v, FAILURE_DISK_FULL, CONFIDENCE_LIKELY,
		    "Container %s ended with exit code %d when %s (%s) was full.", o->container,
		    v->exit_code, d->point, total);
}

/*
 * Returns whether a full disk, or an eviction because of it, may have caused an end of that class.
 */
static bool may_be_of_disk(enum failure_class class)
{
	return IS_ONE_OF((int)class, FAILURE_DISK_FULL, FAILURE_POD_DELETED, FAILURE_KILLED,
			 FAILURE_TERMINATED, FAILURE_APPLICATION_ERROR, FAILURE_BUS_ERROR);
}

void limit_verdict(const struct observation *o, struct verdict *v)
{
	/*
	 * A failed write or fork is an error code to the program; a full tmpfs under a mapping is
	 * SIGBUS.
	 */
	if (v->class == FAILURE_APPLICATION_ERROR || v->class == FAILURE_ABORT) {
		if (!processes_ran_out(o, v))
			disk_ran_full(o, v);
	} else if (v->class == FAILURE_BUS_ERROR)
		disk_ran_full(o, v);
	if (o->spilled && may_be_of_disk(v->class))
		verdict_add_evidence(v, "Ray", "%s", o->spilled);
}

void limit_of_objects(const struct observation *o, struct verdict *v)
{
	char full[SAID_MAX];

	if (v->class == FAILURE_APPLICATION_ERROR && object_was_refused(o, v, full))
		verdict_set(
			v, FAILURE_DISK_FULL, CONFIDENCE_LIKELY,
			"Container %s ended with exit code %d after Ray had refused to create an object: %s.",
			o->container, v->exit_code, full);
}

/*
 * Returns whether probes or Ray's health checks that got no answer in time may have led to an end
 * of that class.
 */
static bool may_be_of_slowness(enum failure_class class)
{
	return IS_ONE_OF((int)class, FAILURE_TERMINATED, FAILURE_KILLED, FAILURE_POD_DELETED,
			 FAILURE_RAYLET_FAILED, FAILURE_GCS_FAILED, FAILURE_GCS_LOST,
			 FAILURE_RAY_PROCESS_FAILED);
}

void limit_cpu_evidence(const struct observation *o, struct verdict *v)
{
	int64_t periods = o->limits.cpu_periods - o->limits_before.cpu_periods;
	int64_t throttled = o->limits.cpu_throttled - o->limits_before.cpu_throttled;

	if (periods < PERIODS_MIN || throttled < periods / 2 || throttled > periods ||
	    !may_be_of_slowness(v->class))
		return;
	verdict_add_evidence(
		v, "cpu.stat",
		"its CPU limit stopped it in %d %% of the periods since the sidecar met it: probes and health checks may have "
		"got their answers late",
		(int)(100 * throttled / periods));
}
