/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the stacks of what still runs when the grace period of a container is nearly over. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/stack_groups.h"
#include "lib/units.h"
#include "sidecar/record/container_internal.h"

/* No grace period leaves so much time after them: such an end has other reasons. */
#define STACKS_MATTER_NS (600 * NS_PER_SEC)
#define STACKS_TAKEN_TEXT_MAX ((size_t)1 << 20) /* bytes: of the answer, and of stacks.txt */
#define AFTER_IT "%s after the request to stop"

/* Returns when somebody who kills it later asked for its end; INT64_MAX: nobody did, it seems. */
static int64_t stop_began_ns(const struct container *c)
{
	/* A process of the container that asks kills nobody later. */
	bool asked = c->asked.signal && (!c->asked.sender || c->options->own_launcher);
	int64_t asked_ns = asked ? c->asked.at_ns : INT64_MAX;

	/* While a preStop hook runs, its time runs and only the sidecar has been asked. */
	return c->terminating_ns ? MIN(asked_ns, c->terminating_ns) : asked_ns;
}

void container_check_stop(struct container *c, int64_t now_ns)
{
	int64_t after_ns = now_ns - stop_began_ns(c);
	int seconds = c->options->stacks_at_stop_s;

	if (!seconds || c->stacks_at_ns || after_ns < seconds * NS_PER_SEC)
		return;
	c->stacks_at_ns = now_ns;
	c->stacks_after_ns = after_ns;
	strbuf_init(&c->stacks, STACKS_TAKEN_TEXT_MAX);
	/* Somebody is asking for stacks now: the next sample tries again. */
	if (!c->callbacks.hangs(c, c->callbacks.arg))
		c->stacks_at_ns = 0;
}

/* Makes what people read of the answer, once. */
static void stacks_digest(struct container *c, bool all)
{
	_cleanup_free_ char *answer = strbuf_detach(&c->stacks);
	_cleanup_strbuf_ struct strbuf where = STRBUF_INIT(STILL_RUNNING_MAX);
	struct stack_groups *groups = answer ? stack_groups_new() : NULL;
	size_t n;

	c->stacks_digested = true;
	strbuf_init(&c->stacks, STACKS_TAKEN_TEXT_MAX);
	if (!groups)
		return;
	stack_groups_add(groups, NULL, answer);
	n = stack_groups_main(groups, &where);
	/* Where one has no stack, it may have run as well. */
	all = all && n == stack_groups_processes(groups);
	if (n)
		snprintf(c->still_run, sizeof(c->still_run), ", %s%zu process%s still ran; %s: %s",
			 all ? "" : "at least ", n, n == 1 ? "" : "es",
			 n == 1 ? "its main thread" : "their main threads", strbuf_str(&where));
	stack_groups_write(groups, &c->stacks);
	stack_groups_free(groups);
}

void container_take_stacks(struct container *c, const char *text, size_t len, bool all)
{
	char line[STILL_RUNNING_MAX + 64];

	if (c->state != CONTAINER_RUNNING || c->stacks_digested)
		return;
	if (text && c->stacks.len + len < STACKS_TAKEN_TEXT_MAX) {
		strbuf_add(&c->stacks, text, len);
		return;
	}
	stacks_digest(c, !text && all);
	/* Where all of a pod is killed at once, we are as well: this line is all that is left. */
	snprintf(line, sizeof(line), "[afterglow] " AFTER_IT "%s\n",
		 DURATION_TEXT(c->stacks_after_ns), c->still_run);
	if (c->still_run[0])
		container_say(c, line);
}

void container_add_stacks(struct container *c, struct ending *e)
{
	int64_t before_ns = MAX(e->ended_ns - c->stacks_at_ns, (int64_t)0);

	if (c->stacks_at_ns && !c->stacks_digested)
		stacks_digest(c, false);
	if (!c->still_run[0] || before_ns > STACKS_MATTER_NS)
		return;
	snprintf(c->still_running, sizeof(c->still_running), AFTER_IT " and %s before the end%s",
		 DURATION_TEXT(c->stacks_after_ns), DURATION_TEXT(before_ns), c->still_run);
	e->still_running = c->still_running;
	e->stacks = &c->stacks;
}
