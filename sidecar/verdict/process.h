/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the process that a verdict is about, if there is such a process. Pure. */
#pragma once

#include "sidecar/verdict/observation.h"
#include "sidecar/verdict/verdict.h"

/*
 * Fills v->process, unless it is set. While the container lives on, the process is the OOM killer's
 * victim, the worker that Ray's logs name, or the process that left a core. Otherwise it is the
 * command that ended.
 */
void process_of_verdict(const struct observation *o, struct verdict *v);

/* After sender_verdict: the OOM killer's victim, where its kill ended the container. */
void process_of_oom_kill(const struct observation *o, struct verdict *v);
