/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes, cut anywhere, give the same number of events. The first byte chooses the
 * cut.
 */
#include "operator/cache/watch_decoder.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count(void *arg, struct watch_event *event)
{
	(void)event;
	++*(unsigned *)arg;
	return 0;
}

static unsigned decode(const uint8_t *data, size_t size, size_t step)
{
	struct watch_decoder d;
	struct err err = { 0 };
	unsigned n = 0;

	watch_decoder_init(&d);
	for (size_t at = 0; at < size; at += step)
		if (watch_decoder_feed(&d, data + at, MIN(step, size - at), count, &n, &err) < 0)
			break;
	watch_decoder_release(&d);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	size_t step = data[0] ? data[0] : 1;
	if (decode(data + 1, size - 1, step) != decode(data + 1, size - 1, size))
		abort();
	return 0;
}
