/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on a worker of which Ray's own logs tell, while the container lives. Pure. */
#ifndef AFTERGLOW_SIDECAR_VERDICT_RAY_VERDICT_H
#define AFTERGLOW_SIDECAR_VERDICT_RAY_VERDICT_H

#include "sidecar/verdict/classify.h"

/* o->ray is set and the container lives. */
void ray_verdict(const struct observation *o, struct verdict *v);

/* The container died: adds what Ray said shortly before, and what follows from it, to a verdict that stands. */
void ray_last_words(const struct observation *o, struct verdict *v);

#endif
