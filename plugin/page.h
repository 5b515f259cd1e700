/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a self-contained HTML page of all failures: a timeline, incidents with what followed from
 * each first cause, groups by signature, and filters. Pure: time is an argument. RayFailures have
 * texts of tenants in them, so all of it is escaped, and the page's Content-Security-Policy allows
 * only its own script.
 */
#pragma once

#include "lib/strbuf.h"
#include "plugin/failure_items.h"

#define PAGE_FAILURES_MAX 5000 /* the newest are shown; browsers slow down with more */

/* Appends the page and returns how many failures are on it. now_ns is Unix time. */
size_t page(const cJSON *list, const struct failure_filter *filter, int64_t now_ns,
	    struct strbuf *out);
