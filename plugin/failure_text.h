/* SPDX-License-Identifier: Apache-2.0 */
/* A RayFailure as text for a terminal, in the order in which a person asks. Pure. */
#ifndef AFTERGLOW_PLUGIN_FAILURE_TEXT_H
#define AFTERGLOW_PLUGIN_FAILURE_TEXT_H

#include <cjson/cJSON.h>

#include "lib/strbuf.h"

/* All of it, as `kubectl afterglow show` prints it. Members that are missing or of a wrong type are left out. */
void failure_text(const cJSON *failure, struct strbuf *out);

#endif
