/* SPDX-License-Identifier: Apache-2.0 */
/* Adds what hooks printed to a bundle. */
#pragma once

#include "sidecar/record/gather.h"

/*
 * hooks/N-PROGRAM.txt: how each hook of the last minutes was run, how it ended, and its output. A
 * gather_fn.
 */
void gather_hooks(struct bundle *b, const struct observer *o, struct report *r);
