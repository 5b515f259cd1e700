/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any line of a kernel log. Names that are taken from it must be terminated and within
 * their bounds.
 */
#include "sidecar/kernel/xid.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpu_fault f;

	if (!gpu_fault_parse((const char *)data, size, &f))
		return 0;
	if (!f.meaning || f.pid < -1 || f.pid > 4194304 || f.xid < 0 ||
	    !memchr(f.device, '\0', sizeof(f.device)) || !memchr(f.name, '\0', sizeof(f.name)))
		abort();
	return 0;
}
