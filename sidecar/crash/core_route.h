/* SPDX-License-Identifier: Apache-2.0 */
/* Why there is no core: where the node sends them, or what kept the kernel from writing one. Pure. */
#ifndef AFTERGLOW_SIDECAR_CRASH_CORE_ROUTE_H
#define AFTERGLOW_SIDECAR_CRASH_CORE_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "sidecar/launch/core_pattern.h"

#define CORE_NEEDS_MAX 320

/*
 * What would be needed for one, as a clause that follows "needs". pattern: NULL
 * when it could not be read. dumped: the wait status says that a core was
 * written somewhere; status_known: there is such a status.
 */
void core_route_needs(const struct core_pattern *pattern, bool capturing, bool status_known, bool dumped,
		      char *text, size_t size);

#endif
