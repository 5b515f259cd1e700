/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's part in cores: puts the handler on the node, has the kernel run it (node/core_pattern), sees that it can, and gives
 * the old value back at the end. The handler works without the agent.
 */
#ifndef AFTERGLOW_NODE_CORES_H
#define AFTERGLOW_NODE_CORES_H

#include "node/node.h"

/* Nothing where the options do not want cores. Where it fails core_pattern is as it was. */
int cores_start(struct node *n, struct err *err);
/* core_pattern becomes what it was before, unless it is somebody else's by now. */
void cores_stop(void);

/* The same for an agent that was killed before it could. */
int cores_restore(const struct node_options *options, struct err *err);

#endif
