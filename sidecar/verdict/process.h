/* SPDX-License-Identifier: Apache-2.0 */
/* Which process a verdict is about, where it is about one. Pure. */
#ifndef AFTERGLOW_SIDECAR_VERDICT_PROCESS_H
#define AFTERGLOW_SIDECAR_VERDICT_PROCESS_H

#include "sidecar/verdict/classify.h"

/*
 * Fills v->process, unless it is set, from the OOM killer's victim, Ray's word on a worker, or a core, while the container
 * lives on: otherwise it is the command that ended.
 */
void process_of_verdict(const struct observation *o, struct verdict *v);

#endif
