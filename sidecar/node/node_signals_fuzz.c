/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes as messages of the node agent about signals. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/node/node_signals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char id[NODE_SIGNALS_ID_LEN + 1], *copy = malloc(size + 1);
	struct node_signal s;
	struct kmsg_record r;
	int64_t ns;

	if (!copy)
		return 0;
	/* Of exactly this size, so that ASan sees a read beyond its end */
	memcpy(copy, data, size);
	if (node_signal_parse(copy, size, id, &s)) {
		if (strlen(id) != NODE_SIGNALS_ID_LEN || s.target < 0 || s.at_ns <= 0)
			abort();
		for (const char *p = s.comm; *p; p++)
			if ((unsigned char)*p < ' ')
				abort();
	}
	node_watching_parse(copy, size, &ns);
	if (node_kernel_line_parse(copy, size, &r) && r.text + r.len != copy + size)
		abort();
	free(copy);
	return 0;
}
