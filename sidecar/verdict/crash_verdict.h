/* SPDX-License-Identifier: Apache-2.0 */
/* Adds to a verdict what is known from a core. Pure. */
#pragma once

#include "sidecar/verdict/observation.h"
#include "sidecar/verdict/verdict.h"

/* Makes the verdict on a process that dumped core while the container lives on. */
void crash_verdict(const struct observation *o, struct verdict *v);

/*
 * Adds the crashed frame and what else the core shows as evidence; without a core, adds why there
 * is none.
 */
void crash_evidence(const struct observation *o, struct verdict *v);

/*
 * Describes the crashed frame: " in deref_null (boom.so)", or "" if no frame is known; ", which PID
 * 7 sent" if another process sent the signal. Returns text.
 */
const char *crash_in(const struct observation *o, char *text, size_t size);
