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
	_cleanup_json_ cJSON *json = NULL;

	if (json_parse((const char *)data, size, &json, NULL) < 0)
		return 0;
	_cleanup_free_ char *text = cJSON_PrintUnformatted(json);
	size_t len, back_len;
	_cleanup_free_ char *squeezed = text ? squeeze(text, strlen(text), &len) : NULL;
	_cleanup_free_ char *back = squeezed ? unsqueeze(squeezed, len, &back_len) : NULL;
	if (squeezed && (!back || back_len != strlen(text) || memcmp(back, text, back_len) != 0))
		abort();
	return 0;
}
