/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declares the functions that add a bundle's files beside the report. There is one for each kind;
 * postmortem.c lists them.
 */
#pragma once

#include "sidecar/report/report.h"
#include "sidecar/store/bundle.h"
#include "sidecar/watch/observer.h"

/*
 * Adds files to b, and may add lines to the evidence and missing lists of r->verdict. It reports a
 * failure as such a line.
 */
typedef void (*gather_fn)(struct bundle *b, const struct observer *o, struct report *r);

/*
 * stacks.txt: what still ran after a request to stop; and backtrace.txt: crash/crashes.h adds the
 * core itself later.
 */
void gather_crash(struct bundle *b, const struct observer *o, struct report *r);
/* hooks/N-PROGRAM.txt: how each hook of the last minutes was run, how it ended, and its output. */
void gather_hooks(struct bundle *b, const struct observer *o, struct report *r);
/*
 * kernel.log and syslog.log: what the observer last found in the kernel log, and the tail of the
 * node's syslog file if the options name it.
 */
void gather_kernel_log(struct bundle *b, const struct observer *o, struct report *r);
/* ray.txt: what Ray's logs say about the processes concerned. */
void gather_ray_words(struct bundle *b, const struct observer *o, struct report *r);
/*
 * logs/: the ends of the logs of Ray's own processes, of the workers concerned and of the newest
 * jobs' drivers.
 */
void gather_ray_logs(struct bundle *b, const struct observer *o, struct report *r);
/*
 * collected/: the whole files that match the patterns in o->collect, in that order, as far as there
 * is room.
 */
void gather_collected(struct bundle *b, const struct observer *o, struct report *r);
