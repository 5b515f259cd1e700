/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the node agent share struct node. Each part is a row of the table in main.c: it
 * starts, adds sources to the loop, and stops. If a part cannot start, that is logged, and the rest
 * go on without it.
 */
#pragma once

#include <stdbool.h>

#include "node/backlog.h"
#include "node/loop.h"
#include "node/options.h"
#include "node/unread.h"

struct process_table;

struct node {
	const struct node_options *options;
	struct loop loop;
	bool signals_seen; /* signals_start succeeded: the agent sees signals and their senders */
	struct backlog backlog; /* messages for sidecars that do not listen yet */
	struct unread unread; /* connections with messages that sidecars have not read */
	/* NULL: no part needs it, or the processes cannot be read */
	struct process_table *processes;
};
