/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as text of a page stay text, and become UTF-8. */
#include "lib/html.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const unsigned char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = text[i] < 0x80 ? 1 : text[i] >= 0xf0 ? 4 : text[i] >= 0xe0 ? 3 : 2;

		if (strchr("<>\"'", text[i]) ||
		    (text[i] < 0x20 && text[i] != '\n' && text[i] != '\t') || text[i] == 0x7f)
			abort();
		if ((text[i] >= 0x80 && text[i] < 0xc2) || text[i] > 0xf4 || i + n > len)
			abort();
		for (size_t j = 1; j < n; j++)
			if ((text[i + j] & 0xc0) != 0x80)
				abort();
		i += n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(6 * size + 1);

	html_add(&out, (const char *)data, size);
	if (strbuf_failed(&out))
		abort();
	check((const unsigned char *)strbuf_str(&out), out.len);
	return 0;
}
