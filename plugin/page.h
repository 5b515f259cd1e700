/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All failures as one self-contained HTML page: a timeline, groups by signature and a list, with filters. Pure; time is an argument.
 * What stands in RayFailures was written by tenants: it becomes text, and the policy of the page allows its own script only.
 */
#ifndef AFTERGLOW_PLUGIN_PAGE_H
#define AFTERGLOW_PLUGIN_PAGE_H

#include "plugin/failure_list.h"

#define PAGE_FAILURES_MAX 5000 /* the newest; browsers slow down with more */

/* Appends the page and returns how many failures are on it. now_ns is the time since 1970. */
size_t page(const cJSON *list, const struct failure_filter *filter, int64_t now_ns, struct strbuf *out);

#endif
