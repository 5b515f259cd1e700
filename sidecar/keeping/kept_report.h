/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the report of a bundle that a previous sidecar wrote. An errand reads it, because the disk
 * may not answer.
 */
#pragma once

#include <stdint.h>

#include "lib/loop/errand.h"
#include "lib/strbuf.h"

enum kept_report {
	KEPT_REPORT_READ, /* the bundle exists; a text that could not be read is empty */
	KEPT_REPORT_NONE, /* there is no such bundle */
	/* the disk does not answer, or no process could be started to read it */
	KEPT_REPORT_UNKNOWN,
};

/*
 * bundle is an absolute path. Appends report.txt to text and report.json to json, up to their
 * ceilings. Waits for within_ns at most, so it is for the time before the event loop begins.
 */
enum kept_report kept_report_read(struct errand *e, const char *bundle, int64_t within_ns,
				  struct strbuf *text, struct strbuf *json);
