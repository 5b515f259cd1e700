/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a line of the file of cores that were processed. A line that is accepted has a path
 * from the root.
 */
#include "sidecar/crash/taken.h"

#include <stdlib.h>
#include <string.h>

#include "lib/macros.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *line = strndup((const char *)data, size);
	struct taken_core core = { 0 };

	if (!line || !taken_parse_line(line, &core))
		return 0;
	if (core.bundle && (core.bundle[0] != '/' || strlen(core.bundle) >= TAKEN_PATH_MAX))
		abort();
	free(core.bundle);
	return 0;
}
