/* SPDX-License-Identifier: Apache-2.0 */
/* What a core adds to a verdict. Pure. */
#ifndef AFTERGLOW_SIDECAR_VERDICT_CRASH_VERDICT_H
#define AFTERGLOW_SIDECAR_VERDICT_CRASH_VERDICT_H

#include "sidecar/verdict/classify.h"

/* A process dumped core and the container lives on. */
void crash_verdict(const struct observation *o, struct verdict *v);

/* The crashed frame and what is known beside it, or, without a core, why there is none. */
void crash_evidence(const struct observation *o, struct verdict *v);

/* " in deref_null (boom.so)", "" when no frame is known. */
const char *crash_in(const struct observation *o, char *text, size_t size);

#endif
