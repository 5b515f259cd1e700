/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: kubeconfigs, and answers of exec plugins. */
#include <stdint.h>
#include <string.h>

#include "operator/kube/kubeconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kubeconfig k = { 0 };
	struct exec_answer answer = { 0 };
	struct err err = { 0 };

	/* Files may be named and are read, but not devices, which may wait for somebody. */
	if (!memmem(data, size, "/dev", 4) && !memmem(data, size, "/proc", 5))
		if (kubeconfig_parse((const char *)data, size, "kc", &k, &err) == 0)
			kubeconfig_release(&k);
	if (exec_answer_parse((const char *)data, size, "client.authentication.k8s.io/v1", &answer, &err) == 0)
		exec_answer_release(&answer);
	return 0;
}
