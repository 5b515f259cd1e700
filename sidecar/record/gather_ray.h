/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds Ray's logs, and the files that the options ask for, to a bundle. All are gather_fn
 * (gather.h).
 */
#pragma once

#include "sidecar/record/gather.h"

/* ray.txt: what Ray's logs say about the processes concerned. */
void gather_ray_words(struct bundle *b, const struct observer *o, struct report *r);

/* logs/: the ends of the logs of Ray's own processes, of the workers concerned and of the newest jobs' drivers. */
void gather_ray_logs(struct bundle *b, const struct observer *o, struct report *r);

/*
 * collected/: the whole files that match the patterns in o->collect, in that order, as far as there
 * is room.
 */
void gather_collected(struct bundle *b, const struct observer *o, struct report *r);
