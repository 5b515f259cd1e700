/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the verdict from the wait status alone: exit codes and signals. Pure. */
#pragma once

#include "sidecar/verdict/observation.h"
#include "sidecar/verdict/oom.h"
#include "sidecar/verdict/verdict.h"

/*
 * Sets v's exit code and signal from the wait status; if that is not known, from what can end PID 1
 * of a container.
 */
void status_read(const struct observation *o, struct verdict *v);

/* Sets class, confidence and sentence of a death by the signal v->signal. */
void signal_verdict(const struct observation *o, enum oom oom, struct verdict *v);

/* Sets them for an exit with v->exit_code, which is at least 0; v->signal is not set. */
void exit_verdict(const struct observation *o, struct verdict *v);

/*
 * To be called when nothing else has explained the exit code: adds that the OOM killer took a
 * process of the container shortly before.
 */
void after_oom_verdict(const struct observation *o, struct verdict *v);
