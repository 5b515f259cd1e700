/* SPDX-License-Identifier: Apache-2.0 */
/* Adds Ray's in-tree autoscaler to a cluster. */
#include "operator/raycluster/autoscaler.h"

#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "operator/kube/object.h"
#include "operator/podspec/pod_spec.h"
#include "operator/raycluster/auth.h"

#define OPTIONS "spec.autoscalerOptions"
#define START_COMMAND \
	"ray kuberay-autoscaler --cluster-name $(RAY_CLUSTER_NAME) --cluster-namespace $(RAY_CLUSTER_NAMESPACE)"
#define LOGS_VOLUME "ray-logs"
#define LOGS_PATH "/tmp/ray"
#define RBAC_API "rbac.authorization.k8s.io/v1"

bool autoscaler_enabled(const cJSON *cluster)
{
	return json_bool(cluster, "spec.enableInTreeAutoscaling", false);
}

static bool has_version(const cJSON *cluster, const char *version)
{
	return autoscaler_enabled(cluster) && json_is(cluster, OPTIONS ".version", version);
}

bool autoscaler_is_v2(const cJSON *cluster)
{
	return has_version(cluster, "v2");
}

/* Returns the head's service account: the template's, or one named after the cluster, in buf. */
static const char *account_of(const cJSON *cluster, char buf[static CUT_NAME_MAX])
{
	const char *own = json_str(cluster, "spec.headGroupSpec.template.spec.serviceAccountName");

	return own && *own ? own : cut_name(json_str(cluster, "metadata.name"), buf);
}

/*
 * --- The container
 * --------------------------------------------------------------------------------------
 */

static void append_all(cJSON *container, const char *name, const cJSON *more)
{
	json_each(item, more)
		json_append(json_array_at(container, name), cJSON_Duplicate(item, true));
}

/* Applies autoscalerOptions: its lists are appended to ours, and its other values replace ours. */
static void apply_options(cJSON *container, const cJSON *options)
{
	static const char *const replaced[] = { "resources",	   "image",   "imagePullPolicy",
						"securityContext", "command", "args" };
	static const char *const added[] = { "env", "envFrom", "volumeMounts" };

	for (size_t i = 0; i < ARRAY_SIZE(replaced); i++) {
		const cJSON *value = cJSON_GetObjectItemCaseSensitive(options, replaced[i]);

		if (value && !cJSON_IsNull(value) && !(cJSON_IsArray(value) && !value->child))
			json_set(container, replaced[i], cJSON_Duplicate(value, true));
	}
	for (size_t i = 0; i < ARRAY_SIZE(added); i++)
		append_all(container, added[i],
			   cJSON_GetObjectItemCaseSensitive(options, added[i]));
}

static cJSON *autoscaler_container_new(const cJSON *cluster, const cJSON *ray, bool login_shell)
{
	cJSON *container = json_named_new(AUTOSCALER_CONTAINER);

	json_set_str(container, "image", json_str(ray, "image"));
	json_set_str(container, "imagePullPolicy", "IfNotPresent");
	container_env_field_default(container, "RAY_CLUSTER_NAME",
				    "metadata.labels['ray.io/cluster']");
	container_env_field_default(container, "RAY_CLUSTER_NAMESPACE", "metadata.namespace");
	container_env_field_default(container, "RAY_HEAD_POD_NAME", "metadata.name");
	container_env_default(container, "KUBERAY_CRD_VER", "v1");
	container_env_default(container, "KUBERAY_GEN_AUTOSCALER_START_CMD", START_COMMAND);
	container_set_shell(container, login_shell);
	json_append(json_array_at(container, "args"), cJSON_CreateString(START_COMMAND));
	container_set_resources(container, "500m", "500m", "512Mi", "512Mi");
	auth_apply_container(cluster, container);
	apply_options(container, json_get(cluster, OPTIONS));
	return container;
}

/* Shares the log directory, because the head reads the events that the autoscaler logs. */
static void share_logs(cJSON *pod_spec, cJSON *ray, cJSON *autoscaler)
{
	const cJSON *mount = json_find(json_get(ray, "volumeMounts"), "mountPath", LOGS_PATH);

	if (mount) {
		container_mount_default(autoscaler, json_str_or(mount, "name", LOGS_VOLUME),
					LOGS_PATH, false);
		return;
	}
	cJSON *volume = json_named_new(LOGS_VOLUME);
	json_object_at(volume, "emptyDir");
	pod_volume_default(pod_spec, volume);
	container_mount_default(ray, LOGS_VOLUME, LOGS_PATH, false);
	container_mount_default(autoscaler, LOGS_VOLUME, LOGS_PATH, false);
}

