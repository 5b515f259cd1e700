/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers namespaces in which the sidecar's image cannot be pulled. */
#include "operator/webhook/image_trouble.h"

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/sidecar_names.h"

static bool waits_in_vain(const cJSON *status)
{
	return TEXT_IS_ONE_OF(json_str(status, "state.waiting.reason"), "ErrImagePull",
			      "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName",
			      "ImageInspectError", "RegistryUnavailable",
			      "SignatureValidationFailed");
}

void image_trouble_see(struct remembered *namespaces, const cJSON *pod, int64_t now_ns)
{
	const cJSON *status =
		json_find(json_get(pod, "status.containerStatuses"), "name", SIDECAR_CONTAINER);
	const char *namespace = json_str(pod, "metadata.namespace");

	if (!status || !namespace)
		return;
	if (waits_in_vain(status))
		remembered_note(namespaces, namespace, IMAGE_TROUBLE_HOLD_NS, now_ns);
	else if (json_get(status, "state.running"))
		remembered_forget(namespaces, namespace);
}

bool image_trouble_holds(const struct remembered *namespaces, const char *namespace, int64_t now_ns)
{
	return remembered_get(namespaces, namespace, IMAGE_TROUBLE_HOLD_NS, now_ns);
}
