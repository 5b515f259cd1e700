/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a bundle that a sidecar before this one wrote: an errand reads it, because the disk may not answer. */
#ifndef AFTERGLOW_SIDECAR_RECORD_KEPT_REPORT_H
#define AFTERGLOW_SIDECAR_RECORD_KEPT_REPORT_H

#include <stdint.h>

#include "lib/loop/errand.h"
#include "lib/strbuf.h"

enum kept_report {
	KEPT_REPORT_READ, /* the bundle is there; a text that could not be read is empty */
	KEPT_REPORT_NONE, /* there is no such bundle */
	KEPT_REPORT_UNKNOWN, /* its disk does not answer, or nobody can be sent to look */
};

/* bundle: a path from the root. Appends report.txt to text and report.json to json, as far as their ceilings allow; waits for within_ns at most. */
enum kept_report kept_report_read(struct errand *e, const char *bundle, int64_t within_ns, struct strbuf *text, struct strbuf *json);

#endif
