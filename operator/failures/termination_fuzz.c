/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a termination message. The result must be printable as JSON that can be
 * parsed again to the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "operator/failures/termination.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_json_ cJSON *report = NULL, *again = NULL;
	_cleanup_free_ char *text = NULL;
	char *copy = malloc(size + 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	copy[size] = '\0';
	if (termination_parse(copy, size, &report, NULL) == 0) {
		text = cJSON_PrintUnformatted(report);
		if (!text || json_parse(text, strlen(text), &again, NULL) < 0 ||
		    !cJSON_Compare(report, again, true))
			abort();
	}
	free(copy);
	return 0;
}
