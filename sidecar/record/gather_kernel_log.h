/* SPDX-License-Identifier: Apache-2.0 */
/* Adds kernel.log and syslog.log to a bundle. */
#pragma once

#include "sidecar/record/gather.h"

/*
 * Adds what the observer last found in the kernel log, and the tail of the node's syslog file if
 * the options name it.
 */
void gather_kernel_log(struct bundle *b, const struct observer *o, struct report *r);
