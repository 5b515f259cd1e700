/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which memory ran out when the OOM killer came.
 *
 * The kernel log names the cgroup that met its limit. If the log cannot be read, cgroup v2 has the
 * counter "oom": it counts how often an allocation found no room under the limit of this cgroup,
 * and a limit above does not change it. v1 has no such counter, so the peak decides: the kernel
 * calls the OOM killer only when usage and the requested pages, at most 8, exceed the limit, so a
 * peak that stayed below the container's own limit rules that limit out. A peak at the limit proves
 * nothing, because page cache fills any limit.
 */
#include "sidecar/verdict/oom_cause.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/units.h"
#include "sidecar/verdict/other_limit.h"

/* Part of the limit. Usage below it caused no OOM kill, however quickly it has grown since. */
#define FAR_BELOW 0.8
#define MET_THEN_NS (5 * NS_PER_SEC)
/* Part of the limit; the OOM killer comes when no more memory can be freed. */
#define STILL_MET 0.95
/*
 * The kernel charges memory in batches (MEMCG_CHARGE_BATCH) and updates the peak without a lock, so
 * the peak may lack the last batch.
 */
#define CHARGE_BATCH_PAGES 64

enum own_limit {
	OWN_LIMIT_UNKNOWN,
	OWN_LIMIT_NOT_MET,
	OWN_LIMIT_PERHAPS_MET, /* nothing contradicts it */
	OWN_LIMIT_MET,
};

const char *oom_counter_file(const struct observation *o)
{
	return o->cgroup_version == 1 ? "memory.oom_control" : "memory.events";
}

int64_t oom_rise(int64_t before, int64_t after)
{
	return before >= 0 && after > before ? after - before : 0;
}

/* Finds the cause that the kernel log names. Returns false if it names none. */
static bool cause_by_log(const struct observation *o, const struct kernel_evidence *k,
			 struct verdict *v, struct oom_cause *c)
{
	char of[SIZE_TEXT_MAX + 4] = "";

	c->proved = k->by_cgroup;
	if (k->limit > 0)
		snprintf(of, sizeof(of), " of %s", SIZE_TEXT(k->limit));
	switch (k->where) {
	case OOM_WHERE_NODE:
		c->class = FAILURE_KERNEL_OOM_NODE;
		snprintf(c->clause, sizeof(c->clause), "the node had no memory left");
		return true;
	case OOM_WHERE_POD:
		c->class = FAILURE_KERNEL_OOM_POD;
		verdict_add_evidence(v, "kernel log", "the limit was that of the pod's cgroup, %s",
				     k->memcg);
		snprintf(c->clause, sizeof(c->clause), "its pod reached the pod's memory limit%s",
			 of);
		return true;
	case OOM_WHERE_ABOVE:
		/*
		 * Above a pod there are only the cgroups of all pods. Their limit is the memory
		 * that the node has for pods.
		 */
		c->class = o->pod ? FAILURE_KERNEL_OOM_NODE : FAILURE_KERNEL_OOM_POD;
		verdict_add_evidence(v, "kernel log", "the limit was that of a cgroup above, %s",
				     k->memcg);
		snprintf(c->clause, sizeof(c->clause),
			 "the cgroup %.80s around it reached its memory limit%s", k->memcg, of);
		return true;
	case OOM_WHERE_CONTAINER:
		c->class = FAILURE_KERNEL_OOM_CONTAINER;
		if (!of[0] && o->last.limit > 0)
			snprintf(of, sizeof(of), " of %s", SIZE_TEXT(o->last.limit));
		snprintf(c->clause, sizeof(c->clause), "it reached its memory limit%s", of);
		return true;
	case OOM_WHERE_UNKNOWN:
		break;
	}
	return false;
}

/* On v2 both limits are equal, unless the counters of a parent replaced the container's. */
static int64_t own_limit_in(const struct observation *o, const struct memory *m)
{
	bool differs = o->cgroup_version == 1 ||
		       (o->cgroup_limit && o->cgroup_limit->place == CGROUP_LIMIT_ABOVE);

	return differs && m->own_limit ? m->own_limit : m->limit;
}

/*
 * Returns whether the limit was lowered since the last sample, to less than the usage. In-place
 * resizing can do that.
 */
static bool was_lowered(const struct observation *o)
{
	return o->after_known && own_limit_in(o, &o->after) > 0 &&
	       own_limit_in(o, &o->after) < own_limit_in(o, &o->last);
}

