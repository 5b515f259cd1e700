/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as the crash loops that a previous sidecar noted. Counting must go on
 * whatever they say.
 */
#include "sidecar/spool/crash_loop.h"

#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"

#define CHECK(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct crash_loops loops = { .n = 0 };
	const int64_t now = INT64_C(1795224546) * NS_PER_SEC;
	_cleanup_json_ cJSON *json = NULL, *again = NULL;
	const struct crash_loop *loop;

	if (json_parse((const char *)data, size, &json, NULL) < 0)
		return 0;
	crash_loops_of_json(json, &loops);
	CHECK(loops.n <= CRASH_LOOPS_MAX);
	for (int i = 0; i < 3; i++) {
		enum keep keep =
			crash_loops_count(&loops, "Segfault 139 ray-worker f", now + i, 1, &loop);

		CHECK(keep <= KEEP_COUNT && loop->count > 0 && loops.n <= CRASH_LOOPS_MAX);
		CHECK(memchr(loop->signature, 0, sizeof(loop->signature)));
	}
	again = crash_loops_to_json(&loops, now + 3);
	return 0;
}
