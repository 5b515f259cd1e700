/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers namespaces in which the sidecar's image cannot be pulled. */
#include "operator/webhook/image_trouble.h"

#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/sidecar_names.h"

void image_trouble_release(struct image_trouble *t)
{
	strmap_release(&t->namespaces, free);
}

static bool waits_in_vain(const cJSON *status)
{
	static const char *const reasons[] = { "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName",
					       "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed" };
	const char *reason = json_str(status, "state.waiting.reason");

	for (size_t i = 0; reason && i < ARRAY_SIZE(reasons); i++)
		if (strcmp(reason, reasons[i]) == 0)
			return true;
	return false;
}

/* Drops expired entries to make room. */
static void forget_old(struct image_trouble *t, int64_t now_ns)
{
	struct strmap_pos pos = { 0 };
	const char *namespace;
	void *since;

	while (strmap_next(&t->namespaces, &pos, &namespace, &since))
		if (now_ns - *(const int64_t *)since >= IMAGE_TROUBLE_HOLD_NS)
			free(strmap_remove(&t->namespaces, namespace));
}

static void note(struct image_trouble *t, const char *namespace, int64_t now_ns)
{
	int64_t *since = strmap_get(&t->namespaces, namespace);

	if (!since && t->namespaces.n >= IMAGE_TROUBLE_NAMESPACES_MAX)
		forget_old(t, now_ns);
	if (!since && t->namespaces.n < IMAGE_TROUBLE_NAMESPACES_MAX) {
		since = malloc(sizeof(*since));
		if (since && strmap_put(&t->namespaces, namespace, since, NULL) < 0)
			free(TAKE_PTR(since));
	}
	if (since)
		*since = now_ns;
}

void image_trouble_see(struct image_trouble *t, const cJSON *pod, int64_t now_ns)
{
	const cJSON *status = json_find(json_get(pod, "status.containerStatuses"), "name", SIDECAR_CONTAINER);
	const char *namespace = json_str(pod, "metadata.namespace");

	if (!status || !namespace)
		return;
	if (waits_in_vain(status))
		note(t, namespace, now_ns);
	else if (json_get(status, "state.running"))
		free(strmap_remove(&t->namespaces, namespace));
}

bool image_trouble_holds(const struct image_trouble *t, const char *namespace, int64_t now_ns)
{
	const int64_t *since = strmap_get(&t->namespaces, namespace);

	return since && now_ns - *since < IMAGE_TROUBLE_HOLD_NS;
}
