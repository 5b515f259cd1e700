/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the frame of the crashed thread that a person should look at first. */
#pragma once

#include "sidecar/unwind/render.h"

/*
 * Fills in the cause of the crash from the crashed thread's stack: the first fault, if
 * a handler raised its signal again; the caller of abort() and similar functions; the
 * caller of a null pointer. If there was a fault, *fault is filled and *crash points into it.
 */
void blame(struct symbols *symbols, const struct stack *stack, struct fault *fault,
	   struct crash *crash);

/* Whether a function only carries out an abort that its caller asked for. Pure. */
bool blame_is_messenger(const char *function);
