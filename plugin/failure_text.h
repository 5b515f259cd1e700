/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a RayFailure as text for a terminal, the most important facts first. Pure. */
#ifndef AFTERGLOW_PLUGIN_FAILURE_TEXT_H
#define AFTERGLOW_PLUGIN_FAILURE_TEXT_H

#include <cjson/cJSON.h>

#include "lib/strbuf.h"

/*
 * Appends what `kubectl afterglow show` prints. Members that are missing or have the wrong type are
 * left out.
 */
void failure_text(const cJSON *failure, struct strbuf *out);

#endif
