/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the facts of a RayFailure, the most important first. The text (failure_text.h) and the page
 * (page.h) are made from them. Pure.
 */
#pragma once

#include <cjson/cJSON.h>

/*
 * label is static. text comes from the cluster and may have any characters: the callee must escape
 * it for a terminal or a page. It is valid during the call.
 */
typedef void failure_fact_fn(void *arg, const char *label, const char *text);

/*
 * Calls fn for each fact that the RayFailure has. If a label has several facts, such as "evidence",
 * it comes several times in a row.
 */
void failure_facts_each(const cJSON *failure, failure_fact_fn *fn, void *arg);