bool oom_peak_met(int64_t peak, int64_t limit)
{
	return peak > 0 && limit > 0 &&
	       peak >= limit - CHARGE_BATCH_PAGES * (int64_t)sysconf(_SC_PAGESIZE);
}

bool oom_is_of_largest(const struct observation *o, int64_t held)
{
	/*
	 * At the limit of a cgroup below, the kernel chooses among the processes in that cgroup.
	 * This one may be outside.
	 */
	if (o->cgroup_limit && o->cgroup_limit->place != CGROUP_LIMIT_ABOVE)
		return false;
	return held > 0 && o->last.limit > 0 && held > o->last.limit / 2;
}

/* The kill may have come before the limit was lowered. */
static bool was_met_before(const struct observation *o)
{
	return was_lowered(o) && oom_peak_met(o->after.peak, own_limit_in(o, &o->last));
}

static int64_t own_limit(const struct observation *o)
{
	return own_limit_in(o, was_lowered(o) && !was_met_before(o) ? &o->after : &o->last);
}

/*
 * Returns whether a limit above is the one that counts. v1 shows the lowest limit of the parents.
 * If that is lower than the container's own, the own limit cannot be met.
 */
static bool limit_is_above(const struct observation *o)
{
	return o->last.limit > 0 && (own_limit(o) < 0 || o->last.limit < own_limit(o));
}

/* Decides by v2's counter of allocations that found no room under the container's own limit. */
static enum own_limit by_events(const struct observation *o, struct verdict *v)
{
	if (o->cgroup_version != 2 || !o->after_known || o->before.oom < 0 || o->after.oom < 0)
		return OWN_LIMIT_UNKNOWN;
	if (oom_rise(o->before.oom, o->after.oom) > 0) {
		verdict_add_evidence(v, "memory.events",
				     "oom %" PRId64 " -> %" PRId64
				     ": no room was left under its own limit",
				     o->before.oom, o->after.oom);
		return OWN_LIMIT_MET;
	}
	verdict_add_evidence(v, "memory.events",
			     "oom stayed at %" PRId64 ": there was room under its own limit",
			     o->after.oom);
	return OWN_LIMIT_NOT_MET;
}

/*
 * Decides by "max", which counts how often the own limit was met. On v1 this is not possible:
 * failcnt stays 0 on new kernels (seen on 6.18).
 */
static enum own_limit by_limit_hits(const struct observation *o, struct verdict *v)
{
	int64_t limit = own_limit(o);

	if (o->cgroup_version != 2 || !o->after_known || o->before.limit_hits < 0 || limit <= 0 ||
	    o->last.usage < 0 || o->before.limit_hits != o->after.limit_hits ||
	    (double)o->last.usage >= FAR_BELOW * (double)limit)
		return OWN_LIMIT_UNKNOWN;
	verdict_add_evidence(v, "memory.events",
			     "max stayed at %" PRId64 ": the container's own limit was not met",
			     o->after.limit_hits);
	return OWN_LIMIT_NOT_MET;
}

/*
 * Whether the peak came to the limit only shortly before the kill: page cache may have brought it
 * there any time.
 */
static bool was_met_then(const struct observation *o)
{
	int64_t kill_age = MAX(o->oom_age_ns, (int64_t)0);

	if (o->peak_met_age_ns >= 0)
		return o->peak_met_age_ns - kill_age <= MET_THEN_NS;
	/* No sample showed the peak at the limit, so the limit was met after the last sample. */
	return o->last_age_ns >= 0 ? o->last_age_ns - kill_age <= MET_THEN_NS :
				     o->ran_ns <= MET_THEN_NS;
}

/*
 * Returns whether the usage at the limit was mostly page cache, which fills any limit and is
 * reclaimed there, or whether pages were swapped out. Then another limit may have been met
 * meanwhile.
 */
static bool may_be_made_room_for(const struct observation *o, int64_t limit)
{
	return (double)o->last.file > (1 - FAR_BELOW) * (double)limit || o->last.swap > 0;
}

/*
 * Returns whether a sample before the kill shows the peak at the limit and the usage below it. Then
 * memory was freed, and the kill came later, perhaps at another limit.
 */
static bool was_freed_since(const struct observation *o, int64_t limit)
{
	return o->least_usage > 0 && (double)o->least_usage < STILL_MET * (double)limit;
}

