/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the processes that a sidecar lists as a table. Pure. */
#pragma once

#include <cjson/cJSON.h>

#include "lib/strbuf.h"

/*
 * Appends the table. processes: an array as in report.json. label is the heading of the first
 * column, which is empty in the rows.
 */
void process_table(const cJSON *processes, const char *label, struct strbuf *out);

/*
 * Formats a number of bytes; "" if it is negative, which means that it is not known. Returns buf,
 * which has SIZE_TEXT_MAX bytes (lib/units.h).
 */
const char *bytes_text(int64_t bytes, char *buf);
