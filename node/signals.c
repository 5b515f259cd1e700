/* SPDX-License-Identifier: Apache-2.0 */
/* Reports to each pod's sidecar which processes sent signals to the pod's processes. */
#include "node/signals.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "lib/budget.h"
#include "lib/log.h"
#include "lib/units.h"
#include "node/outbox.h"
#include "node/process_status.h"
#include "node/sidecar_link.h"
#include "node/signal_sender.h"

#define EVENT_SIGNAL "signal/signal_generate"
#define EVENT_VICTIM "oom/mark_victim"
#define FORMAT_MAX 8192
#define WAKES_PER_S 20
#define ROUND_MS 40 /* then the other sources have their turn; a record takes some 30 us */
/* The agent's nice value. A sender that is about to end competes with us for its CPU. */
#define NICE -10

static struct {
	struct node *node;
	struct trace_instance *trace;
	struct signal_formats formats;
	struct outbox outbox;
	struct budget wakes;
	struct trace_page page; /* what is left of it belongs to the next round */
	size_t cpu; /* of that page */
	struct source events;
	int epoll; /* readable while any of the buffers is */
} signals;

/*
 * Finds the pod of a process that the table does not know, because it began after the last sweep.
 * Returns false if it is in no container. It reads one file more than for a process of the table.
 */
static bool find_young(pid_t task, struct pod_of_process *ret_pod, pid_t *ret_inner)
{
	const char *proc = signals.node->options->proc;
	struct process_status status;

	if (pod_of_process(proc, task, ret_pod, NULL) < 0 || !ret_pod->container_id[0] ||
	    process_status_read(proc, task, &status, NULL) < 0)
		return false;
	/* A thread, which tgkill(2) can send signals to, has a number of its own. */
	if (status.process != task && process_status_read(proc, status.process, &status, NULL) < 0)
		return false;
	*ret_inner = status.container_pid;
	return true;
}

static bool find_target(const struct signal_record *record, struct pod_of_process *ret_pod,
			pid_t *ret_inner)
{
	enum process_known known =
		process_table_look(signals.node->processes, record->target, ret_pod, ret_inner);

	if (known == PROCESS_OF_NODE ||
	    (known == PROCESS_UNKNOWN && !find_young(record->target, ret_pod, ret_inner)))
		return false;
	/* A record may be older than the process that has its target's PID now. */
	return !task_is_later(signals.node->options->proc, record->target, record->time_ns);
}

static void signals_handle(const struct signal_record *record)
{
	_cleanup_strbuf_ struct strbuf message = STRBUF_INIT(NODE_MESSAGE_MAX);
	struct pod_of_process pod;
	struct signal_sender sender = { 0 };
	pid_t inner;

	if (!find_target(record, &pod, &inner))
		return;
	if (record->kind == RECORD_SIGNAL)
		signal_sender_find(signals.node->options->proc, signals.node->processes,
				   signals.trace, record->sender, record->time_ns, &pod, &sender);
	signal_message(record, pod.container_id, inner, &sender, &message);
	outbox_flush_half(&signals.outbox, signals.node, "signals");
	/*
	 * It proves how a container ended if the OOM killer, or a SIGKILL of another process, took
	 * its first process. The records of all processes of a large container would push the proof
	 * out of the backlog.
	 */
	outbox_add(&signals.outbox, OUTBOX_NEEDED, record->signal == SIGKILL && inner == 1,
		   pod.pod_uid, strbuf_str(&message));
}

/*
 * Takes the next event. The CPUs take turns by pages: none waits until another's buffer is empty.
 */
static bool signals_next_event(struct trace_event *ret_event)
{
	const int *fds;
	size_t n = trace_instance_fds(signals.trace, &fds);
	bool found = trace_page_next(&signals.page, ret_event);

	for (size_t looks = 0; !found && looks < n; looks++) {
		signals.cpu = (signals.cpu + 1) % n;
		if (trace_instance_read(signals.trace, signals.cpu, &signals.page) > 0 &&
		    signals.page.lost)
			log_warning_limited(
				"the kernel dropped records of signals, because there were too many: some signals have no known sender");
		found = trace_page_next(&signals.page, ret_event);
	}
	return found;
}

