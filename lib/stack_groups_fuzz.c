/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as the answers of two pods, cut at the first NUL. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/stack_groups.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct stack_place place = { "pod", "node" };
	char *first = strndup((const char *)data, size), *second = strdup(first);
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20), places = STRBUF_INIT(1 << 20);
	struct stack_groups *g = stack_groups_new();

	stack_groups_add(g, &place, first);
	stack_groups_add(g, NULL, second);
	stack_groups_main(g, &places);
	if (places.len > STACK_MAIN_MAX)
		abort();
	stack_groups_ray_call(g, &out);
	strbuf_reset(&out);
	stack_groups_write(g, &out);
	cJSON_Delete(stack_groups_json(g));
	stack_groups_free(g);
	free(first);
	free(second);
	return 0;
}
