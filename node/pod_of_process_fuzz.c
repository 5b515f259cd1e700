/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as /proc/PID/cgroup. */
#include <stdint.h>
#include <string.h>

#include "lib/macros.h"
#include "node/pod_of_process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);
	struct pod_of_process pod;

	if (!text || pod_of_cgroups(text, &pod, NULL) < 0)
		return 0;
	/* UID and ID become parts of paths and messages. */
	if (strspn(pod.pod_uid, "0123456789abcdef-") != strlen(pod.pod_uid) ||
	    strlen(pod.pod_uid) < 32)
		abort();
	if (strspn(pod.container_id, "0123456789abcdef") != strlen(pod.container_id))
		abort();
	return 0;
}
