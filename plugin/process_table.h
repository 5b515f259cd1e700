/* SPDX-License-Identifier: Apache-2.0 */
/* Processes as the sidecar lists them, in columns. Pure. */
#ifndef AFTERGLOW_PLUGIN_PROCESS_TABLE_H
#define AFTERGLOW_PLUGIN_PROCESS_TABLE_H

#include <cjson/cJSON.h>

#include "lib/strbuf.h"

/* processes: an array as in report.json. label is the first heading, and blank in the rows. */
void process_table(const cJSON *processes, const char *label, struct strbuf *out);

/* A number of bytes as text; "" when it is negative, which means that it is not known. Returns buf (units.h). */
const char *bytes_text(int64_t bytes, char *buf);

#endif
