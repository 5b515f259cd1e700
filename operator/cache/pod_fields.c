/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a pod that the operator keeps. */
#include "operator/cache/pod_fields.h"

#include <stddef.h>

const char *const pod_fields[] = {
	"apiVersion",
	"kind",
	"metadata.name",
	"metadata.namespace",
	"metadata.uid",
	"metadata.resourceVersion",
	"metadata.creationTimestamp",
	"metadata.deletionTimestamp",
	"metadata.deletionGracePeriodSeconds",
	"metadata.finalizers",
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
