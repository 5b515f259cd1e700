/* SPDX-License-Identifier: Apache-2.0 */
/* Adds backtrace.txt to a bundle. */
#pragma once

#include "sidecar/record/gather.h"

/* A gather_fn. crash/crashes.h adds the core itself later. */
void gather_crash(struct bundle *b, const struct observer *o, struct report *r);
