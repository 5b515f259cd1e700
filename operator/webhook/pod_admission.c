/* SPDX-License-Identifier: Apache-2.0 */
/* Decides how the webhook changes a Ray pod. */
#include "operator/webhook/pod_admission.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "operator/injection/inject.h"
#include "operator/injection/inject_annotations.h"
#include "operator/injection/report_key.h"
#include "operator/kube/object.h"
#include "operator/podspec/notes.h"
#include "operator/podspec/pod_spec.h"

/* The name of Ray's container becomes part of a shell command without quotes. */
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"

static bool have_names(const cJSON *containers)
{
	json_each(container, containers) {
		const char *name = json_str(container, "name");

		if (!name || !*name || name[strspn(name, NAME_LETTERS)])
			return false;
	}
	return cJSON_IsArray(containers) && containers->child;
}

static bool is_ray_pod(const cJSON *pod)
{
	return TEXT_IS_ONE_OF(object_label(pod, POD_RAY_LABEL), "yes") &&
	       !*(object_annotation(pod, POD_MIRROR_ANNOTATION) ?: "");
}

bool pod_admission_concerns(const cJSON *pod)
{
	/*
	 * The API server sends a list of containers with names; any other client that reaches the
	 * port may send anything.
	 */
	return have_names(json_get(pod, "spec.containers")) && is_ray_pod(pod);
}

static void pod_admission_annotate(cJSON *pod, const char *name, const char *value)
{
	json_set_str(json_object_at(json_object_at(pod, "metadata"), "annotations"), name, value);
}

static void annotate_outcome(cJSON *pod, const char *reason)
{
	char text[64];

	snprintf(text, sizeof(text), *reason ? "none: %s" : "added", reason);
	pod_admission_annotate(pod, SIDECAR_ANNOTATION, text);
}

static void annotate_sidecar(cJSON *pod, const struct pod_admission *in, const cJSON *notes)
{
	_cleanup_free_ char *text =
		notes_have(notes, NOTE_RECORDING) ? notes_text(notes, NOTE_RECORDING) : NULL;

	pod_annotate_ray_container(json_get(pod, "metadata.annotations"),
				   pod_ray_container_name(pod));
	if (text)
		pod_admission_annotate(pod, SIDECAR_NOTES_ANNOTATION, text);
	if (in->policy_origin)
		pod_admission_annotate(pod, POLICY_ANNOTATION, in->policy_origin);
	report_key_annotate(pod, in->report_key ? in->report_key : "");
}

/* If KubeRay's init container waits for the head, the launcher need not. */
static enum recording record_pod(cJSON *pod, const struct pod_admission *in, cJSON *notes)
{
	const struct recording_request request = {
		.namespace = in->namespace,
		.cluster = object_label(pod, "ray.io/cluster") ?: "",
		.group = object_label(pod, "ray.io/group") ?: "",
		.cluster_annotations = json_get(in->cluster, "metadata.annotations"),
		.pod_annotations = json_get(pod, "metadata.annotations"),
		.policy = in->policy,
		.store_claim_trouble = in->store_claim_trouble,
		.kernel_log_refused = in->kernel_log_refused,
		.rules = in->rules,
		.launchers = in->launchers,
	};

	return recording_apply(json_get(pod, "spec"), &request, notes);
}

/*
 * Returns a temporary reason for leaving the sidecar out; NULL for a pod that would get none in any
 * case.
 */
static const char *absence_name(const cJSON *pod, const struct pod_admission *in)
{
	static const char *const names[] = {
		[POD_ABSENCE_REFUSED] = "Refused",
		[POD_ABSENCE_IMAGE] = "ImageUnavailable",
		[POD_ABSENCE_NO_SHELL] = "NoShell",
	};

	if (!inject_wanted(json_get(in->cluster, "metadata.annotations"),
			   json_get(pod, "metadata.annotations")))
		return NULL;
	return names[in->absence];
}

static const char *pod_admission_change(cJSON *pod, const struct pod_admission *in, cJSON *notes)
{
	const char *reason = absence_name(pod, in);

	if (!reason)
		reason = recording_name(record_pod(pod, in, notes));
	annotate_outcome(pod, reason);
	if (!*reason)
		annotate_sidecar(pod, in, notes);
	return reason;
}

int pod_admit(const cJSON *pod, const struct pod_admission *in, cJSON **ret_pod,
	      const char **ret_reason, struct err *err)
{
	_cleanup_json_ cJSON *notes = cJSON_CreateArray(), *changed = NULL;
	size_t lost = oom_count();

	*ret_pod = NULL;
	if (inject_is_done(json_get(pod, "spec"))) {
		*ret_reason = "Present";
		return 0;
	}
	changed = cJSON_Duplicate(pod, true);
	*ret_reason = pod_admission_change(changed, in, notes);
	if (!notes || !changed || oom_count() != lost)
		return err_set(err, ENOMEM, "pod");
	if (strcmp(*ret_reason, recording_name(RECORDING_OPTED_OUT)) != 0)
		*ret_pod = TAKE_PTR(changed);
	return 0;
}

cJSON *pod_decline(const cJSON *outline, const char *reason)
{
	_cleanup_json_ cJSON *pod = NULL;
	size_t lost = oom_count();

	if (!is_ray_pod(outline) || *(object_annotation(outline, SIDECAR_ANNOTATION) ?: ""))
		return NULL;
	pod = cJSON_Duplicate(outline, true);
	annotate_outcome(pod, reason);
	return oom_count() == lost ? TAKE_PTR(pod) : NULL;
}