/* Returns whether events are left for the next round. */
static bool signals_read_round(void)
{
	int64_t began_ns = now_boottime_ns();
	struct trace_event event;
	struct signal_record record;
	bool left = false;

	while (!left && signals_next_event(&event)) {
		if (signal_record_parse(&signals.formats, &event, &record))
			signals_handle(&record);
		left = now_boottime_ns() - began_ns >= ROUND_MS * NS_PER_MS;
	}
	outbox_flush_logged(&signals.outbox, signals.node, "signals");
	return left;
}

/*
 * When events come all the time, the loop ignores the descriptor until the next look is due. If
 * events are left, that is right after the other sources.
 */
static void signals_on_due(struct source *s, int64_t now_ns)
{
	bool left = signals_read_round(), go_on = !left && budget_take(&signals.wakes, now_ns);

	s->fd = go_on ? signals.epoll : -1;
	s->due_ns = left ? now_ns : go_on ? LOOP_NEVER : now_ns + NS_PER_SEC / WAKES_PER_S;
}

static void on_events(struct source *s)
{
	signals_on_due(s, now_boottime_ns());
}

static int read_formats(struct err *err)
{
	_cleanup_strbuf_ struct strbuf signal = STRBUF_INIT(FORMAT_MAX),
				       victim = STRBUF_INIT(FORMAT_MAX);
	int rc = trace_instance_format(signals.trace, EVENT_SIGNAL, &signal, err);

	if (rc < 0)
		return rc;
	trace_instance_format(signals.trace, EVENT_VICTIM, &victim, NULL);
	if (!signal_formats_parse(strbuf_str(&signal), strbuf_str(&victim), &signals.formats))
		return err_set(err, EPROTO,
			       "the kernel's event " EVENT_SIGNAL " has an unknown format");
	return 0;
}

/* Makes one descriptor for the buffers of all CPUs. */
static int watch_buffers(struct err *err)
{
	struct epoll_event readable = { .events = EPOLLIN };
	const int *fds;
	size_t n = trace_instance_fds(signals.trace, &fds);

	signals.epoll = epoll_create1(EPOLL_CLOEXEC);
	for (size_t i = 0; i < n; i++)
		if (signals.epoll < 0 ||
		    epoll_ctl(signals.epoll, EPOLL_CTL_ADD, fds[i], &readable) < 0)
			return err_set(err, errno, "watch the buffers of tracefs");
	return 0;
}

static int signals_enable(struct err *err)
{
	int rc = trace_instance_enable(signals.trace, EVENT_SIGNAL, SIGNAL_RECORD_FILTER, err);

	if (rc >= 0 && signals.formats.victim_id >= 0)
		rc = trace_instance_enable(signals.trace, EVENT_VICTIM, NULL, err);
	return rc;
}

static int add_sources(struct err *err)
{
	int rc = watch_buffers(err);

	if (rc < 0)
		return rc;
	signals.events = (struct source){ .name = "events",
					  .fd = signals.epoll,
					  .due_ns = LOOP_NEVER,
					  .ready = on_events,
					  .due = signals_on_due };
	return loop_add(&signals.node->loop, &signals.events, err);
}

int signals_start(struct node *n, struct err *err)
{
	char tracefs[256];

	if (!n->options->signals || !n->processes)
		return 0;
	signals.node = n;
	signals.epoll = -1;
	signals.wakes =
		(struct budget){ .spacing_ns = NS_PER_SEC / WAKES_PER_S, .burst = WAKES_PER_S };
	outbox_init(&signals.outbox);
	if (setpriority(PRIO_PROCESS, 0, NICE) < 0)
		log_warning(
			"the agent cannot raise its priority: the sender of a signal may end before the agent sees it");
	snprintf(tracefs, sizeof(tracefs), "%s/sys/kernel/tracing", n->options->root);
	int rc = trace_instance_open(n->options->tracefs ? n->options->tracefs : tracefs,
				     n->options->instance, &signals.trace, err);
	if (rc >= 0)
		rc = read_formats(err);
	if (rc >= 0)
		rc = add_sources(err);
	if (rc >= 0)
		rc = signals_enable(err);
	n->signals_seen = rc >= 0;
	return rc;
}

void signals_stop(void)
{
	if (!signals.node)
		return;
	loop_remove(&signals.node->loop, &signals.events);
	closep(&signals.epoll);
	trace_instance_close(signals.trace);
	outbox_release(&signals.outbox);
	memset(&signals, 0, sizeof(signals));
}
