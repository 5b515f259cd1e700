/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target of the parsers of limits: mountinfo and pids.events. */
#include "sidecar/sample/limits.h"

#include <stdlib.h>
#include <string.h>

#include "lib/macros.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = malloc(size + 1);
	char points[16][512];

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (limits_find_disks(text, points, 16) > 16 || limits_parse_refused(text) < 0)
		abort();
	return 0;
}
