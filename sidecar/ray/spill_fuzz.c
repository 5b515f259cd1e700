/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any text as raylet's state file, and any sequence of figures. Forecasts must stay
 * within their ranges.
 */
#include "sidecar/ray/spill.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spill_disk disk = { .total = INT64_C(1) << 40 };
	struct spill_forecast f;
	struct spill s = { .warned = 0 };
	char text[300];
	int64_t bytes, at_ns = 0;

	if (spill_state_parse((const char *)data, size, &bytes) && bytes < 0)
		abort();
	for (; size >= 8; data += 8, size -= 8) {
		memcpy(&bytes, data, sizeof(bytes));
		disk.available = (bytes >> 3) & ((INT64_C(1) << 41) - 1);
		disk.limit = bytes & 1 ? (bytes >> 5) & ((INT64_C(1) << 41) - 1) : 0;
		at_ns += (bytes & 0xff) * NS_PER_SEC;
		disk.logs = (bytes >> 7) & ((INT64_C(1) << 50) - 1);
		spill_add(&s, at_ns, bytes & ((INT64_C(1) << 55) - 1), disk.logs);
		spill_forecast(&s, &disk, &f);
		if (s.objects.n > SPILL_POINTS_MAX || s.logs.n > SPILL_POINTS_MAX || f.rate < 0 ||
		    f.room < 0 || f.left_ns < -1)
			abort();
		spill_warns(&s, &f);
		spill_describe(&f, &disk, "/tmp/ray/session", text, sizeof(text));
	}
	return 0;
}
