/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target of the parsers of limits: mountinfo and pids.events. */
#include "sidecar/sample/limits.h"

#include <stdlib.h>
#include <string.h>

#include "lib/macros.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void visit(const char *point, void *arg)
{
	size_t *longest = arg;

	*longest = MAX(*longest, strlen(point));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = malloc(size + 1);
	size_t longest = 0;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	limits_each_disk(text, visit, &longest);
	if (longest >= 512 || limits_parse_refused(text) < 0)
		abort();
	return 0;
}
