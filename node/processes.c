/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the node's table of processes up to date. */
#include "node/processes.h"

#include <stdio.h>
#include <string.h>

#include "lib/log.h"
#include "lib/units.h"
#include "node/outbox.h"
#include "node/process_table.h"

#define ANNOUNCE_SWEEPS 8

static struct {
	struct node *node;
	struct outbox outbox;
	struct source sweep;
} processes;

/*
 * Tells the sidecar that signals are being watched: soon after a container started, when its
 * sidecar listens, and then from time to time.
 */
static void processes_announce(const struct pod_of_process *c, unsigned int sweeps, void *)
{
	char message[32];

	if (sweeps != 1 && sweeps % ANNOUNCE_SWEEPS != 0)
		return;
	snprintf(message, sizeof(message), "watching %d", 3 * ANNOUNCE_SWEEPS * PROCESS_SWEEP_S);
	outbox_add_once(&processes.outbox, OUTBOX_NEEDED, false, c->pod_uid, message);
}

static void on_sweep(struct source *s, int64_t now_ns)
{
	struct err err = { 0 };

	if (process_table_sweep(processes.node->processes, &err) < 0)
		log_warning_limited("processes: %s", err_text(&err));
	if (process_table_left_out(processes.node->processes))
		log_warning_limited(
			"no room for %zu processes of containers that have very many: some of their signals have no known sender",
			process_table_left_out(processes.node->processes));
	if (processes.node->signals_seen)
		process_table_containers(processes.node->processes, processes_announce, NULL);
	outbox_flush(&processes.outbox, processes.node);
	outbox_send_backlog(processes.node);
	s->due_ns = now_ns + PROCESS_SWEEP_S * NS_PER_SEC;
}

int processes_start(struct node *n, struct err *err)
{
	if (!n->options->signals && !n->options->kernel_lines && !n->options->syslog)
		return 0;
	processes.node = n;
	outbox_init(&processes.outbox);
	int rc = process_table_new(n->options->proc, PROCESSES_MAX, &n->processes, err);
	if (rc >= 0)
		rc = process_table_sweep(n->processes, err);
	if (rc < 0)
		return rc;
	processes.sweep =
		(struct source){ .name = "processes", .fd = -1, .due_ns = 0, .due = on_sweep };
	return loop_add(&n->loop, &processes.sweep, err);
}

void processes_stop(void)
{
	if (!processes.node)
		return;
	loop_remove(&processes.node->loop, &processes.sweep);
	process_table_free(TAKE_PTR(processes.node->processes));
	outbox_release(&processes.outbox);
	memset(&processes, 0, sizeof(processes));
}
