/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells each pod's sidecar who sent its processes a signal that ends them, and which of them the OOM killer took.
 *
 * The kernel filters and wakes us for each event, because a sender such as /bin/kill is gone a millisecond later. When events are
 * frequent, we look WAKES_PER_S times a second instead, so that a storm of signals elsewhere on the node costs little. What a storm costs
 * is measured by bench/node_signals.sh.
 */
#ifndef AFTERGLOW_NODE_SIGNALS_H
#define AFTERGLOW_NODE_SIGNALS_H

#include "lib/err.h"
#include "node/node.h"

int signals_start(struct node *n, struct err *err);
void signals_stop(void);

#endif
