/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as a kubeconfig. */
#include <stdint.h>
#include <string.h>

#include "operator/kube/kubeconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kubeconfig k = { 0 };
	struct err err = { 0 };

	/*
	 * Files that the input names are read. Devices are excluded, because reading one may block.
	 */
	if (!memmem(data, size, "/dev", 4) && !memmem(data, size, "/proc", 5))
		if (kubeconfig_parse((const char *)data, size, "kc", NULL, &k, &err) == 0)
			kubeconfig_release(&k);
	return 0;
}
