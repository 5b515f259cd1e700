/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether Ray pods may mount the store's claim. */
#include "operator/podspec/store_claim.h"

#include "lib/json.h"
#include "lib/units.h"
#include "operator/kube/object.h"

#define ON_ITS_WAY_NS (60 * NS_PER_SEC)

/*
 * Returns whether the volume is created independently of pods: no class waits for a pod, or a
 * provisioner was asked already without the node of a pod.
 */
static bool is_bound_without_pods(const cJSON *claim)
{
	const char *class = json_str(claim, "spec.storageClassName");

	if (!class || !*class)
		return true;
	return !object_annotation(claim, "volume.kubernetes.io/selected-node") &&
	       (object_annotation(claim, "volume.kubernetes.io/storage-provisioner") ||
		object_annotation(claim, "volume.beta.kubernetes.io/storage-provisioner"));
}

const char *store_claim_trouble(const cJSON *claim, int64_t now_ns)
{
	int64_t created_ns;

	if (!claim)
		return "does not exist";
	if (json_str(claim, "metadata.deletionTimestamp"))
		return "is being deleted";
	if (json_is(claim, "status.phase", "Lost"))
		return "has lost its volume";
	if (json_is(claim, "status.phase", "Pending") && is_bound_without_pods(claim) &&
	    json_time(claim, "metadata.creationTimestamp", &created_ns) &&
	    now_ns - created_ns > ON_ITS_WAY_NS)
		return "waits for a volume (kubectl describe pvc shows why)";
	return NULL;
}
