/* SPDX-License-Identifier: Apache-2.0 */
/* Ray's logs and the files asked for, into a bundle. All are gather_fn (gather.h). */
#ifndef AFTERGLOW_SIDECAR_RECORD_GATHER_RAY_H
#define AFTERGLOW_SIDECAR_RECORD_GATHER_RAY_H

#include "sidecar/record/gather.h"

/* ray.txt: what Ray says of the processes concerned. */
void gather_ray_words(struct bundle *b, const struct observer *o, struct report *r);

/* logs/: the ends of the logs of Ray's own processes, of the workers concerned and of the newest jobs' drivers. */
void gather_ray_logs(struct bundle *b, const struct observer *o, struct report *r);

/* collected/: what o->collect names, whole files, newest patterns first come first served. */
void gather_collected(struct bundle *b, const struct observer *o, struct report *r);

#endif
