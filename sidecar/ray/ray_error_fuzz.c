/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any text as a driver's log. What is found is of a bounded and harmless alphabet. */
#include "sidecar/ray/ray_error.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_charset(const char *text, const char *charset)
{
	if (text[strspn(text, charset)])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char about[RAY_ERROR_ABOUT_MAX];
	struct ray_error e;

	if (ray_error_parse((const char *)data, size, &e) != (e.name[0] != '\0'))
		abort();
	ray_error_about(&e, about);
	check_charset(e.node_id, "0123456789abcdef");
	check_charset(e.worker_id, "0123456789abcdef");
	check_charset(e.actor_id, "0123456789abcdef");
	check_charset(e.ip, "0123456789abcdef.:");
	if (e.pid < 0 || e.pid > 4194304)
		abort();
	return 0;
}
