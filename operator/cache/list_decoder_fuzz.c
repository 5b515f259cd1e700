/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a list gives the same items in one piece and cut in two. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "operator/cache/list_decoder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int print_item(void *arg, cJSON *item)
{
	_cleanup_json_ cJSON *owned = item;
	_cleanup_free_ char *text = cJSON_PrintUnformatted(owned);

	strbuf_addf(arg, "%s\n", text ? text : "?");
	return 0;
}

static int decode(const uint8_t *data, size_t size, size_t cut, struct strbuf *out)
{
	struct list_decoder d;

	list_decoder_init(&d);
	int r = list_decoder_feed(&d, data, cut, print_item, out, NULL);
	if (r == 0)
		r = list_decoder_feed(&d, data + cut, size - cut, print_item, out, NULL);
	if (r == 0)
		r = list_decoder_finish(&d, NULL);
	list_decoder_release(&d);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf whole = STRBUF_INIT((size_t)16 << 20),
				       parts = STRBUF_INIT((size_t)16 << 20);
	size_t cut = size ? data[size - 1] % (size + 1) : 0;

	if (decode(data, size, size, &whole) != decode(data, size, cut, &parts) ||
	    strcmp(strbuf_str(&whole), strbuf_str(&parts)) != 0)
		abort();
	return 0;
}
