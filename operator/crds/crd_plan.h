/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides how to handle a CRD that another Helm release installed, and makes the patch for it.
 * Pure.
 *
 * The chart writes three marks into each CRD: the labels helm.sh/chart and
 * app.kubernetes.io/version, and an annotation with a digest of its spec. By the first a CRD of
 * ours differs from one of KubeRay's, by the second an older from a newer one, and by the third,
 * together with its versions, an equal from a changed one.
 */
#pragma once

#include <cjson/cJSON.h>

enum crd_step {
	CRD_UPGRADE, /* the patch turns it into the wanted CRD */
	CRD_EQUAL, /* it is the wanted CRD */
	CRD_NEWER, /* a newer version of Afterglow wrote it; its fields must not go */
	CRD_FOREIGN, /* not from this chart, for example KubeRay's */
};

/* live is the installed CRD, wanted the chart's CRD of the same name. */
enum crd_step crd_plan(const cJSON *live, const cJSON *wanted);

/*
 * Makes a merge patch that gives live the versions, names and marks of wanted, and leaves the rest
 * to its owner: the annotations by which Helm knows its release, and the conversion. The API server
 * refuses it if somebody else has written meanwhile. The caller owns it; NULL if there is no
 * memory.
 */
cJSON *crd_patch(const cJSON *live, const cJSON *wanted);

/*
 * Returns who wrote live's versions last, by name of the field manager, if that was neither this
 * program nor one that installs releases of the chart, such as Helm and Flux: somebody has changed
 * them by hand. Otherwise NULL. The result is live's. The patch of crd_patch replaces such a change
 * all the same: the operator writes what the chart's schema accepts, and the API server would drop
 * fields that another schema lacks.
 */
const char *crd_changed_by(const cJSON *live);

/*
 * Makes a merge patch after which the API server no longer counts this program among the owners
 * of live's fields (metadata.managedFields). Otherwise a Helm that applies on the server (Helm 4)
 * would refuse the next upgrade of the CRD's own release, as a conflict. Sets *ret_patch to NULL if
 * this program owns no field. Returns 0 or -ENOMEM.
 */
int crd_disown(const cJSON *live, cJSON **ret_patch);
