/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides how the webhook changes a Ray pod that KubeRay, or anybody else, creates: it adds
 * launcher and sidecar, by the same code as for pods that the operator makes, and annotations that
 * say so, or why not. Containers are only appended: KubeRay takes containers[0] for Ray's. A
 * service mesh may have put its proxy in front of that, so Ray's is found by what it is
 * (pod_spec.h). Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/err.h"
#include "operator/injection/recording.h"
#include "operator/policy/policy.h"

/* On a pod: "added", or "none: REASON" with a name of enum recording or of enum pod_absence. */
#define SIDECAR_ANNOTATION "afterglow.dev/sidecar"
/* On a pod that has the sidecar: the limits of the sidecar there, in a sentence or two. */
#define SIDECAR_NOTES_ANNOTATION "afterglow.dev/sidecar-notes"
/* A Ray pod has this label with the value "yes"; the mirror of a static pod has this annotation. */
#define POD_RAY_LABEL "ray.io/is-ray-node"
#define POD_MIRROR_ANNOTATION "kubernetes.io/config.mirror"

/* Why a pod goes without the sidecar that it could have. */
enum pod_absence {
	POD_ABSENCE_NONE,
	/* the API server refused the pods of this group that had it (refusals.h) */
	POD_ABSENCE_REFUSED,
	POD_ABSENCE_IMAGE, /* its image cannot be pulled in this namespace (image_trouble.h) */
	/* the Ray container's image has no shell for our line (shell_trouble.h) */
	POD_ABSENCE_NO_SHELL,
};

struct pod_admission {
	/* of the request, because the pod itself may not have it */
	const char *namespace;
	const cJSON *cluster; /* its RayCluster; NULL: not known */
	const struct policy *policy; /* for this cluster */
	/* for the annotation afterglow.dev/policy; NULL: the operator's own settings alone */
	const char *policy_origin;
	const char *store_claim_trouble; /* as in struct recording_request */
	const char *kernel_log_refused;
	struct limit_rules rules;
	const struct launchers *launchers; /* NULL: there are none */
	const char *report_key; /* for a pod that gets the sidecar (report_key.h); NULL: none */
	enum pod_absence absence; /* POD_ABSENCE_NONE: it is to have the sidecar */
};

/*
 * Returns whether the webhook handles the pod: a Ray pod that is not the mirror of a static
 * pod.
 */
bool pod_admission_concerns(const cJSON *pod);

/*
 * ret_pod is the changed pod (the caller owns it), NULL for no change: it opted out, or has the
 * sidecar already. ret_reason is static: "" if the sidecar was added, "Present", or why it was not
 * added.
 */
int pod_admit(const cJSON *pod, const struct pod_admission *in, cJSON **ret_pod,
	      const char **ret_reason, struct err *err);

/*
 * Does the same for a pod of which only an outline was read (review_outline.h), because the whole
 * would cost too much: it gets no sidecar, and the annotation has the reason. Returns NULL for no
 * change: it is no Ray pod, has the annotation of an earlier call, or there is no memory.
 */
cJSON *pod_decline(const cJSON *outline, const char *reason);
