/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a RayFailure as text for a terminal, the most important facts first. Pure. */
#pragma once

#include <cjson/cJSON.h>

#include "lib/strbuf.h"

/*
 * Appends what `kubectl afterglow show` prints. Members that are missing or have the wrong type are
 * left out.
 */
void failure_text(const cJSON *failure, struct strbuf *out);