static const char *peak_file(const struct observation *o)
{
	return o->cgroup_version == 1 ? "memory.max_usage_in_bytes" : "memory.peak";
}

static enum own_limit by_peak(const struct observation *o, struct verdict *v)
{
	int64_t limit = own_limit(o), peak = o->after_known ? o->after.peak : -1;
	char size[SIZE_TEXT_MAX], of[SIZE_TEXT_MAX];

	if (peak <= 0 || limit <= 0)
		return OWN_LIMIT_UNKNOWN;
	size_format((uint64_t)peak, size);
	size_format((uint64_t)limit, of);
	if (!oom_peak_met(peak, limit)) {
		verdict_add_evidence(v, peak_file(o),
				     "%s of the cgroup's own limit of %s: that limit was not met",
				     size, of);
		return OWN_LIMIT_NOT_MET;
	}
	if (may_be_made_room_for(o, limit)) {
		verdict_add_evidence(
			v, peak_file(o),
			"%s of the cgroup's own limit of %s: that limit was met, perhaps by memory that could be freed or swapped out",
			size, of);
		return OWN_LIMIT_PERHAPS_MET;
	}
	if (!oom_peak_met(o->before.peak, limit) && was_met_then(o) && !was_freed_since(o, limit)) {
		verdict_add_evidence(v, peak_file(o),
				     "%s of the cgroup's own limit of %s: that limit was met", size,
				     of);
		return OWN_LIMIT_MET;
	}
	verdict_add_evidence(
		v, peak_file(o),
		"%s of the cgroup's own limit of %s: that limit was met, and some time before already",
		size, of);
	return OWN_LIMIT_PERHAPS_MET;
}

static enum own_limit own_limit_met(const struct observation *o, struct verdict *v)
{
	enum own_limit met = by_events(o, v);

	if (met == OWN_LIMIT_UNKNOWN)
		met = by_limit_hits(o, v);
	return met == OWN_LIMIT_UNKNOWN ? by_peak(o, v) : met;
}

/* Returns what the memory volumes held at the end; at the start, if nobody could look any more. */
static int64_t volumes_used(const struct observation *o)
{
	return o->limits.fullest.point[0] ? o->limits.tmpfs_used : o->limits_before.tmpfs_used;
}

/*
 * Returns the bytes of files in memory volumes that are charged to the pod and not to this
 * container: an earlier instance of it or another container wrote them. 0: none are known.
 */
static int64_t volumes_of_others(const struct observation *o)
{
	return o->last.shmem >= 0 ? MAX(volumes_used(o) - o->last.shmem, (int64_t)0) : 0;
}

/* The limit of a pod is at least that of its container. With what others left, that can be met. */
static bool volumes_fill_the_pod(const struct observation *o, int64_t peak)
{
	int64_t others = volumes_of_others(o), limit = own_limit(o);

	return o->pod && limit > 0 && peak >= 0 &&
	       (double)others >= (1 - STILL_MET) * (double)limit &&
	       (double)(peak + others) >= STILL_MET * (double)limit;
}

static void cause_volumes(const struct observation *o, const char *own, struct verdict *v,
			  struct oom_cause *c)
{
	int64_t others = volumes_of_others(o);
	bool before = o->limits_before.tmpfs_used >= others;

	c->class = FAILURE_KERNEL_OOM_POD;
	verdict_add_evidence(
		v, "memory volumes",
		"%s in the container's tmpfs filesystems%s, of which the container is charged %s at most",
		SIZE_TEXT(volumes_used(o)), before ? ", there at its start already" : "",
		SIZE_TEXT(o->last.shmem));
	snprintf(
		c->clause, sizeof(c->clause),
		"its pod reached the pod's memory limit, with %s of files in memory volumes that %s wrote%s",
		SIZE_TEXT(others), before ? "an earlier instance or another container" : "others",
		own);
	verdict_add_missing(
		v, "the pod's memory limit",
		"the node agent, or the kernel log, which names the cgroup whose limit was met");
}

/*
 * The container's own limit was not met. So the node ran out of memory, as a rule, or a limit above
 * was met, which v1 shows.
 */
