/* SPDX-License-Identifier: Apache-2.0 */
/* Gives each sidecar the lines of the kernel log that concern its pod. */
#include "node/kernel_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/budget.h"
#include "lib/fileio.h"
#include "lib/log.h"
#include "lib/span.h"
#include "lib/units.h"
#include "node/kernel_line.h"
#include "node/oom_report.h"
#include "node/outbox.h"
#include "node/process_table.h"
#include "node/sidecar_link.h"

#define RECORD_MAX 8192
/* Limit of one round, because somebody may write to the log as fast as we read */
#define RECORDS_AT_ONCE 2000
#define REPORT_WITHIN_US 5000000 /* an OOM report that is not complete by then never will be */
#define MOUNTINFO_MAX (256 * 1024)

static struct {
	struct node *node;
	struct source kmsg;
	struct outbox outbox;
	struct budget devices;
	struct oom_report report;
} lines;

/*
 * The verdict rests on the needed lines. Most lines of a report are the table of processes. A line
 * is proof if it says which container the OOM killer ended, or which limit was met: the rest of a
 * report would fill the backlog.
 */
static const struct {
	enum outbox_part part;
	bool proof;
} kernel_lines_kinds[] = {
	[KERNEL_LINE_OOM_BEGIN] = { OUTBOX_NEEDED, true },
	[KERNEL_LINE_OOM_CONSTRAINT] = { OUTBOX_NEEDED, true },
	[KERNEL_LINE_OOM_GROUP] = { OUTBOX_NEEDED, true },
	[KERNEL_LINE_OOM_MEMORY] = { OUTBOX_DETAIL, false },
	[KERNEL_LINE_OOM_CGROUP] = { OUTBOX_DETAIL, false },
	[KERNEL_LINE_OOM_ROW] = { OUTBOX_TABLE, false },
	/* The last kind. Those without a row are as this one. */
	[KERNEL_LINE_DEVICE] = { OUTBOX_NEEDED, false },
};

static void send_line(const char *pod_uid, const struct kernel_line *l)
{
	_cleanup_strbuf_ struct strbuf message = STRBUF_INIT(NODE_MESSAGE_MAX);
	enum outbox_part part = kernel_lines_kinds[l->kind].part;
	bool proof = kernel_lines_kinds[l->kind].proof;

	/*
	 * If the kernel kills a whole group, it writes such a line for each process after the
	 * report.
	 */
	if (l->ends_oom) {
		part = lines.report.began_us ? OUTBOX_NEEDED : OUTBOX_REST;
		proof = lines.report.began_us;
	} else if (l->kind == KERNEL_LINE_OOM_MEMORY)
		proof = span_begins((struct span){ l->text, l->len }, "memory: usage ");
	strbuf_addf(&message, "kernel %d %" PRId64 " %.*s", l->priority, l->time_us, (int)l->len,
		    l->text);
	if (!strbuf_failed(&message))
		outbox_add_once(&lines.outbox, part, proof, pod_uid, strbuf_str(&message));
}

/*
 * Finds the pod of a process in the table, because most processes in the log have ended. A thread,
 * and a process that began after the last sweep, is not in it. "": it is in no pod that is known.
 */
static struct pod_of_process pod_of_pid(pid_t pid)
{
	const struct process_table *table = lines.node->processes;
	const struct pod_of_process *known;
	struct pod_of_process pod = { 0 };
	pid_t inner;

	if (pid > 0 && process_table_find(table, pid, &known, &inner) == PROCESS_UNKNOWN)
		pod_of_process(lines.node->options->proc, pid, &pod, NULL);
	else if (pid > 0)
		process_table_look(table, pid, &pod, &inner);
	return pod;
}

static bool kernel_lines_is_of_pod(pid_t pid, const char *pod_uid, void *)
{
	return strcmp(pod_of_pid(pid).pod_uid, pod_uid) == 0;
}

static void take_report_line(const struct kernel_line *l, void *arg)
{
	send_line(arg, l);
}

static void send_report(char *pod_uid)
{
	const struct oom_report_reader reader = { .is_of = kernel_lines_is_of_pod,
						  .take = take_report_line,
						  .arg = pod_uid };

	/*
	 * A report gets a connection of its own, because the buffer of a socket has no room for
	 * two.
	 */
	outbox_flush_logged(&lines.outbox, lines.node, "kernel lines");
	oom_report_read(&lines.report, pod_uid, &reader);
}

