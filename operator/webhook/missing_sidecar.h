/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a Ray pod has no sidecar. The webhook leaves pods alone when it cannot answer (failurePolicy Ignore), so nobody would
 * notice a pod that it missed. Pure; annotations belong to tenants, who deceive only themselves by them.
 */
#ifndef AFTERGLOW_OPERATOR_WEBHOOK_MISSING_SIDECAR_H
#define AFTERGLOW_OPERATOR_WEBHOOK_MISSING_SIDECAR_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* On a pod or a RayCluster: "false" leaves the sidecar out. */
#define INJECT_ANNOTATION "afterglow.dev/inject"
/* On a pod: "none: REASON", which the webhook writes when it decides to leave the sidecar out. */
#define SIDECAR_ANNOTATION "afterglow.dev/sidecar"

enum missing_sidecar {
	MISSING_NOTHING,	/* the pod has the sidecar, or is no Ray pod */
	MISSING_OPTED_OUT,	/* an annotation of the pod or its cluster says so */
	MISSING_EXCLUDED,	/* the namespace's label says so */
	MISSING_NO_COMMAND,	/* the webhook could not tell what the container runs */
	MISSING_REFUSED,	/* the webhook left it out for another reason: quota, a name that is taken */
	MISSING_BEFORE_INSTALL, /* the pod is older than the webhook, or there is no webhook */
	MISSING_MISSED,		/* the webhook was not asked, or its answer did not come in time */
	MISSING_COUNT
};

/* "OptedOut", ...; "" for MISSING_NOTHING. Static. */
const char *missing_sidecar_name(enum missing_sidecar reason);

/*
 * cluster is the pod's RayCluster, NULL when it is not known; excluded whether the namespace is known to be excluded.
 * webhook_since_ns is when the webhook began to answer, as time since 1970; 0: there is none.
 */
enum missing_sidecar missing_sidecar_of(const cJSON *pod, const cJSON *cluster, bool excluded, int64_t webhook_since_ns);

#endif
