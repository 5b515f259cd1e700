/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out which process sent a signal. */
#include "node/signal_sender.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fileio.h"
#include "lib/printable.h"
#include "lib/units.h"
#include "node/process_status.h"

#define STAT_MAX 1024
#define EXITING 0x4 /* PF_EXITING */
#define PATH_ROOM 256
/* The kernel gives all other PIDs away before it uses one again, which takes longer. */
#define REUSED_AFTER_NS (100 * NS_PER_MS)
#define TICKS_PER_S 100 /* USER_HZ: of times in /proc, on each architecture that we run on */
#define TICKS_MAX (INT64_MAX / NS_PER_SEC) /* so that a nonsensical time does not overflow */

static void signal_sender_set_place(struct signal_sender *s, const struct pod_of_process *own,
				    const struct pod_of_process *pod)
{
	bool same = strcmp(own->pod_uid, pod->pod_uid) == 0;

	s->place = same ? SENDER_POD : SENDER_OTHER_POD;
	if (same)
		memcpy(s->container_id, own->container_id, sizeof(s->container_id));
}

/* Sets the pod and container as the last sweep saw them. */
static void place_by_table(struct signal_sender *s, const struct process_table *table,
			   const struct pod_of_process *pod)
{
	const struct pod_of_process *own;
	pid_t inner;

	switch (process_table_find(table, s->pid, &own, &inner)) {
	case PROCESS_OF_POD:
		s->inner = inner;
		signal_sender_set_place(s, own, pod);
		break;
	case PROCESS_OF_NODE:
		s->place = SENDER_NODE;
		break;
	case PROCESS_UNKNOWN:
		break;
	}
}

/*
 * A field of /proc/PID/stat, by its number behind the name, which may hold anything. NULL: there is
 * none.
 */
static const char *field_of(const char *stat, int number)
{
	const char *p = strrchr(stat, ')');

	for (int i = 0; p && i < number; i++)
		p = strchr(p + 1, ' ');
	return p;
}

/* The flags are the ninth field of all. */
bool task_is_exiting(const char *stat)
{
	const char *flags = field_of(stat, 7);

	return !flags || (strtoul(flags, NULL, 10) & EXITING);
}

/* The start is the 22nd field of all. */
int64_t task_began_ns(const char *stat)
{
	const char *ticks = field_of(stat, 20);

	return ticks ? (int64_t)MIN(strtoull(ticks, NULL, 10), (unsigned long long)TICKS_MAX) *
			       (NS_PER_SEC / TICKS_PER_S) :
		       0;
}

static int signal_sender_read_stat(const char *proc, pid_t task, struct strbuf *text)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "%s/%d/stat", proc, (int)task);
	return file_read(AT_FDCWD, path, text, NULL);
}

static bool is_exiting(const char *proc, pid_t task)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(STAT_MAX);

	return signal_sender_read_stat(proc, task, &text) < 0 || task_is_exiting(strbuf_str(&text));
}

bool task_is_later(const char *proc, pid_t task, int64_t time_ns)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(STAT_MAX);

	if (now_boottime_ns() - time_ns < REUSED_AFTER_NS)
		return false;
	return signal_sender_read_stat(proc, task, &text) == 0 &&
	       task_began_ns(strbuf_str(&text)) > time_ns;
}

static void place_by_proc(struct signal_sender *s, const char *proc,
			  const struct pod_of_process *pod)
{
	struct pod_of_process own;
	int rc = pod_of_process(proc, s->pid, &own, NULL);

	if (rc == 0)
		signal_sender_set_place(s, &own, pod);
	/* cgroup v1 shows a task that exits in the root. */
	else if (rc == -ENOENT && !is_exiting(proc, s->pid))
		s->place = SENDER_NODE;
}

static void signal_sender_set_names(struct signal_sender *s, const char *proc, pid_t task)
{
	struct process_status status;

	if (process_status_read(proc, task, &status, NULL) < 0)
		return;
	s->pid = status.process;
	/* A thread has a name of its own, so the name of its process is read as well. */
	if (status.process != task && process_status_read(proc, s->pid, &status, NULL) < 0)
		return;
	s->inner = status.own_pid;
	s->uid = status.fsuid;
	snprintf(s->comm, sizeof(s->comm), "%s", status.comm);
}

void signal_sender_find(const char *proc, const struct process_table *table,
			const struct trace_instance *trace, pid_t task, int64_t sent_ns,
			const struct pod_of_process *pod, struct signal_sender *ret_sender)
{
	struct signal_sender s = { .pid = task, .uid = -1 };

	/*
	 * The kernel keeps records while no agent runs: the sender's PID may long be another
	 * process's. The table has that one, too.
	 */
	if (task_is_later(proc, task, sent_ns)) {
		*ret_sender = s;
		return;
	}
	signal_sender_set_names(&s, proc, task);
	place_by_proc(&s, proc, pod);
	if (s.place == SENDER_UNKNOWN)
		place_by_table(&s, table, pod);
	if (!s.comm[0] && trace)
		trace_instance_comm(trace, task, s.comm);
	*ret_sender = s;
}

static const char *place_word(const struct signal_sender *s)
{
	switch (s->place) {
	case SENDER_NODE:
		return "node";
	case SENDER_POD:
		return s->container_id[0] ? s->container_id : "pod";
	case SENDER_OTHER_POD:
		return "other-pod";
	case SENDER_UNKNOWN:
		break;
	}
	return "unknown";
}

void signal_message(const struct signal_record *record, const char *container_id, pid_t inner,
		    const struct signal_sender *sender, struct strbuf *out)
{
	char comm[TRACE_COMM_MAX];

	if (record->kind == RECORD_OOM_VICTIM) {
		strbuf_addf(out, "oom %s %d %" PRId64, container_id, (int)inner, record->time_ns);
		return;
	}
	copy_printable(comm, sizeof(comm), sender->comm, strlen(sender->comm));
	strbuf_addf(out, "signal %s %d %d %" PRId64 " %d %d %" PRId64 " %s %s", container_id,
		    (int)inner, record->signal, record->time_ns, (int)sender->pid,
		    (int)sender->inner, sender->uid, place_word(sender), comm);
}
