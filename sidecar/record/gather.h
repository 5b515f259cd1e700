/* SPDX-License-Identifier: Apache-2.0 */
/* What a bundle holds beside the report: one function for each kind, listed in postmortem.c. */
#ifndef AFTERGLOW_SIDECAR_RECORD_GATHER_H
#define AFTERGLOW_SIDECAR_RECORD_GATHER_H

#include "sidecar/record/observer.h"
#include "sidecar/report/report.h"
#include "sidecar/store/bundle.h"

/* Adds files to b. May add to r->verdict's evidence and missing lists; a failure is such a line, no error. */
typedef void (*gather_fn)(struct bundle *b, const struct observer *o, struct report *r);

#endif
