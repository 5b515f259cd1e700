/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a line of afterglow-ship's stdout, and as the URL of a store. What is
 * taken from them must be bounded and have a name.
 */
#include "sidecar/spool/ship_plan.h"

#include <stdlib.h>
#include <string.h>

#include "lib/macros.h"

#define CHECK(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_result(const struct ship_result *r)
{
	CHECK(r->kind < SHIP_KIND_COUNT && *ship_kind_name(r->kind));
	CHECK(memchr(r->error, 0, sizeof(r->error)));
	for (unsigned int failures = 0; failures < 40; failures++)
		for (int stopping = 0; stopping <= 1; stopping++) {
			int64_t wait = ship_backoff(failures, r, stopping, 0.5);

			CHECK(wait >= 0 && wait <= 2 * SHIP_BACKOFF_MAX_NS);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int statuses[] = { 0, 1 << 8, 3 << 8, 9, 0x7f };
	_cleanup_free_ char *text = strndup((const char *)data, size);
	const struct store_options o = { .url = text };
	const char *argv[SHIP_ARGS_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct ship_result r = { .has_result = false };

		ship_line((const char *)data, size, &r);
		ship_ended(statuses[i], SHIP_END_OWN, &r);
		CHECK(!r.shipped || statuses[i] == 0);
		check_result(&r);
	}
	if (text && store_options_check(&o, NULL) == 0) {
		CHECK(store_directory(text) || strstr(text, "://"));
		ship_args(&o, "p", "as", "1", "/b", argv);
	}
	return 0;
}
