/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes what the node agent sends: the cores of a container's processes, if the node's kernel
 * does not write them to files, and the senders of signals.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/record/container_internal.h"
#include "sidecar/socket/discard.h"

bool container_has_id(const struct container *c, const char *container_id)
{
	return strlen(container_id) == NODE_CONTAINER_ID_LEN &&
	       strstr(c->observer.kernel.cgroup, container_id);
}

static struct node_core *free_place(const struct container *c)
{
	for (size_t i = 0; i < NODE_CORES_MAX; i++)
		if (!c->node_cores[i].stream)
			return (struct node_core *)&c->node_cores[i];
	return NULL;
}

int container_offer_core(const struct container *c, struct err *err)
{
	if (!c->crashes || !c->options->spool)
		return err_set(err, ENOTSUP, "--cores off");
	if (container_is_over(c))
		return err_set(err, ESRCH, "the container has ended");
	if (!free_place(c))
		return err_set(err, EBUSY, "%d cores of the container are being received",
			       NODE_CORES_MAX);
	return 0;
}

bool container_awaits_node_core(const struct container *c)
{
	bool failed = !c->ending.status_known || c->ending.wait_status != 0;

	for (size_t i = 0; failed && i < NODE_CORES_MAX; i++)
		if (c->node_cores[i].stream)
			return true;
	return false;
}

void container_cancel_node_cores(struct container *c)
{
	for (size_t i = 0; i < NODE_CORES_MAX; i++)
		discard(&(int){ core_stream_cancel(TAKE_PTR(c->node_cores[i].stream)) }, 1);
}

/* The report of the container's end may have been waiting for a core. */
static void go_on_with_end(struct container *c)
{
	if (c->death_crash || container_awaits_logs(c))
		return;
	container_find_death_crash(c);
	if (c->death_crash ? crash_is_unwound(c->death_crash) :
			     !container_awaits_node_core(c) && crashes_unread(c->crashes) == 0)
		container_event(c, CONTAINER_UNWOUND);
}

void container_core_came(struct container *c)
{
	if (c->state == CONTAINER_ENDED)
		go_on_with_end(c);
	else if (c->concluded) {
		/*
		 * The report could not wait any longer, so the backtrace and the core are added to
		 * the bundle.
		 */
		container_find_death_crash(c);
		if (c->death_crash && c->to_report)
			container_keep_core(TAKE_PTR(c->death_crash), c->report);
		else if (c->death_crash)
			crash_drop(TAKE_PTR(c->death_crash), CORE_DROP_NO_FAILURE);
		container_report_other_crashes(c);
		container_cores_changed(c);
	} else if (c->state >= CONTAINER_JUDGING && !c->death_crash)
		container_find_death_crash(c);
}

static void on_received(int file, int64_t left_out, const char *why, void *arg)
{
	struct node_core *n = arg;
	struct container *c = n->container;
	const struct core_hint hint = { .pid = n->offer.pid,
					.signal = n->offer.signal,
					.comm = n->offer.comm,
					.left_out = left_out,
					.by_node = true };

	n->stream = NULL;
	if (left_out > 0)
		log_warning_limited("%s: a core of PID %d lacks %s of memory: there was no room",
				    c->hello.name, (int)n->offer.pid, SIZE_TEXT(left_out));
	if (why)
		log_warning_limited(
			"%s: the core of PID %d from the node agent is not kept: %.200s",
			c->hello.name, (int)n->offer.pid, why);
	if (why || !crashes_take(c->crashes, file, &hint))
		discard(&file, 1);
	container_core_came(c);
}

void container_node_core(struct container *c, const struct node_message *offer, int fd, int file,
			 uint64_t room)
{
	struct node_core *n = free_place(c);
	struct err err = { 0 };

	if (!n || container_is_over(c))
		err_set(&err, EBUSY, "it came too late");
	else {
		n->container = c;
		n->offer = *offer;
		core_stream_start(c->base, file, room, fd, on_received, n, &n->stream, &err);
	}
	if (!err.code)
		return;
	log_warning_limited("%s: the core of PID %d from the node agent is not kept: %s",
			    c->hello.name, (int)offer->pid, err_text(&err));
	discard(&file, 1);
}

/*
 * The agent sends within milliseconds of the signal; on a busy node it takes longer. The launcher
 * waits for 2 s in all.
 */
#define SENDER_WITHIN_MS 1000
#define LINES_WITHIN_MS 150 /* how long we wait for the kernel's lines after its OOM kill */

static bool has_signal(const struct container *c, pid_t target, bool passed_on)
{
	const struct node_signals *all = &c->observer.signals;

	for (size_t i = 0; i < MIN(all->n_vital, (size_t)NODE_SIGNALS_VITAL_MAX); i++) {
		const struct node_signal *s = &all->vital[i];
		/* Nobody can pass a SIGKILL on. */
		bool passes = s->sender_own == c->hello.launcher && s->signal != SIGKILL;

		/* After an OOM kill, lines of the kernel log may still follow. */
		if (s->target == target && !s->oom && passes == passed_on &&
		    c->ending.ended_ns - s->at_ns < NS_PER_SEC)
			return true;
	}
	return false;
}

/*
 * Returns whether the agent has reported the signal that ended the container. If the launcher
 * passed the signal on, the one that it got counts. The agent may report that one later, because
 * the kernel keeps a buffer of records for each processor.
 */
static bool has_sender(const struct container *c)
{
	if (!c->ending.status_known)
		return has_signal(c, c->hello.launcher, false);
	return has_signal(c, c->hello.command, false) ||
	       (has_signal(c, c->hello.command, true) && has_signal(c, c->hello.launcher, false));
}

static bool has_oom(const struct container *c)
{
	const struct node_signals *all = &c->observer.signals;

	return all->n_vital && all->vital[(all->n_vital - 1) % NODE_SIGNALS_VITAL_MAX].oom;
}

static void on_sender_wait_over(evutil_socket_t, short, void *arg)
{
	container_event(arg, CONTAINER_UNWOUND);
}

bool container_awaits_sender(struct container *c)
{
	const struct ending *e = &c->ending;

	if (e->gap || (e->status_known && !WIFSIGNALED(e->wait_status)) ||
	    c->node_watches_until_ns < now_boottime_ns() || has_sender(c))
		return false;
	return container_wait(c, -1, on_sender_wait_over,
			      has_oom(c) ? LINES_WITHIN_MS : SENDER_WITHIN_MS);
}

void container_node_signal(struct container *c, const struct node_signal *s)
{
	bool vital = s->target == c->hello.command || s->target == c->hello.launcher;

	node_signals_add(&c->observer.signals, s, vital && s->target > 0);
	if (!c->wait || event_get_callback(c->wait) != on_sender_wait_over)
		return;
	if (has_sender(c))
		container_event(c, CONTAINER_UNWOUND);
	else if (has_oom(c))
		container_wait(c, -1, on_sender_wait_over, LINES_WITHIN_MS);
}

void container_node_watches(struct container *c, int64_t until_ns)
{
	c->node_watches_until_ns = until_ns;
}
