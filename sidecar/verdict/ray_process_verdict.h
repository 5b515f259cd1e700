/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the verdict on a container, or on raylet, that ended because another of Ray's own processes
 * had ended. Pure.
 */
#pragma once

#include "sidecar/ray/ray_error.h"
#include "sidecar/verdict/observation.h"
#include "sidecar/verdict/oom_verdict.h"
#include "sidecar/verdict/verdict.h"

/*
 * For a container that has ended; v is the verdict from everything else. If a process of Ray's
 * ended before the container and explains its end, sets class, confidence and sentence accordingly.
 * A kill by the OOM killer keeps its class.
 */
void ray_process_verdict(const struct observation *o, enum oom oom, struct verdict *v);

/* Makes the whole verdict on o->process, which has ended while the container lives. */
void ray_process_lives_verdict(const struct observation *o, struct verdict *ret_verdict);

/*
 * Adds to the verdict on a driver with which of Ray's exceptions it ended, and what had died by
 * that.
 */
void ray_error_verdict(const struct ray_error *error, struct verdict *v);

/*
 * Changes the verdict on a driver if the last lines of its log, as ray_last_lines gives them, say
 * that it was asked to stop, and neither a crash nor the OOM killer explains its end.
 */
void ray_driver_stopped_verdict(const struct observation *o, const char *lines, struct verdict *v);
