/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a collector's answer. The number of rejected records may not exceed
 * those sent, and the reason must be one line of text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "operator/export/otlp_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct otlp_answer answer;
	char *copy = malloc(size + 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	copy[size] = '\0';
	otlp_answer_read(copy, size, 100, &answer);
	if (answer.rejected > 100 || !memchr(answer.text, '\0', sizeof(answer.text)) ||
	    strpbrk(answer.text, "\n\r\033"))
		abort();
	free(copy);
	return 0;
}
