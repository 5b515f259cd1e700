/* SPDX-License-Identifier: Apache-2.0 */
/* What the wait status alone says: exit codes and signals. Pure. */
#ifndef AFTERGLOW_SIDECAR_VERDICT_STATUS_VERDICT_H
#define AFTERGLOW_SIDECAR_VERDICT_STATUS_VERDICT_H

#include "sidecar/verdict/classify.h"
#include "sidecar/verdict/oom_verdict.h"

/* Sets v's exit code and signal, from the wait status or, without one, from what ends a container's PID 1. */
void status_read(const struct observation *o, struct verdict *v);

/* v->signal is set: class, confidence and sentence. */
void signal_verdict(const struct observation *o, enum oom oom, struct verdict *v);

/* v->exit_code is at least 0 and v->signal is not set. */
void exit_verdict(const struct observation *o, struct verdict *v);

#endif
