/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the node's table of processes up to date, and reports to sidecars that the agent sees
 * signals.
 */
#pragma once

#include "lib/err.h"
#include "node/node.h"

/* Sets n->processes, until processes_stop. */
int processes_start(struct node *n, struct err *err);
void processes_stop(void);
