/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers images that have no shell. */
#include "operator/webhook/shell_trouble.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/sidecar_names.h"
#include "operator/podspec/pod_spec.h"

#define SHELL "/bin/sh"
#define KEY_MAX 1024

/*
 * Writes "NAMESPACE IMAGE" of the Ray container. Returns false if there is none, or it does not
 * fit.
 */
static bool image_key(const char *namespace, const cJSON *pod, char key[static KEY_MAX])
{
	const char *name = pod_ray_container_name(pod),
		   *image = json_str(json_find(json_get(pod, "spec.containers"), "name", name),
				     "image");

	return namespace && image && snprintf(key, KEY_MAX, "%s %s", namespace, image) < KEY_MAX;
}

/*
 * Only the container runtime gives these reasons; a termination message of the container itself has
 * others.
 */
static bool could_not_start(const cJSON *state)
{
	const char *message = json_str_or(state, "message", "");

	return TEXT_IS_ONE_OF(json_str(state, "reason"), "StartError", "RunContainerError",
			      "ContainerCannotRun") &&
	       strstr(message, "exec: \"" SHELL "\"") && strstr(message, "no such file");
}

void shell_trouble_see(struct remembered *images, const cJSON *pod, int64_t now_ns)
{
	const char *name = pod_ray_container_name(pod);
	char key[KEY_MAX];

	/*
	 * The cache has no commands. A command that asks for that shell itself cannot start in any
	 * case.
	 */
	if (!name || !json_find(json_get(pod, "spec.containers"), "name", SIDECAR_CONTAINER) ||
	    !image_key(json_str(pod, "metadata.namespace"), pod, key))
		return;
	const cJSON *status = json_find(json_get(pod, "status.containerStatuses"), "name", name);
	if (could_not_start(json_get(status, "state.waiting")) ||
	    could_not_start(json_get(status, "state.terminated")) ||
	    could_not_start(json_get(status, "lastState.terminated")))
		remembered_note(images, key, SHELL_TROUBLE_HOLD_NS, now_ns);
}

bool shell_trouble_holds(const struct remembered *images, const char *namespace, const cJSON *pod,
			 int64_t now_ns)
{
	char key[KEY_MAX];

	return image_key(namespace, pod, key) &&
	       remembered_get(images, key, SHELL_TROUBLE_HOLD_NS, now_ns);
}
