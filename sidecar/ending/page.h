/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes report.html of a bundle from the report, the samples, and the texts that the bundle
 * contains already.
 */
#pragma once

#include "lib/err.h"
#include "sidecar/report/report.h"
#include "sidecar/sample/history.h"
#include "sidecar/store/bundle.h"

/*
 * Adds report.html. ended_ns: CLOCK_BOOTTIME of the end. To be called when all texts (kernel.log,
 * logs/...) were added.
 */
int page_add(struct bundle *b, const struct report *r, const struct history *h, int64_t ended_ns,
	     struct err *err);
