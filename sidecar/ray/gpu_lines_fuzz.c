/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any text as the end of a worker's log. The texts taken from it must be printable and
 * bounded.
 */
#include "sidecar/ray/gpu_lines.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text, size_t size)
{
	if (!memchr(text, '\0', size))
		abort();
	for (; *text; text++)
		if (*text < ' ' || *text >= 0x7f)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpu_error g;

	if (!gpu_lines_parse((const char *)data, size, &g))
		return 0;
	check(g.what, sizeof(g.what));
	check(g.tried, sizeof(g.tried));
	check(g.total, sizeof(g.total));
	check(g.available, sizeof(g.available));
	check(g.line, sizeof(g.line));
	if (g.kind == GPU_ERROR_NONE || g.device < -1 || g.device > 1023 || g.rank < -1 ||
	    g.rank > 999999)
		abort();
	return 0;
}