static void cause_above(const struct observation *o, struct verdict *v, struct oom_cause *c)
{
	char own[3 * SIZE_TEXT_MAX + 32] = "";
	int64_t peak = MAX(o->after_known ? o->after.peak : -1, o->last.usage);
	const char *above = o->cgroup_limit && o->cgroup_limit->place == CGROUP_LIMIT_ABOVE ?
				    o->cgroup_limit->name :
				    NULL;

	c->proved = false;
	/* If the counters are those of a cgroup above, the container's own peak is not known. */
	if (own_limit(o) > 0 && peak >= 0 && !above)
		snprintf(own, sizeof(own), " (of its own limit of %s it used %s)",
			 SIZE_TEXT(own_limit(o)), SIZE_TEXT(peak));
	if (limit_is_above(o)) {
		c->class = FAILURE_KERNEL_OOM_POD;
		snprintf(c->clause, sizeof(c->clause),
			 "%s%.80s around it reached its memory limit of %s%s",
			 above ? "the cgroup " : "a cgroup", above ? above : "",
			 SIZE_TEXT(o->last.limit), own);
		return;
	}
	if (!above && volumes_fill_the_pod(o, peak)) {
		cause_volumes(o, own, v, c);
		return;
	}
	c->class = FAILURE_KERNEL_OOM_NODE;
	snprintf(c->clause, sizeof(c->clause), "the node or a cgroup above it had no memory left%s",
		 own);
}

/*
 * v2 counts "oom" for the cgroups below as well. If it rose although the container's own peak
 * stayed below its limit, a cgroup below met its limit, and was removed before the sidecar could
 * read it.
 */
static bool is_of_one_below(const struct observation *o)
{
	return o->cgroup_version == 2 && o->after_known &&
	       oom_rise(o->before.oom, o->after.oom) > 0 && o->after.peak > 0 && own_limit(o) > 0 &&
	       !oom_peak_met(o->after.peak, own_limit(o));
}

static void cause_below(const struct observation *o, struct verdict *v, struct oom_cause *c)
{
	c->proved = false;
	verdict_add_evidence(v, "memory.events",
			     "oom %" PRId64 " -> %" PRId64
			     ", which counts for the cgroups below, too",
			     o->before.oom, o->after.oom);
	snprintf(
		c->clause, sizeof(c->clause),
		"a cgroup below it, which is gone, reached its memory limit (of its own limit of %s the container used %s at most)",
		SIZE_TEXT(own_limit(o)), SIZE_TEXT(o->after.peak));
}

void oom_cause(const struct observation *o, const struct kernel_evidence *k, struct verdict *v,
	       struct oom_cause *ret_cause)
{
	struct oom_cause c = { .class = FAILURE_KERNEL_OOM_CONTAINER };

	if (other_limit_cause(o, k, v, &c) || (k && cause_by_log(o, k, v, &c))) {
		*ret_cause = c;
		return;
	}
	if (!limit_is_above(o) && is_of_one_below(o)) {
		cause_below(o, v, &c);
		*ret_cause = c;
		return;
	}
	enum own_limit met = limit_is_above(o) ? OWN_LIMIT_NOT_MET : own_limit_met(o, v);
	/*
	 * v2's "oom" also counts for cgroups below, and v1's peak does not cover a process that was
	 * moved.
	 */
	c.proved = met == OWN_LIMIT_MET && !o->cgroup_shared && !o->cgroup_unseen;
	if (met == OWN_LIMIT_MET && o->cgroup_unseen)
		verdict_add_missing(
			v, o->cgroup_unseen,
			"the kernel's whole report of the kill, which names the cgroup whose limit was met");
	/* The container has no limit of its own, so the limit is one above. */
	if (met == OWN_LIMIT_NOT_MET ||
	    (met != OWN_LIMIT_MET && o->last.usage >= 0 && own_limit(o) < 0))
		cause_above(o, v, &c);
	else if (was_met_before(o))
		snprintf(
			c.clause, sizeof(c.clause),
			"it reached its memory limit of %s, or of %s after somebody had lowered it",
			SIZE_TEXT(own_limit(o)), SIZE_TEXT(own_limit_in(o, &o->after)));
	else if (was_lowered(o)) {
		v->limit = own_limit(o);
		snprintf(c.clause, sizeof(c.clause), "its memory limit was lowered to %s",
			 SIZE_TEXT(own_limit(o)));
	} else if (o->last.limit > 0)
		snprintf(c.clause, sizeof(c.clause), "it reached its memory limit of %s",
			 SIZE_TEXT(o->last.limit));
	else
		snprintf(
			c.clause, sizeof(c.clause),
			"it reached a memory limit (its own, of a cgroup above it, or the node's)");
	*ret_cause = c;
}
