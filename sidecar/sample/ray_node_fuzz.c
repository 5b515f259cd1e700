/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as raylet's command line. */
#include "sidecar/sample/ray_node.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ray_node n = RAY_NODE_UNKNOWN;

	ray_node_parse((const char *)data, size, &n);
	/* The values are so small that their sums and differences cannot overflow. */
	if (n.object_store < -1 || n.memory < -1 || n.cpus < -1 || n.object_store > 1L << 60 ||
	    n.memory > 1L << 60 || n.cpus > 1L << 60 || n.raylet != 0)
		abort();
	return 0;
}
