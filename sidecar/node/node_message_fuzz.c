/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as a message to the socket for the node agent. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/node/node_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct node_message m;

	if (node_message_parse((const char *)data, size, &m, NULL) < 0 || m.verb != NODE_OFFER)
		return 0;
	if (strspn(m.container_id, "0123456789abcdef") != NODE_CONTAINER_ID_LEN ||
	    strchr(m.comm, ' ') || m.pid <= 0)
		abort();
	return 0;
}