static void kernel_lines_of_process(const struct kernel_line *l)
{
	const struct oom_report *r = &lines.report;
	bool reported = l->ends_oom && r->began_us;
	/* A kernel before 5.0 does not say in the report who the victim is. */
	bool is_victim = reported && (!r->victim_pid || oom_report_is_victim(r, l->pid));
	struct pod_of_process pod =
		is_victim && r->victim.pod_uid[0] ? r->victim : pod_of_pid(l->pid);

	if (pod.pod_uid[0] && is_victim)
		send_report(pod.pod_uid);
	if (pod.pod_uid[0])
		send_line(pod.pod_uid, l);
	if (l->ends_oom)
		oom_report_release(&lines.report);
}

static void to_container(const struct pod_of_process *c, unsigned int, void *arg)
{
	send_line(c->pod_uid, arg);
}

static void to_user(const struct pod_of_process *c, unsigned int, void *arg)
{
	_cleanup_strbuf_ struct strbuf mounts = STRBUF_INIT(MOUNTINFO_MAX);
	const struct kernel_line *l = arg;
	char path[256];

	snprintf(path, sizeof(path), "%s/%d/mountinfo", lines.node->options->proc,
		 (int)process_table_any(lines.node->processes, c));
	if (file_read(AT_FDCWD, path, &mounts, NULL) == 0 &&
	    kernel_line_is_mounted(strbuf_str(&mounts), l->device))
		send_line(c->pod_uid, l);
}

static void kernel_lines_take(const char *data, size_t len, int64_t now_ns)
{
	char nameless[KERNEL_TEXT_MAX];
	struct kernel_line l;

	if (!kernel_line_parse(data, len, &l))
		return;
	if (lines.report.began_us && l.time_us - lines.report.began_us > REPORT_WITHIN_US)
		oom_report_release(&lines.report);
	if (!lines.report.began_us)
		outbox_flush_half(&lines.outbox, lines.node, "kernel lines");
	switch (l.kind) {
	case KERNEL_LINE_OOM_BEGIN:
		oom_report_begin(&lines.report, &l, data, len);
		break;
	case KERNEL_LINE_OOM_GROUP:
		if (l.victim.pod_uid[0])
			send_line(l.victim.pod_uid, &l);
		break;
	case KERNEL_LINE_PROCESS:
		kernel_lines_of_process(&l);
		break;
	case KERNEL_LINE_GPU:
		process_table_containers(lines.node->processes, to_container, &l);
		break;
	case KERNEL_LINE_DEVICE:
		/*
		 * Several pods have the device, and any process of the node may have met the error.
		 */
		kernel_line_hide_name(&l, nameless);
		if (budget_take(&lines.devices, now_ns))
			process_table_containers(lines.node->processes, to_user, &l);
		break;
	case KERNEL_LINE_OOM_INVOKER:
	case KERNEL_LINE_OOM_MEMORY:
	case KERNEL_LINE_OOM_CGROUP:
	case KERNEL_LINE_OOM_ROW:
	case KERNEL_LINE_OOM_CONSTRAINT:
		oom_report_add(&lines.report, &l, data, len);
		break;
	case KERNEL_LINE_OTHER:
		break;
	}
}

static void kernel_lines_on_readable(struct source *s)
{
	char data[RECORD_MAX + 1];

	for (int i = 0; i < RECORDS_AT_ONCE; i++) {
		ssize_t n = read(s->fd, data, RECORD_MAX);

		/* EPIPE: the next record was overwritten. */
		if (n < 0 && (errno == EPIPE || errno == EINTR || errno == EINVAL))
			continue;
		if (n <= 0)
			break;
		kernel_lines_take(data, (size_t)n, now_boottime_ns());
	}
	outbox_flush_logged(&lines.outbox, lines.node, "kernel lines");
}

int kernel_lines_start(struct node *n, struct err *err)
{
	if (!n->options->kernel_lines || !n->processes)
		return 0;
	lines.node = n;
	oom_report_init(&lines.report);
	lines.devices = (struct budget){ .spacing_ns = NS_PER_SEC, .burst = 5 };
	outbox_init(&lines.outbox);
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	lines.kmsg = (struct source){ .name = "kernel log",
				      .fd = fd,
				      .due_ns = LOOP_NEVER,
				      .ready = kernel_lines_on_readable };
	if (fd < 0)
		return err_set(err, errno, "open /dev/kmsg");
	/* Older lines are skipped, because the table does not have the processes of that time. */
	if (lseek(fd, 0, SEEK_END) < 0)
		return err_set(err, errno, "seek in /dev/kmsg");
	return loop_add(&n->loop, &lines.kmsg, err);
}

void kernel_lines_stop(void)
{
	if (!lines.node)
		return;
	loop_remove(&lines.node->loop, &lines.kmsg);
	closep(&lines.kmsg.fd);
	oom_report_release(&lines.report);
	outbox_release(&lines.outbox);
	memset(&lines, 0, sizeof(lines));
}
