/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out why a Ray pod has no sidecar. If the webhook cannot answer, pods are admitted unchanged
 * (failurePolicy Ignore), so a pod that it missed would go unnoticed. Pure. Annotations belong to
 * tenants, who deceive only themselves with them.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

enum missing_sidecar {
	MISSING_NOTHING, /* the pod has the sidecar, or is not a Ray pod */
	MISSING_OPTED_OUT, /* an annotation of the pod or its cluster turns it off */
	MISSING_EXCLUDED, /* the namespace's label turns it off */
	/* The webhook's own reasons (injection/recording.h, pod_admission.h). */
	MISSING_NO_RAY_CONTAINER,
	MISSING_NO_COMMAND,
	MISSING_MUST_BE_PROCESS_1,
	MISSING_NAME_TAKEN,
	MISSING_WINDOWS,
	MISSING_NOT_CONFIGURED,
	MISSING_POLICY_OFF,
	MISSING_IMAGE_UNAVAILABLE,
	MISSING_TOO_LARGE,
	MISSING_TOO_MANY,
	MISSING_NO_SHELL,
	/* the API server refused pods that had it; or a reason that a later version gave */
	MISSING_REFUSED,
	/* What the webhook writes into no annotation. */
	MISSING_BEFORE_INSTALL, /* the pod is older than the webhook, or there is no webhook */
	MISSING_MISSED, /* the webhook was not asked, or its answer did not come in time */
	MISSING_COUNT
};

/* Returns "OptedOut", ...; "" for MISSING_NOTHING. Static. */
const char *missing_sidecar_name(enum missing_sidecar reason);

/*
 * cluster is the pod's RayCluster, NULL when it is not known; excluded whether the namespace is
 * known to be excluded. webhook_since_ns is when the webhook began to answer, as time since 1970;
 * 0: there is none.
 */
enum missing_sidecar missing_sidecar_of(const cJSON *pod, const cJSON *cluster, bool excluded,
					int64_t webhook_since_ns);
