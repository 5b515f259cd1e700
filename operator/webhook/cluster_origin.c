/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out which tool wrote a RayCluster. */
#include "operator/webhook/cluster_origin.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "operator/kube/object.h"

#define ARGO_CD_USER "argocd-application-controller"
#define FIELD_MANAGERS_MAX 256

/*
 * Returns whether KubeRay made the cluster for a RayJob or RayService, so that no other tool
 * compares it.
 */
static bool is_kuberays(const cJSON *cluster)
{
	const cJSON *owner = object_controller(cluster);

	return object_label(cluster, "ray.io/originated-from-crd") ||
	       (text_begins_with(json_str(owner, "apiVersion"), "ray.io/") &&
		TEXT_IS_ONE_OF(json_str(owner, "kind"), "RayJob", "RayService", "RayCronJob"));
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = text ? strlen(text) : 0, n = strlen(end);

	return len >= n && strcmp(text + len - n, end) == 0;
}

/*
 * Returns whether it is Argo CD's. app.kubernetes.io/instance is its default label, but every Helm
 * chart sets that label, too.
 */
static bool is_argo_cds(const cJSON *cluster, const char *user)
{
	return object_annotation(cluster, "argocd.argoproj.io/tracking-id") ||
	       object_label(cluster, "argocd.argoproj.io/instance") ||
	       (object_label(cluster, "app.kubernetes.io/instance") &&
		ends_with(user, ARGO_CD_USER));
}

static bool is_applied(const cJSON *cluster)
{
	int n = 0;

	json_each(entry, json_get(cluster, "metadata.managedFields")) {
		if (n++ == FIELD_MANAGERS_MAX)
			break;
		if (json_is(entry, "operation", "Apply") &&
		    json_get(entry, "fieldsV1.f:spec.f:workerGroupSpecs"))
			return true;
	}
	return false;
}

enum list_keeper cluster_list_keeper(const cJSON *cluster, const char *user)
{
	if (is_kuberays(cluster))
		return LISTS_FREE;
	if (is_argo_cds(cluster, user))
		return LISTS_ARGO_CD;
	if (is_applied(cluster))
		return LISTS_APPLIED;
	return json_is(cluster, "spec.upgradeStrategy.type", "Recreate") ? LISTS_RECREATE :
									   LISTS_FREE;
}

const char *list_keeper_reason(enum list_keeper keeper)
{
	static const char *const reasons[] = {
		[LISTS_FREE] = "",
		[LISTS_ARGO_CD] = "Argo CD compares worker groups",
		[LISTS_APPLIED] = "server-side apply owns worker groups",
		[LISTS_RECREATE] = "upgradeStrategy is Recreate",
	};

	return reasons[keeper];
}

bool cluster_runs_elsewhere(const cJSON *spec)
{
	return json_str(spec, "managedBy") &&
	       !json_is(spec, "managedBy", "ray.io/kuberay-operator");
}

/*
 * Returns whether the group's pods have no CPUs, so that tasks, which want one by default, cannot
 * run there.
 */
static bool has_no_cpus(const cJSON *group)
{
	const char *cpus = json_str(json_get(group, "rayStartParams"), "num-cpus");

	json_each(item, json_get(group, "resources"))
		if (item->string && strcasecmp(item->string, "cpu") == 0)
			cpus = cJSON_GetStringValue(item);
	return cpus && strcmp(cpus, "0") == 0;
}

static bool may_run_tasks(const cJSON *group, bool autoscaling)
{
	int64_t most = json_int(group, "maxReplicas", INT32_MAX),
		least = json_int(group, "minReplicas", 0);

	if (json_bool(group, "suspend", false) || most <= 0 ||
	    json_int(group, "numOfHosts", 1) <= 0 || has_no_cpus(group))
		return false;
	return autoscaling || MAX(json_int(group, "replicas", 0), least) > 0;
}

bool cluster_head_runs_tasks(const cJSON *spec)
{
	bool autoscaling = json_bool(spec, "enableInTreeAutoscaling", false);
	const cJSON *groups = json_get(spec, "workerGroupSpecs");

	if (!cJSON_IsArray(groups))
		return true;
	json_each(group, groups)
		if (may_run_tasks(group, autoscaling))
			return false;
	return true;
}
