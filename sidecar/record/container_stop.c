/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the stacks of a container's processes: some time after it was asked to stop, when its
 * memory is nearly full and when its probe fails, because it may end then, and when a driver has
 * waited for long.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/outlet.h"
#include "lib/stack_groups.h"
#include "lib/units.h"
#include "sidecar/record/container_internal.h"

/* No grace period leaves so much time after them: such an end has other reasons. */
#define STACKS_MATTER_NS (600 * NS_PER_SEC)
#define STACKS_TAKEN_TEXT_MAX ((size_t)1 << 20) /* bytes: of the answer, and of stacks.txt */
/*
 * After a request to this container alone, as a failed liveness probe makes it. A pod's requests
 * come at the same time, and what ends at once has ended by then.
 */
#define ALONE_AFTER_NS (1 * NS_PER_SEC)
#define DRIVER_LOOKS 8 /* at a driver, in the time after which its wait is said */

static const char driver_waited[] = "When a driver had waited for long",
		  probe_failed[] = "When the port of its liveness probe had just failed";

/* Returns when somebody who kills it later asked for its end; INT64_MAX: nobody did, it seems. */
static int64_t stop_began_ns(const struct container *c)
{
	/* A process of the container that asks kills nobody later. */
	bool asked = c->asked.signal && (!c->asked.sender || c->options->own_launcher);
	int64_t asked_ns = asked ? c->asked.at_ns : INT64_MAX;

	/* While a preStop hook runs, its time runs and only the sidecar has been asked. */
	return c->terminating_ns ? MIN(asked_ns, c->terminating_ns) : asked_ns;
}

/*
 * Returns whether they will come; not while others are being taken. ran: what the processes did;
 * NULL: only drivers are looked at.
 */
static bool stacks_begin(struct container *c, int64_t now_ns, const char *when, const char *ran)
{
	if (c->stacks_begun.at_ns)
		return false;
	strbuf_release(&c->stacks_answer);
	strbuf_init(&c->stacks_answer, STACKS_TAKEN_TEXT_MAX);
	c->stacks_begun = (struct stacks_moment){ .at_ns = now_ns, .ran = ran };
	snprintf(c->stacks_begun.when, sizeof(c->stacks_begun.when), "%s", when);
	if (c->callbacks.hangs(c, !ran, c->callbacks.arg))
		return true;
	c->stacks_begun.at_ns = 0;
	return false;
}

static enum stop_looked stop_look_due(const struct container *c, int64_t after_ns)
{
	bool alone = !c->terminating_ns && !c->options->own_launcher;

	if (after_ns >= c->options->stacks_at_stop_s * NS_PER_SEC)
		return STOP_LOOKED_LATE;
	return alone && after_ns >= ALONE_AFTER_NS ? STOP_LOOKED_EARLY : STOP_LOOKED_NEVER;
}

void container_check_stop(struct container *c, int64_t now_ns)
{
	int64_t after_ns = now_ns - stop_began_ns(c);
	enum stop_looked due = stop_look_due(c, after_ns);
	char when[STACKS_WHEN_MAX];

	if (!c->options->stacks_at_stop_s || due <= c->stops_looked)
		return;
	snprintf(when, sizeof(when), "%s after the request to stop", DURATION_TEXT(after_ns));
	/* Otherwise the next sample tries again. */
	if (stacks_begin(c, now_ns, when, "still ran"))
		c->stops_looked = due;
}

void container_check_full(struct container *c, int64_t now_ns, double fraction)
{
	char when[STACKS_WHEN_MAX];

	if (!c->options->stacks_at_threshold ||
	    (c->full_looked_ns && now_ns - c->full_looked_ns < STACKS_FULL_SPACING_NS))
		return;
	snprintf(when, sizeof(when), "At %.0f %% of the memory limit", 100 * fraction);
	c->full_waits = !stacks_begin(c, now_ns, when, "ran");
	if (!c->full_waits)
		c->full_looked_ns = now_ns;
}

void container_check_driver(struct container *c, int64_t now_ns)
{
	int64_t after_ns = c->options->stacks_at_wait_s * NS_PER_SEC;
	/* When a look has shown that one has waited for long, the next is at all processes. */
	bool all = c->driver_told_ns && c->driver_told_ns == c->driver_looked_ns;

	if (after_ns && (all || now_ns - c->driver_looked_ns >= after_ns / DRIVER_LOOKS) &&
	    stacks_begin(c, now_ns, all ? driver_waited : "", all ? "ran" : NULL))
		c->driver_looked_ns = now_ns;
}

void container_check_probe(struct container *c, int64_t now_ns)
{
	struct probe_watch *w = &c->probe;

	/* What ends closes its ports. */
	if (!c->options->stacks_at_probe || stop_began_ns(c) != INT64_MAX)
		return;
	if (w->told_ns && now_ns - w->told_ns < STACKS_FULL_SPACING_NS)
		w->failed = false;
	if (w->failed && stacks_begin(c, now_ns, probe_failed, "ran")) {
		w->failed = false;
		w->told_ns = now_ns;
	}
	probe_watch_ask(w, c->base, c->options->stacks_at_probe, now_ns);
}