void autoscaler_apply(const cJSON *cluster, enum ray_node node, const struct policy *policy,
		      cJSON *pod_spec, cJSON *params)
{
	cJSON *ray = ray_container(pod_spec), *container;
	char account[CUT_NAME_MAX];

	if (!autoscaler_enabled(cluster))
		return;
	if (autoscaler_is_v2(cluster))
		json_set_str(pod_spec, "restartPolicy", "Never");
	if (node != RAY_HEAD ||
	    json_find(json_get(pod_spec, "containers"), "name", AUTOSCALER_CONTAINER))
		return;
	/* Ray's own monitor process does not support Kubernetes. */
	json_set_str(params, "no-monitor", "true");
	json_set_str(pod_spec, "serviceAccountName", account_of(cluster, account));
	if (autoscaler_is_v2(cluster))
		container_env_default(ray, "RAY_enable_autoscaler_v2", "true");
	else if (has_version(cluster, "v1"))
		container_env_default(ray, "RAY_enable_autoscaler_v2", "false");
	container = autoscaler_container_new(cluster, ray, policy->login_shell);
	json_append(json_get(pod_spec, "containers"), container);
	share_logs(pod_spec, ray, container);
}

/* --- Its permissions ------------------------------------------------------------------------- */

static cJSON *autoscaler_object_of(const cJSON *cluster, const char *api_version, const char *kind)
{
	const char *name = json_str(cluster, "metadata.name");
	char cut[CUT_NAME_MAX];
	cJSON *object = object_new(api_version, kind, json_str(cluster, "metadata.namespace"),
				   cut_name(name, cut));
	cJSON *metadata = json_get(object, "metadata"),
	      *labels = json_object_at(metadata, "labels");

	json_set_str(labels, "ray.io/cluster", name);
	json_set_str(labels, "app.kubernetes.io/name", "kuberay");
	json_set_str(labels, "app.kubernetes.io/created-by", "kuberay-operator");
	json_set(metadata, "ownerReferences", owner_references(cluster));
	return object;
}

static void autoscaler_add_rule(cJSON *rules, const char *group, const char *resource,
				const char *const *verbs, int n)
{
	cJSON *rule = cJSON_CreateObject();

	json_append(json_array_at(rule, "apiGroups"), cJSON_CreateString(group));
	json_append(json_array_at(rule, "resources"), cJSON_CreateString(resource));
	json_set(rule, "verbs", cJSON_CreateStringArray(verbs, n));
	json_append(rules, rule);
}

cJSON *autoscaler_account(const cJSON *cluster)
{
	const char *own = json_str(cluster, "spec.headGroupSpec.template.spec.serviceAccountName");

	return own && *own ? NULL : autoscaler_object_of(cluster, "v1", "ServiceAccount");
}

/* The autoscaler reads pods, resizes them in place, and writes replicas and workersToDelete. */
cJSON *autoscaler_role(const cJSON *cluster)
{
	static const char *const pods[] = { "get", "list", "watch", "patch" },
				 *const clusters[] = { "get", "patch" },
				 *const resize[] = { "patch" };
	cJSON *object = autoscaler_object_of(cluster, RBAC_API, "Role"),
	      *rules = json_array_at(object, "rules");

	autoscaler_add_rule(rules, "", "pods", pods, ARRAY_SIZE(pods));
	autoscaler_add_rule(rules, "", "pods/resize", resize, ARRAY_SIZE(resize));
	autoscaler_add_rule(rules, "ray.io", "rayclusters", clusters, ARRAY_SIZE(clusters));
	return object;
}

cJSON *autoscaler_binding(const cJSON *cluster)
{
	cJSON *object = autoscaler_object_of(cluster, RBAC_API, "RoleBinding"),
	      *subject = cJSON_CreateObject();
	cJSON *ref = json_object_at(object, "roleRef");
	char cut[CUT_NAME_MAX];

	json_set_str(subject, "kind", "ServiceAccount");
	json_set_str(subject, "name", account_of(cluster, cut));
	json_set_str(subject, "namespace", json_str(cluster, "metadata.namespace"));
	json_append(json_array_at(object, "subjects"), subject);
	json_set_str(ref, "apiGroup", "rbac.authorization.k8s.io");
	json_set_str(ref, "kind", "Role");
	json_set_str(ref, "name", cut_name(json_str(cluster, "metadata.name"), cut));
	return object;
}
