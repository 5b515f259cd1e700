/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out why a Ray pod has no sidecar. */
#include "operator/webhook/missing_sidecar.h"

#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "operator/injection/inject_annotations.h"
#include "operator/kube/object.h"
#include "operator/podspec/pod_spec.h"
#include "operator/webhook/pod_admission.h"

#define NONE_PREFIX "none:"

static const char *const names[MISSING_COUNT] = {
	[MISSING_NOTHING] = "",
	[MISSING_OPTED_OUT] = "OptedOut",
	[MISSING_EXCLUDED] = "Excluded",
	[MISSING_NO_RAY_CONTAINER] = "NoRayContainer",
	[MISSING_NO_COMMAND] = "NoCommand",
	[MISSING_MUST_BE_PROCESS_1] = "MustBeProcess1",
	[MISSING_NAME_TAKEN] = "NameTaken",
	[MISSING_WINDOWS] = "Windows",
	[MISSING_NOT_CONFIGURED] = "NotConfigured",
	[MISSING_POLICY_OFF] = "PolicyOff",
	[MISSING_IMAGE_UNAVAILABLE] = "ImageUnavailable",
	[MISSING_TOO_LARGE] = "TooLarge",
	[MISSING_TOO_MANY] = "TooMany",
	[MISSING_NO_SHELL] = "NoShell",
	[MISSING_REFUSED] = "Refused",
	[MISSING_BEFORE_INSTALL] = "BeforeInstall",
	[MISSING_MISSED] = "Missed",
};

const char *missing_sidecar_name(enum missing_sidecar reason)
{
	return names[reason];
}

static bool opts_out(const cJSON *object)
{
	return TEXT_IS_ONE_OF(object_annotation(object, INJECT_ANNOTATION), "false");
}

static bool needs_sidecar(const cJSON *pod)
{
	return TEXT_IS_ONE_OF(object_label(pod, "ray.io/is-ray-node"), "yes") &&
	       !pod_has_sidecar(json_get(pod, "spec"));
}

/* Returns the reason that the webhook wrote. A reason of a later version counts as Refused. */
static enum missing_sidecar by_annotation(const cJSON *pod)
{
	const char *text = object_annotation(pod, SIDECAR_ANNOTATION), *reason;

	if (!text || strncmp(text, NONE_PREFIX, strlen(NONE_PREFIX)) != 0)
		return MISSING_NOTHING;
	reason = text + strlen(NONE_PREFIX) + strspn(text + strlen(NONE_PREFIX), " ");
	for (enum missing_sidecar i = MISSING_NOTHING + 1; i < MISSING_REFUSED; i++) {
		size_t len = strlen(names[i]);

		/* A text may follow the name: "none: NoCommand, the image's own entry point". */
		if (strncmp(reason, names[i], len) == 0 && strcspn(reason + len, " ,:;") == 0)
			return i;
	}
	return MISSING_REFUSED;
}

static bool is_older(const cJSON *pod, int64_t webhook_since_ns)
{
	int64_t ns;

	/*
	 * Times have whole seconds. A pod that was created in the same second may have been too
	 * early.
	 */
	return webhook_since_ns <= 0 || !json_time(pod, "metadata.creationTimestamp", &ns) ||
	       ns <= webhook_since_ns;
}

enum missing_sidecar missing_sidecar_of(const cJSON *pod, const cJSON *cluster, bool excluded,
					int64_t webhook_since_ns)
{
	if (!needs_sidecar(pod))
		return MISSING_NOTHING;
	enum missing_sidecar annotated = by_annotation(pod);
	if (annotated != MISSING_NOTHING)
		return annotated;
	if (opts_out(pod) || opts_out(cluster))
		return MISSING_OPTED_OUT;
	if (excluded)
		return MISSING_EXCLUDED;
	return is_older(pod, webhook_since_ns) ? MISSING_BEFORE_INSTALL : MISSING_MISSED;
}
