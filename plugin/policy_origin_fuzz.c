/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any text as the annotation of a pod's policies. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/policy_origin.h"

#define CHECK(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct policy_origins o;

	if (!text)
		return 0;
	policy_origins_parse(text, &o);
	CHECK(o.n <= POLICY_ORIGINS_MAX);
	for (unsigned int i = 0; i < o.n; i++)
		CHECK(o.of[i].name[0] && o.of[i].generation >= 0 && memchr(o.of[i].name, '\0', sizeof(o.of[i].name)));
	for (enum origin_block b = 0; b < ORIGIN_BLOCKS; b++) {
		const struct policy_origin *from = policy_origin_of(&o, b);

		CHECK(!from || from->gives[b]);
	}
	free(text);
	return 0;
}
