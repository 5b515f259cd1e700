/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: adds a process to components by its name and command line. */
#pragma once

#include "sidecar/sample/components.h"

static inline void components_add(struct components *c, const char *name, const char *command,
				  int64_t own)
{
	char label[PROCESS_NAME_MAX];
	enum component_kind kind = component_of(name, command, label);

	components_add_one(c, kind, label, own, false);
}
