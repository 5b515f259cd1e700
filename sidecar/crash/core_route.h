/* SPDX-License-Identifier: Apache-2.0 */
/* Explains why there is no core: where the node sends cores, or why the kernel wrote none. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sidecar/launch/core_pattern.h"

#define CORE_NEEDS_MAX 320

/*
 * Writes what would be needed for a core, as a clause that follows "needs". pattern: NULL
 * if it could not be read. dumped: the wait status says that a core was written
 * somewhere; status_known: there is a wait status.
 */
void core_route_needs(const struct core_pattern *pattern, bool capturing, bool status_known,
		      bool dumped, char *text, size_t size);
