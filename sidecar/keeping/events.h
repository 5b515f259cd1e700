/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the sidecar's own log: one JSON line per event, on its stdout. */
#pragma once

#include <cjson/cJSON.h>

#include "sidecar/ending/options.h"

/*
 * Writes {"time":...,"event":event,"container":container, ...fields} as one line, if the options
 * ask for events. Takes fields, which may be NULL. A line that cannot be written is lost.
 */
void event_emit(const struct record_options *options, const char *event, const char *container,
		cJSON *fields);
