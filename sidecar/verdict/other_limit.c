/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes an OOM kill at the limit of a cgroup that is not the container's own. */
#include "sidecar/verdict/other_limit.h"

#include <stdio.h>

#include "lib/units.h"

static const char *of_limit(int64_t bytes, char text[static SIZE_TEXT_MAX + 4])
{
	text[0] = '\0';
	if (bytes > 0)
		snprintf(text, SIZE_TEXT_MAX + 4, " of %s", SIZE_TEXT(bytes));
	return text;
}

/*
 * Makes: "its sub-cgroup "user" of Ray's resource isolation (who is in it) reached its memory limit
 * of 3.0 GiB".
 */
static void say_below(const char *name, enum isolation_part part, int64_t limit, struct verdict *v,
		      struct oom_cause *c)
{
	char of[SIZE_TEXT_MAX + 4];

	c->class = FAILURE_KERNEL_OOM_CONTAINER;
	v->limit = limit;
	v->isolation = part;
	if (part == ISOLATION_NONE)
		snprintf(c->clause, sizeof(c->clause),
			 "its sub-cgroup \"%.80s\" reached its memory limit%s", name,
			 of_limit(limit, of));
	else
		snprintf(
			c->clause, sizeof(c->clause),
			"its sub-cgroup \"%s\" of Ray's resource isolation (%s) reached its memory limit%s",
			isolation_name(part), isolation_holds(part), of_limit(limit, of));
}

static void say_moved(const char *name, int64_t limit, struct verdict *v, struct oom_cause *c)
{
	char of[SIZE_TEXT_MAX + 4];

	c->class = FAILURE_KERNEL_OOM_CONTAINER;
	v->limit = limit;
	snprintf(c->clause, sizeof(c->clause),
		 "the cgroup %.80s, to which its process was moved, reached its memory limit%s",
		 name, of_limit(limit, of));
}

static bool by_log(const struct kernel_evidence *k, struct verdict *v, struct oom_cause *c)
{
	char node[KERNEL_LINE_MAX + 1];

	if (k->where != OOM_WHERE_CONTAINER || (!k->below[0] && !k->elsewhere))
		return false;
	c->proved = k->by_cgroup;
	verdict_add_evidence(v, "kernel log", "the limit was that of the cgroup %s", k->memcg);
	snprintf(node, sizeof(node), "/%s", k->below);
	if (k->below[0])
		say_below(k->below, isolation_part_of(node), k->limit, v, c);
	else
		say_moved(k->memcg, k->limit, v, c);
	return true;
}

/*
 * v2 counts which cgroup met its limit. v1 shows only that a limit around the victim was met, which
 * may be the container's own.
 */
static bool is_proved(const struct observation *o)
{
	return o->cgroup_version == 2 || o->last.own_limit <= 0 ||
	       (o->after_known && o->after.peak < o->last.own_limit);
}

static bool by_counters(const struct observation *o, struct verdict *v, struct oom_cause *c)
{
	const struct cgroup_limit *l = o->cgroup_limit;

	if (!l || l->place == CGROUP_LIMIT_ABOVE)
		return false;
	c->proved = is_proved(o) && !o->cgroup_shared;
	if (o->cgroup_version == 2)
		verdict_add_evidence(v, "memory.events", "oom rose in the cgroup %s", l->name);
	else
		verdict_add_evidence(v, "memory.max_usage_in_bytes",
				     "of the cgroup %s: %s, which is its limit", l->name,
				     SIZE_TEXT(l->peak));
	if (l->place == CGROUP_LIMIT_BELOW)
		say_below(l->name, l->part, l->limit, v, c);
	else
		say_moved(l->name, l->limit, v, c);
	return true;
}

bool other_limit_cause(const struct observation *o, const struct kernel_evidence *k,
		       struct verdict *v, struct oom_cause *cause)
{
	if (k && k->where != OOM_WHERE_UNKNOWN) {
		if (k->limit > 0)
			v->limit = k->limit;
		return by_log(k, v, cause);
	}
	return by_counters(o, v, cause);
}
