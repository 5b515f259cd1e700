/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a server's XML. Only names that our blocks can have may count, and
 * texts for people must be printable.
 */
#include "sidecar/ship/azure_answer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/printable.h"
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BLOCKS 3

/* Checks that a name that counts is pure base64 and contains its index. */
static void check_blocks(const char *text, size_t size)
{
	char ids[BLOCKS][AZURE_BLOCK_ID_MAX] = { "" };
	struct azure_blocks blocks = { .size = 25, .part = 10, .n = BLOCKS, .ids = ids };

	azure_read_blocks(text, size, &blocks, NULL);
	for (size_t i = 0; i < BLOCKS; i++) {
		size_t len = strlen(ids[i]);

		if (len != 0 && len != AZURE_BLOCK_ID_MAX - 1)
			abort();
		if (strspn(ids[i],
			   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/") !=
		    len)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct azure_place place = { .container = "c", .endpoint = "e" };
	struct http_answer answer = { .status = size % 2 ? 404 : 403,
				      .length = -1,
				      .body = STRBUF_INIT(1 << 20) };
	char shown[ERR_TEXT_MAX];
	struct fault fault;

	check_blocks((const char *)data, size);
	strbuf_add(&answer.body, data, size);
	azure_fault(&answer, &place, &fault);
	copy_printable(shown, sizeof(shown), fault.text, strlen(fault.text));
	if (strcmp(shown, fault.text) != 0)
		abort();
	azure_no_blob(&answer);
	strbuf_release(&answer.body);
	return 0;
}
