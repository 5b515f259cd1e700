/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any JSON must be the same after squeezing and restoring it. */
#include "operator/kube/squeeze.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf back = STRBUF_INIT(64 << 20);
	_cleanup_json_ cJSON *json = NULL;

	if (json_parse((const char *)data, size, &json, NULL) < 0)
		return 0;
	_cleanup_free_ char *text = cJSON_PrintUnformatted(json);
	_cleanup_free_ char *copy = text ? strdup(text) : NULL;
	if (!copy)
		return 0;
	size_t len = squeeze(copy, strlen(copy));
	unsqueeze(copy, len, &back);
	if (strcmp(strbuf_str(&back), text) != 0)
		abort();
	return 0;
}
