/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the functions that add a bundle's files beside the report. There is one for each kind; postmortem.c lists them. */
#pragma once

#include "sidecar/record/observer.h"
#include "sidecar/report/report.h"
#include "sidecar/store/bundle.h"

/*
 * Adds files to b, and may add lines to the evidence and missing lists of r->verdict. It reports a
 * failure as such a line.
 */
typedef void (*gather_fn)(struct bundle *b, const struct observer *o, struct report *r);
