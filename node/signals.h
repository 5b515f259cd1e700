/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports to each pod's sidecar which process sent a signal that ends a process of the pod, and
 * which processes of the pod the OOM killer chose.
 *
 * The kernel filters the events and wakes the agent for each, because a sender such as /bin/kill is
 * gone after a millisecond. If events are frequent, the agent reads them WAKES_PER_S times a second
 * instead, so that a storm of signals elsewhere on the node costs little. bench/node_signals.sh
 * measures that cost. A pod may send signals faster than the agent reads the records, so the other
 * sources of the loop have their turn after ROUND_MS. The kernel drops what the agent does not read
 * in time, and then the agent says so in its log.
 */
#pragma once

#include "lib/err.h"
#include "node/node.h"

int signals_start(struct node *n, struct err *err);
void signals_stop(void);
