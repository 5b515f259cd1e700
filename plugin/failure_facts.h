/* SPDX-License-Identifier: Apache-2.0 */
/* What a RayFailure says, fact by fact, in the order in which a person asks. Text and page are made of it. Pure. */
#ifndef AFTERGLOW_PLUGIN_FAILURE_FACTS_H
#define AFTERGLOW_PLUGIN_FAILURE_FACTS_H

#include <cjson/cJSON.h>

/* label is static; text was written by others, and is not fit for a terminal or a page yet. */
typedef void failure_fact_fn(void *arg, const char *label, const char *text);

/* Calls fn for each fact that there is; a label comes several times in a row where there are several, as with evidence. */
void failure_facts_each(const cJSON *failure, failure_fact_fn *fn, void *arg);

#endif
