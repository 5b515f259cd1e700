/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the core handler on the node, sets kernel.core_pattern so that the kernel runs it
 * (core_pattern.h), tests that it works, and restores the previous value at the end. The handler
 * itself works without the agent.
 */
#pragma once

#include "node/node.h"

/*
 * Does nothing if the options do not ask for cores. On failure, core_pattern is as it was. A
 * pattern that cannot be part of ours (core_pattern_make) is no failure: it is logged and left
 * alone until it is changed, and then taken over.
 */
int cores_start(struct node *n, struct err *err);
/*
 * Restores core_pattern, unless another program has changed it meanwhile. Also after a start that
 * failed: the pattern may still be that of an agent that was killed.
 */
void cores_stop(void);

/* Restores core_pattern after an agent that was killed before it could do so. */
int cores_restore(const struct node_options *options, struct err *err);
