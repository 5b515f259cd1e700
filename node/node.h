/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the node agent share. A part is a row of the table in main.c: it starts, adds sources to the loop, and stops.
 * A part that cannot start is logged; the others go on without it.
 */
#ifndef AFTERGLOW_NODE_NODE_H
#define AFTERGLOW_NODE_NODE_H

#include <stdbool.h>

#include "node/loop.h"
#include "node/options.h"

struct process_table;

struct node {
	const struct node_options *options;
	struct loop loop;
	bool signals_seen; /* signals_start succeeded: who sends a signal to a pod is seen */
	struct process_table *processes; /* NULL: nobody needs them, or they cannot be seen */
};

#endif
