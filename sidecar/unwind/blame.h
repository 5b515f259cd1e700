/* SPDX-License-Identifier: Apache-2.0 */
/* Which frame of the crashed thread a person should look at first. */
#ifndef AFTERGLOW_SIDECAR_UNWIND_BLAME_H
#define AFTERGLOW_SIDECAR_UNWIND_BLAME_H

#include "sidecar/unwind/render.h"

/*
 * Fills what the crash is about from the crashed thread's stack: the first fault
 * when a handler raised its signal again; the caller of abort() and its kin; the
 * caller of a null pointer. fault is filled and referred to when there was one.
 */
void blame(struct symbols *symbols, const struct stack *stack, struct fault *fault, struct crash *crash);

/* Whether a function only carries out an abort that somebody else asked for. Pure. */
bool blame_is_messenger(const char *function);

#endif
