/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the state of an observed Ray pod. */
#include "operator/raycluster/pod_state.h"

#include <string.h>

#include "lib/json.h"
#include "lib/sidecar_names.h"
#include "operator/kube/object.h"
#include "operator/podspec/pod_spec.h"
#include "operator/raycluster/names.h"

const char *pod_label(const cJSON *pod, const char *name)
{
	const char *text = object_label(pod, name);

	return text ? text : "";
}

bool pod_is_owned(const cJSON *pod, const char *cluster_uid)
{
	return json_is(object_controller(pod), "uid", cluster_uid ? cluster_uid : "");
}

bool object_is_of_cluster(const cJSON *object, const cJSON *cluster)
{
	const cJSON *owner = object_controller(object);
	const char *uid =
		owner ? json_str(owner, "uid") : object_annotation(object, CLUSTER_UID_ANNOTATION);

	return json_is(cluster, "metadata.uid", uid) ||
	       (json_is(owner, "kind", "RayCluster") &&
		json_is(cluster, "metadata.name", json_str(owner, "name")));
}

/* Either label may have been removed. No group of workers has this name. */
bool pod_is_head(const cJSON *pod)
{
	return strcmp(pod_label(pod, "ray.io/node-type"), "head") == 0 ||
	       strcmp(pod_group(pod), HEAD_GROUP_NAME) == 0;
}

const char *pod_group(const cJSON *pod)
{
	return pod_label(pod, "ray.io/group");
}

bool pod_is_terminating(const cJSON *pod)
{
	return json_str(pod, "metadata.deletionTimestamp") != NULL;
}

int64_t pod_termination_ns(const cJSON *pod)
{
	int64_t ns;

	return json_time(pod, "metadata.deletionTimestamp", &ns) ? ns : 0;
}

bool pod_is_stranded(const cJSON *pod)
{
	const cJSON *target =
		json_find(json_get(pod, "status.conditions"), "type", "DisruptionTarget");

	return pod_is_terminating(pod) && (json_is(pod, "status.reason", "NodeLost") ||
					   json_is(target, "reason", "DeletionByTaintManager"));
}

bool pod_is_running(const cJSON *pod)
{
	return json_is(pod, "status.phase", "Running");
}

static const cJSON *ray_status(const cJSON *pod)
{
	const char *name = pod_ray_container_name(pod);

	return name ? json_find(json_get(pod, "status.containerStatuses"), "name", name) : NULL;
}

static bool is_ready_in(const cJSON *pod, const char *statuses, const cJSON *container)
{
	const char *name = json_str(container, "name");

	return name && json_bool(json_find(json_get(pod, statuses), "name", name), "ready", false);
}

/* Init containers that stay (native sidecars) count in a pod's readiness, too. */
static bool all_but_the_sidecar_are_ready(const cJSON *pod)
{
	json_each(item, json_get(pod, "spec.containers"))
		if (!json_is(item, "name", SIDECAR_CONTAINER) &&
		    !is_ready_in(pod, "status.containerStatuses", item))
			return false;
	json_each(item, json_get(pod, "spec.initContainers"))
		if (json_is(item, "restartPolicy", "Always") &&
		    !is_ready_in(pod, "status.initContainerStatuses", item))
			return false;
	json_each(item, json_get(pod, "spec.readinessGates"))
		if (!object_condition_is_true(pod, json_str(item, "conditionType")))
			return false;
	return true;
}

/*
 * The kubelet's condition Ready decides, because a lost node takes it away from pods with
 * containers that were ready. Only while the sidecar is not ready, the condition may be about the
 * sidecar: then the statuses of the other containers decide.
 */
bool pod_is_ready(const cJSON *pod)
{
	const cJSON *sidecar =
		json_find(json_get(pod, "status.containerStatuses"), "name", SIDECAR_CONTAINER);

	if (!pod_is_running(pod))
		return false;
	if (object_condition_is_true(pod, "Ready"))
		return true;
	if (json_find(json_get(pod, "status.conditions"), "type", "Ready") &&
	    (!sidecar || json_bool(sidecar, "ready", false)))
		return false;
	return all_but_the_sidecar_are_ready(pod);
}

const cJSON *pod_unready_container(const cJSON *pod)
{
	json_each(item, json_get(pod, "status.containerStatuses"))
		if (!json_is(item, "name", SIDECAR_CONTAINER) && !json_bool(item, "ready", false))
			return item;
	return NULL;
}

bool pod_is_dead(const cJSON *pod)
{
	const cJSON *ended = json_get(ray_status(pod), "state.terminated");

	if (json_is(pod, "status.phase", "Failed") || json_is(pod, "status.phase", "Succeeded"))
		return true;
	if (!pod_is_running(pod) || !cJSON_IsObject(ended))
		return false;
	return json_is(pod, "spec.restartPolicy", "Never") ||
	       (json_is(pod, "spec.restartPolicy", "OnFailure") &&
		json_int(ended, "exitCode", -1) == 0);
}

int64_t pod_completed_ns(const cJSON *pod)
{
	const cJSON *ended = json_get(ray_status(pod), "state.terminated");
	int64_t ns;

	return json_int(ended, "exitCode", -1) == 0 && json_time(ended, "finishedAt", &ns) ? ns : 0;
}