static void driver_look_digest(struct container *c, int64_t at_ns)
{
	char *said = c->observer.driver_waits, line[DRIVER_WAITS_MAX + 20];
	_cleanup_strbuf_ struct strbuf where = STRBUF_INIT(STACK_MAIN_MAX);
	_cleanup_free_ char *answer = strbuf_detach(&c->stacks_answer);
	/* A driver that was not seen may wait or not. */
	bool seen = answer && !strstr(answer, "\nfailed ");
	struct stack_groups *groups = seen ? stack_groups_new() : NULL;

	c->stacks_begun.at_ns = 0;
	if (!groups)
		return;
	stack_groups_add(groups, NULL, answer);
	stack_groups_ray_call(groups, &where);
	stack_groups_free(groups);
	if (strcmp(strbuf_str(&where), c->driver_where) != 0) {
		snprintf(c->driver_where, STACK_MAIN_MAX, "%s", strbuf_str(&where));
		c->driver_since_ns = at_ns;
		said[0] = '\0';
	}
	if (!where.len || said[0] ||
	    at_ns - c->driver_since_ns < c->options->stacks_at_wait_s * NS_PER_SEC)
		return;
	c->driver_told_ns = at_ns;
	snprintf(said, DRIVER_WAITS_MAX,
		 "A driver waits in Ray, %s: at each look within %s it stood there, or came back",
		 c->driver_where, DURATION_TEXT(at_ns - c->driver_since_ns));
	snprintf(line, sizeof(line), "[afterglow] %s\n", said);
	container_say(c, line);
}

/*
 * Makes what people read of the answer, which takes the place of that of an earlier moment. Returns
 * false if the answer shows no process, or is that of a look at drivers.
 */
static bool stacks_digest(struct container *c, bool all)
{
	if (!c->stacks_begun.ran) {
		driver_look_digest(c, c->stacks_begun.at_ns);
		return false;
	}
	_cleanup_free_ char *answer = strbuf_detach(&c->stacks_answer);
	_cleanup_strbuf_ struct strbuf where = STRBUF_INIT(STILL_RUNNING_MAX);
	struct stack_groups *groups = answer ? stack_groups_new() : NULL;
	const struct stacks_moment begun = c->stacks_begun;

	c->stacks_begun.at_ns = 0;
	if (!groups)
		return false;
	stack_groups_add(groups, NULL, answer);
	size_t n = stack_groups_main(groups, &where);
	/* Where one has no stack, it may have run as well. */
	all = all && n == stack_groups_processes(groups);
	if (n) {
		c->stacks_taken = begun;
		snprintf(c->still_run, sizeof(c->still_run), ", %s%zu process%s %s; %s: %s",
			 all ? "" : "at least ", n, n == 1 ? "" : "es", c->stacks_taken.ran,
			 n == 1 ? "its main thread" : "their main threads", strbuf_str(&where));
		strbuf_release(&c->stacks);
		strbuf_init(&c->stacks, STACKS_TAKEN_TEXT_MAX);
		stack_groups_write(groups, &c->stacks);
	}
	stack_groups_free(groups);
	return n > 0;
}

void container_take_stacks(struct container *c, const char *text, size_t len, bool all)
{
	char line[STILL_RUNNING_MAX + STACKS_WHEN_MAX + 64];

	if (c->state != CONTAINER_RUNNING || !c->stacks_begun.at_ns)
		return;
	if (text && c->stacks_answer.len + len < STACKS_TAKEN_TEXT_MAX) {
		strbuf_add(&c->stacks_answer, text, len);
		return;
	}
	if (!stacks_digest(c, !text && all))
		return;
	/* Where all of a pod is killed at once, we are as well: this line is all that is left. */
	snprintf(line, sizeof(line), "[afterglow] %s%s\n", c->stacks_taken.when, c->still_run);
	container_say(c, line);
	/*
	 * No end may follow that has them in its bundle. Below exec, who runs the command can ask
	 * for them.
	 */
	if (TEXT_IS_ONE_OF(c->stacks_taken.when, driver_waited, probe_failed) &&
	    !c->options->own_launcher)
		outlet_write(c->options->report_fd, strbuf_str(&c->stacks), c->stacks.len);
}

void container_add_stacks(struct container *c, struct ending *e)
{
	if (c->stacks_begun.at_ns)
		stacks_digest(c, false);

	int64_t before_ns = MAX(e->ended_ns - c->stacks_taken.at_ns, (int64_t)0);
	if (!c->still_run[0] || before_ns > STACKS_MATTER_NS)
		return;
	snprintf(c->still_running, sizeof(c->still_running), "%s and %s before the end%s",
		 c->stacks_taken.when, DURATION_TEXT(before_ns), c->still_run);
	e->still_running = c->still_running;
	e->stacks = &c->stacks;
}
