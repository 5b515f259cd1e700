/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a pod that the operator keeps. */
#include "operator/cache/pod_fields.h"

#include <stddef.h>
#include <string.h>

#include "lib/json.h"
#include "lib/sidecar_names.h"
#include "operator/kube/projection.h"

const char *const pod_fields[] = {
	PROJECTION_IDENTITY,
	"metadata.creationTimestamp",
	"metadata.deletionTimestamp",
	"metadata.deletionGracePeriodSeconds",
	"metadata.labels",
	/* Network plugins and others write kilobytes beside ours. */
	"metadata.annotations.ray.io/*",
	"metadata.annotations.afterglow.dev/*",
	"metadata.ownerReferences",
	"spec.nodeName",
	"spec.volumes.configMap.items.key", /* to recognise launchers */
	"spec.restartPolicy",
	"spec.terminationGracePeriodSeconds",
	"spec.containers.name",
	"spec.containers.image", /* for images without a shell */
	"spec.containers.resources",
	"spec.containers.ports",
	"spec.hostNetwork",
	"spec.initContainers.name",
	"spec.initContainers.restartPolicy",
	"spec.initContainers.resources.limits.memory", /* for advice */
	"spec.readinessGates.conditionType",
	"status.phase",
	"status.reason",
	"status.message",
	"status.podIP",
	"status.startTime",
	"status.conditions.type",
	"status.conditions.status",
	"status.conditions.reason",
	"status.conditions.message",
	"status.initContainerStatuses.name",
	"status.initContainerStatuses.ready",
	"status.initContainerStatuses.restartCount",
	"status.initContainerStatuses.containerID",
	"status.initContainerStatuses.state",
	"status.initContainerStatuses.lastState",
	"status.containerStatuses.name",
	"status.containerStatuses.ready",
	"status.containerStatuses.started",
	"status.containerStatuses.restartCount",
	"status.containerStatuses.containerID",
	"status.containerStatuses.state",
	"status.containerStatuses.lastState",
	NULL,
};

static const char *const short_fields[] = {
	PROJECTION_IDENTITY,
	"metadata.creationTimestamp",
	"metadata.deletionTimestamp",
	"metadata.deletionGracePeriodSeconds",
	/* this, the name and the identifier: of a head's service */
	"metadata.labels.app.kubernetes.io/created-by",
	"metadata.labels.app.kubernetes.io/name",
	"metadata.labels.ray.io/cluster",
	"metadata.labels.ray.io/group",
	"metadata.labels.ray.io/identifier",
	"metadata.labels.ray.io/is-ray-node",
	"metadata.labels.ray.io/node-type",
	"metadata.labels.ray.io/replica-host-index",
	"metadata.labels.ray.io/worker-group-replica-index",
	"metadata.labels.ray.io/worker-group-replica-name",
	"metadata.annotations.afterglow.dev/adopted",
	"metadata.annotations.afterglow.dev/inject",
	"metadata.annotations.afterglow.dev/owner",
	"metadata.annotations.afterglow.dev/ray-container",
	"metadata.annotations.afterglow.dev/recreate-hash",
	"metadata.annotations.afterglow.dev/report-key",
	"metadata.annotations.afterglow.dev/sidecar",
	"metadata.annotations.afterglow.dev/sidecar-refused",
	"metadata.annotations.ray.io/ft-enabled",
	"metadata.annotations.ray.io/kuberay-version",
	"metadata.ownerReferences",
	"spec.nodeName",
	"spec.volumes.configMap.items.key",
	"spec.restartPolicy",
	"spec.terminationGracePeriodSeconds",
	"spec.containers.name",
	"spec.containers.image",
	"spec.containers.resources.limits.memory",
	"spec.containers.ports",
	"spec.hostNetwork",
	"spec.initContainers.name",
	"spec.initContainers.restartPolicy",
	"spec.initContainers.resources.limits.memory",
	"spec.readinessGates.conditionType",
	NULL,
};

/* The other volumes are empty after the projection, and ours is the last one. */
static bool is_empty_object(const cJSON *item)
{
	return cJSON_IsObject(item) && !item->child;
}

static void shorten_below(cJSON *value, size_t text_max)
{
	cJSON *next;
	size_t n = 0;

	for (cJSON *child = value->child; child; child = next) {
		next = child->next;
		if ((cJSON_IsArray(value) &&
		     (is_empty_object(child) || n++ >= POD_SHORT_ITEMS_MAX) &&
		     !json_is(child, "name", SIDECAR_CONTAINER)) ||
		    (cJSON_IsString(child) && strlen(child->valuestring) > text_max))
			cJSON_Delete(cJSON_DetachItemViaPointer(value, child));
		else
			shorten_below(child, text_max);
	}
}

bool pod_shorten(cJSON *pod, bool always)
{
	cJSON *status;

	if (!always && cJSON_GetArraySize(json_get(pod, "spec.containers")) +
				       cJSON_GetArraySize(json_get(pod, "spec.initContainers")) <=
			       POD_CONTAINERS_MAX)
		return false;
	status = cJSON_DetachItemFromObjectCaseSensitive(pod, "status");
	project(pod, short_fields);
	shorten_below(pod, POD_SHORT_TEXT_MAX);
	if (!status)
		return true;
	shorten_below(status, POD_SHORT_STATUS_MAX);
	cJSON_AddItemToObject(pod, "status", status);
	return true;
}
