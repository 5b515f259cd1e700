/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any JSON as a pod's answer at /memory. The output must stay bounded and harmless to
 * a terminal.
 */
#include <stdint.h>
#include <stdlib.h>

#include "lib/json.h"
#include "plugin/top.h"

#define CHECK(condition) ((condition) ? (void)0 : abort())
#define OUT_MAX ((size_t)4 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(OUT_MAX);
	cJSON *memory = NULL, *answers, *answer;

	if (json_parse((const char *)data, size, &memory, NULL) < 0)
		return 0;
	answers = cJSON_CreateArray();
	answer = cJSON_CreateObject();
	json_set_str(answer, "pod", "worker");
	json_set(answer, "memory", memory);
	json_append(answers, answer);
	top_text(answers, true, true, &out);
	CHECK(!strbuf_failed(&out));
	for (size_t i = 0; i < out.len; i++)
		CHECK((unsigned char)strbuf_str(&out)[i] >= ' ' || strbuf_str(&out)[i] == '\n');
	cJSON_Delete(answers);
	return 0;
}
