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
#include "node/process_status.h"

#define STAT_MAX 1024
#define EXITING 0x4 /* PF_EXITING */
#define PATH_ROOM 256

static void set_place(struct signal_sender *s, const struct pod_of_process *own, const struct pod_of_process *pod)
{
	bool same = strcmp(own->pod_uid, pod->pod_uid) == 0;

	s->place = same ? SENDER_POD : SENDER_OTHER_POD;
	if (same)
		memcpy(s->container_id, own->container_id, sizeof(s->container_id));
}

/* Sets the pod and container as the last sweep saw them. */
static void place_by_table(struct signal_sender *s, const struct process_table *table, const struct pod_of_process *pod)
{
	const struct pod_of_process *own;
	pid_t inner;

	switch (process_table_find(table, s->pid, &own, &inner)) {
	case PROCESS_OF_POD:
		s->inner = inner;
		set_place(s, own, pod);
		break;
	case PROCESS_OF_NODE:
		s->place = SENDER_NODE;
		break;
	case PROCESS_UNKNOWN:
		break;
	}
}

/*
 * Returns the flags of a task: the ninth field of /proc/PID/stat, the seventh after the name, which
 * may contain anything.
 */
bool task_is_exiting(const char *stat)
{
	const char *p = strrchr(stat, ')');

	for (int i = 0; p && i < 7; i++)
		p = strchr(p + 1, ' ');
	return !p || (strtoul(p, NULL, 10) & EXITING);
}

static bool is_exiting(const char *proc, pid_t task)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(STAT_MAX);
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "%s/%d/stat", proc, (int)task);
	return file_read(AT_FDCWD, path, &text, NULL) < 0 || task_is_exiting(strbuf_str(&text));
}

static void place_by_proc(struct signal_sender *s, const char *proc, const struct pod_of_process *pod)
{
	struct pod_of_process own;
	int rc = pod_of_process(proc, s->pid, &own, NULL);

	if (rc == 0)
		set_place(s, &own, pod);
	/* cgroup v1 shows a task that exits in the root. */
	else if (rc == -ENOENT && !is_exiting(proc, s->pid))
		s->place = SENDER_NODE;
}

static void set_names(struct signal_sender *s, const char *proc, pid_t task)
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

void signal_sender_find(const char *proc, const struct process_table *table, const struct trace_instance *trace, pid_t task,
			const struct pod_of_process *pod, struct signal_sender *ret_sender)
{
	struct signal_sender s = { .pid = task, .uid = -1 };

	set_names(&s, proc, task);
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

void signal_message(const struct signal_record *record, const char *container_id, pid_t inner, const struct signal_sender *sender,
		    struct strbuf *out)
{
	char comm[TRACE_COMM_MAX];

	if (record->kind == RECORD_OOM_VICTIM) {
		strbuf_addf(out, "oom %s %d %" PRId64, container_id, (int)inner, record->time_ns);
		return;
	}
	copy_printable(comm, sizeof(comm), sender->comm, strlen(sender->comm));
	strbuf_addf(out, "signal %s %d %d %" PRId64 " %d %d %" PRId64 " %s %s", container_id, (int)inner, record->signal,
		    record->time_ns, (int)sender->pid, (int)sender->inner, sender->uid, place_word(sender), comm);
}
