/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether the RayCluster is valid, and whether this version supports everything that it asks
 * for.
 */
#include "operator/raycluster/validate.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "operator/kube/object.h"
#include "operator/kube/salvage.h"
#include "operator/podspec/notes.h"
#include "operator/podspec/pod_spec.h"
#include "operator/raycluster/auth.h"
#include "operator/raycluster/autoscaler.h"
#include "operator/raycluster/bounds.h"
#include "operator/raycluster/gcs_ft.h"
#include "operator/raycluster/names.h"
#include "operator/raycluster/upgrade.h"

/* Leaves room for "-head-svc" and the pods' suffixes within 63 characters */
#define CLUSTER_NAME_MAX 53
#define FT_OPTIONS "gcsFaultToleranceOptions"
#define GROUP_NAME_MAX 63 /* it becomes a label's value */

#define invalid(notes, ...) notes_addf(notes, NOTE_SPEC_VALID, "InvalidRayClusterSpec", __VA_ARGS__)

static bool is_dns_1035(const char *s, size_t max)
{
	size_t len = strlen(s);

	if (!len || len > max || !islower((unsigned char)s[0]) || s[len - 1] == '-')
		return false;
	return strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

/*
 * Checks a name that becomes part of a pod's name, where upper case is lowered, and a label's
 * value.
 */
static bool is_group_name(const char *s)
{
	size_t len = strlen(s);

	if (!len || len > GROUP_NAME_MAX || !isalnum((unsigned char)s[0]) ||
	    !isalnum((unsigned char)s[len - 1]))
		return false;
	return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") == len;
}

/* Returns whether Kubernetes accepts text as a part of a label's key or as its value. */
static bool is_label_text(const char *s, size_t len)
{
	if (len > 63 ||
	    (len && (!isalnum((unsigned char)s[0]) || !isalnum((unsigned char)s[len - 1]))))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("-_.", s[i]))
			return false;
	return true;
}

static bool is_label_key(const char *s)
{
	const char *slash = strchr(s, '/'), *name = slash ? slash + 1 : s;

	if (slash && (slash == s || slash - s > 253 ||
		      strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-.") != (size_t)(slash - s)))
		return false;
	return *name && is_label_text(name, strlen(name));
}

static void check_labels(const cJSON *group, const char *name, cJSON *notes)
{
	json_each(label, json_get(group, "labels")) {
		const char *value = cJSON_GetStringValue(label);

		if (!is_label_key(label->string))
			invalid(notes,
				"group %s: labels: \"%.80s\" is not a valid key: after an optional DNS name and \"/\", a key has 1 to 63 "
				"letters, digits, \"-\", \"_\" and \".\", and begins and ends with a letter or digit",
				name, label->string);
		if (value && !is_label_text(value, strlen(value)))
			invalid(notes,
				"group %s: labels: \"%.80s\" is not a valid value of %.80s: a value has at most 63 letters, digits, \"-\", \"_\" and "
				"\".\", and begins and ends with a letter or digit",
				name, value, label->string);
	}
}

static void check_start_params(const cJSON *group, const char *name, cJSON *notes)
{
	static const char *const logical[] = { "num-cpus", "num-gpus", "memory", "resources" };
	const cJSON *params = json_get(group, "rayStartParams"),
		    *resources = json_get(group, "resources");

	if (json_get(params, "labels"))
		invalid(notes,
			"group %s: rayStartParams.labels is not allowed: use the group's labels",
			name);
	if (!resources || !resources->child)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(logical); i++)
		if (json_get(params, logical[i]))
			invalid(notes,
				"group %s: both resources and rayStartParams.%s are set: use one of them",
				name, logical[i]);
}

static void check_group(const cJSON *group, const char *name, bool fault_tolerant, cJSON *notes)
{
	const cJSON *ray = ray_container(json_get(group, "template.spec"));

	if (!ray) {
		invalid(notes, "group %s: the template needs at least one container", name);
		return;
	}
	if (!json_str(ray, "name") || !json_str(ray, "image"))
		invalid(notes, "group %s: the first container needs a name and an image", name);
	check_start_params(group, name, notes);
	check_labels(group, name, notes);
	if (container_env(ray, "RAY_REDIS_ADDRESS") && !fault_tolerant)
		invalid(notes,
			"group %s: RAY_REDIS_ADDRESS is set without GCS fault tolerance: use spec." FT_OPTIONS
			".redisAddress",
			name);
}

static void check_replicas(const cJSON *group, const char *name, cJSON *notes)
{
	int64_t min = json_int(group, "minReplicas", 0),
		max = json_int(group, "maxReplicas", INT32_MAX);

	if (min < 0 || max < 0 || json_int(group, "replicas", 0) < 0)
		invalid(notes,
			"group %s: replicas, minReplicas and maxReplicas must not be negative",
			name);
	else if (min > max)
		invalid(notes, "group %s: minReplicas %" PRId64 " is above maxReplicas %" PRId64,
			name, min, max);
	if (json_int(group, "numOfHosts", 1) < 0)
		invalid(notes, "group %s: numOfHosts must not be negative", name);
}

static bool name_seen_before(const cJSON *groups, const cJSON *group, const char *name)
{
	json_each(other, groups) {
		if (other == group)
			return false;
		if (json_is(other, "groupName", name))
			return true;
	}
	return false;
}

static void check_workers(const cJSON *groups, bool fault_tolerant, cJSON *notes)
{
	json_each(group, groups) {
		const char *name = group_name(RAY_WORKER, group);

		if (!is_group_name(name) || strcmp(name, HEAD_GROUP_NAME) == 0)
			invalid(notes,
				"groupName \"%.80s\" is not a valid name: a worker group's name has 1 to %d letters, digits, \"-\" and \".\", begins "
				"and ends with a letter or digit, and is not " HEAD_GROUP_NAME,
				name, GROUP_NAME_MAX);
		else if (name_seen_before(groups, group, name))
			invalid(notes, "two worker groups are called %s", name);
		check_group(group, name, fault_tolerant, notes);
		check_replicas(group, name, notes);
	}
}

static bool env_is_true(const cJSON *container, const char *name)
{
	const char *value = json_str(container_env(container, name), "value");

	return TEXT_IS_ONE_OF(value, "true", "1");
}

static bool has_param(const cJSON *group, const char *name)
{
	const char *value = json_member(json_get(group, "rayStartParams"), name);

	return value && *value;
}

/*
	 * A setting that gcsFaultToleranceOptions has must not be set elsewhere, too, because one
	 * of the two would be ignored.
	 */
static void check_redis(const cJSON *cluster, const cJSON *head, const cJSON *ray, cJSON *notes)
{
	if (object_annotation(cluster, "ray.io/ft-enabled"))
		invalid(notes, "both the annotation ray.io/ft-enabled and spec." FT_OPTIONS
			       " are set: use the latter");
	if (object_annotation(cluster, "ray.io/external-storage-namespace"))
		invalid(notes,
			"both the annotation ray.io/external-storage-namespace and spec." FT_OPTIONS
			" are set: use " FT_OPTIONS ".externalStorageNamespace");
	if (has_param(head, "redis-password") || container_env(ray, "REDIS_PASSWORD"))
		invalid(notes, "the head sets the password of Redis itself: use " FT_OPTIONS
			       ".redisPassword");
	if (container_env(ray, "RAY_REDIS_ADDRESS"))
		invalid(notes,
			"the head sets RAY_REDIS_ADDRESS itself: use " FT_OPTIONS ".redisAddress");
}

static void check_rocksdb(const cJSON *options, const cJSON *ray, const cJSON *volumes,
			  cJSON *notes)
{
	static const char *const redis_only[] = { "redisAddress", "redisUsername", "redisPassword",
						  "externalStorageNamespace" };
	const cJSON *storage = json_get(options, "storage");
	const char *claim = json_str(storage, "claimName");

	for (size_t i = 0; i < ARRAY_SIZE(redis_only); i++)
		if (json_get(options, redis_only[i]))
			invalid(notes, FT_OPTIONS ".%s may not be set with backend rocksdb",
				redis_only[i]);
	if (claim && *claim &&
	    (json_get(storage, "size") || json_get(storage, "storageClassName") ||
	     json_get(storage, "accessModes")))
		invalid(notes, FT_OPTIONS
			".storage: claimName names a claim that exists, so size, storageClassName and "
			"accessModes have no use");
	if (container_env(ray, "RAY_gcs_storage") || container_env(ray, "RAY_gcs_storage_path"))
		invalid(notes,
			"the head sets RAY_gcs_storage or RAY_gcs_storage_path, which backend rocksdb sets itself: remove it");
	if (json_find(volumes, "name", GCS_FT_VOLUME) ||
	    json_find(json_get(ray, "volumeMounts"), "mountPath", GCS_FT_PATH))
		invalid(notes, "the head has a volume " GCS_FT_VOLUME " or a mount at " GCS_FT_PATH
			       ", which backend rocksdb makes itself: remove it");
}

static void check_fault_tolerance(const cJSON *cluster, cJSON *notes)
{
	const cJSON *options = json_get(cluster, "spec." FT_OPTIONS),
		    *head = json_get(cluster, "spec.headGroupSpec");
	const cJSON *ray = ray_container(json_get(head, "template.spec"));

	if (has_param(head, "redis-username") || container_env(ray, "REDIS_USERNAME"))
		invalid(notes,
			"the head sets the user of Redis itself: use " FT_OPTIONS ".redisUsername");
	if (!cJSON_IsObject(options))
		return;
	check_redis(cluster, head, ray, notes);
	if (gcs_ft_is_rocksdb(cluster))
		check_rocksdb(options, ray, json_get(head, "template.spec.volumes"), notes);
	else if (json_get(options, "storage"))
		invalid(notes, FT_OPTIONS ".storage may only be set with backend rocksdb");
	else if (!json_str(options, "redisAddress"))
		invalid(notes, FT_OPTIONS
			".redisAddress is missing: set the address of Redis, such as redis:6379");
}

static void check_never_restarts(const cJSON *group, const char *name, cJSON *notes)
{
	const char *restart = json_str(group, "template.spec.restartPolicy");

	if (restart && *restart && strcmp(restart, "Never") != 0)
		invalid(notes,
			"group %s: autoscaler v2 needs restartPolicy Never (or none), not %s", name,
			restart);
}

/* Checks a cluster with the autoscaler on. */
static void check_autoscaled(const cJSON *cluster, const cJSON *head_ray, cJSON *notes)
{
	if (json_str(cluster, "spec.autoscalerOptions.version") &&
	    container_env(head_ray, "RAY_enable_autoscaler_v2"))
		invalid(notes,
			"both autoscalerOptions.version and the head's RAY_enable_autoscaler_v2 are set: use the former");
	if (autoscaler_is_v2(cluster))
		check_never_restarts(json_get(cluster, "spec.headGroupSpec"), HEAD_GROUP_NAME,
				     notes);
	json_each(group, json_get(cluster, "spec.workerGroupSpecs")) {
		if (autoscaler_is_v2(cluster))
			check_never_restarts(group, group_name(RAY_WORKER, group), notes);
		if (json_bool(group, "suspend", false))
			invalid(notes,
				"group %s: a group cannot be suspended while the autoscaler is on",
				group_name(RAY_WORKER, group));
	}
}

/* Returns whether the options of autoscaler version 2 are allowed, whether it is on or not. */
static bool names_autoscaler_v2(const cJSON *cluster, const cJSON *head_ray)
{
	return json_is(cluster, "spec.autoscalerOptions.version", "v2") ||
	       env_is_true(head_ray, "RAY_enable_autoscaler_v2");
}

static void check_idle_timeouts(const cJSON *cluster, const cJSON *head_ray, cJSON *notes)
{
	bool is_v2 = names_autoscaler_v2(cluster, head_ray);

	json_each(group, json_get(cluster, "spec.workerGroupSpecs")) {
		const char *name = group_name(RAY_WORKER, group);

		if (json_int(group, "idleTimeoutSeconds", 0) < 0)
			invalid(notes, "group %s: idleTimeoutSeconds must not be negative", name);
		else if (json_get(group, "idleTimeoutSeconds") && !is_v2)
			invalid(notes,
				"group %s: idleTimeoutSeconds needs autoscalerOptions.version v2",
				name);
	}
}

static void check_autoscaler(const cJSON *cluster, cJSON *notes)
{
	const cJSON *options = json_get(cluster, "spec.autoscalerOptions");
	const cJSON *ray = ray_container(json_get(cluster, "spec.headGroupSpec.template.spec"));

	if (json_int(options, "idleTimeoutSeconds", 0) < 0)
		invalid(notes, "autoscalerOptions.idleTimeoutSeconds must not be negative");
	if (json_find(json_get(options, "env"), "name", "KUBERAY_GEN_AUTOSCALER_START_CMD"))
		invalid(notes,
			"autoscalerOptions.env must not set KUBERAY_GEN_AUTOSCALER_START_CMD");
	check_idle_timeouts(cluster, ray, notes);
	if (autoscaler_enabled(cluster))
		check_autoscaled(cluster, ray, notes);
	else if (env_is_true(ray, "RAY_enable_autoscaler_v2"))
		invalid(notes,
			"RAY_enable_autoscaler_v2 is set while enableInTreeAutoscaling is not");
}

static bool version_at_least(const char *version, long major, long minor)
{
	char *end;
	long have = version ? strtol(version, &end, 10) : 0;

	if (!version || end == version)
		return false;
	return have > major || (have == major && *end == '.' && strtol(end + 1, NULL, 10) >= minor);
}

static void check_auth(const cJSON *cluster, cJSON *notes)
{
	const char *version = json_str(cluster, "spec.rayVersion"),
		   *mode = json_str(cluster, "spec.authOptions.mode");

	if (!auth_enabled(cluster)) {
		if (mode && strcmp(mode, "disabled") != 0)
			invalid(notes, "authOptions: mode must be token or disabled, not %.40s",
				mode);
		else if (auth_by_kubernetes(cluster))
			invalid(notes, "authOptions: enableK8sTokenAuth needs mode token");
		return;
	}
	if (!version_at_least(version, 2, 52))
		invalid(notes,
			"authOptions: token authentication needs rayVersion 2.52.0 or later, not %.40s",
			version ? version : "none");
	else if (auth_by_kubernetes(cluster) && !version_at_least(version, 2, 55))
		invalid(notes,
			"authOptions: enableK8sTokenAuth needs rayVersion 2.55.0 or later, not %.40s",
			version);
	if (auth_by_kubernetes(cluster) && json_str(cluster, "spec.authOptions.secretName"))
		invalid(notes, "authOptions: enableK8sTokenAuth and secretName exclude each other");
}

/* Ray reads priorities since 2.56, and only version 2 of its autoscaler does. */
static void check_priorities(const cJSON *cluster, cJSON *notes)
{
	const cJSON *ray = ray_container(json_get(cluster, "spec.headGroupSpec.template.spec"));
	const char *version = json_str(cluster, "spec.rayVersion");

	json_each(group, json_get(cluster, "spec.workerGroupSpecs")) {
		if (json_int(group, "priority", 0) == 0)
			continue;
		if (!version_at_least(version, 2, 56))
			invalid(notes,
				"group %s: priority needs rayVersion 2.56.0 or later, not %.40s",
				group_name(RAY_WORKER, group), version ? version : "none");
		else if (!names_autoscaler_v2(cluster, ray))
			invalid(notes, "group %s: priority needs autoscalerOptions.version v2",
				group_name(RAY_WORKER, group));
	}
}

static void check_service(const cJSON *cluster, cJSON *notes)
{
	const char *type = json_str(cluster, "spec.headGroupSpec.serviceType");

	if (type && *type && !TEXT_IS_ONE_OF(type, "ClusterIP", "NodePort", "LoadBalancer"))
		invalid(notes,
			"headGroupSpec.serviceType must be ClusterIP, NodePort or LoadBalancer, not %.40s",
			type);
}

/*
 * Without these settings the cluster would run, but open to everybody, without the sidecar, or in
 * the wrong place, and nobody would notice in time.
 */
static void refuse_unsupported(const cJSON *cluster, cJSON *notes)
{
	static const struct {
		const char *path, *what;
	} features[] = {
		{ "spec.networkPolicy", "network policies (spec.networkPolicy)" },
		{ "spec.historyServerOptions", "the history server (spec.historyServerOptions)" },
	};
	const char *managed_by = json_str(cluster, "spec.managedBy");
	const cJSON *tls = json_get(cluster, "spec.tlsOptions.enabled");

	/* TLS is off by default, even if its options are set. */
	if (tls && !cJSON_IsFalse(tls) && !cJSON_IsNull(tls))
		invalid(notes,
			"Afterglow does not support TLS between the nodes (spec.tlsOptions), and does not run a cluster that asks for it");
	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		if (cJSON_IsObject(json_get(cluster, features[i].path)))
			invalid(notes,
				"Afterglow does not support %s, and does not run a cluster that asks for it",
				features[i].what);
	if (managed_by && *managed_by && strcmp(managed_by, "ray.io/kuberay-operator") != 0)
		invalid(notes,
			"spec.managedBy is %.60s, but Afterglow only runs clusters without managedBy or with ray.io/kuberay-operator",
			managed_by);
}

void validate_cluster(const cJSON *cluster, cJSON *notes)
{
	const char *name = json_str(cluster, "metadata.name");
	bool fault_tolerant = gcs_ft_enabled(cluster);

	if (salvage_reason(cluster)) {
		invalid(notes, "the RayCluster cannot be read: %s", salvage_reason(cluster));
		return;
	}
	/* A spec that is too large is not examined any further. */
	if (!bounds_check(cluster, notes))
		return;
	if (!name || !is_dns_1035(name, CLUSTER_NAME_MAX))
		notes_addf(
			notes, NOTE_SPEC_VALID, "InvalidRayClusterMetadata",
			"metadata.name must be a DNS-1035 label of at most %d characters: lower-case letters, digits and \"-\", beginning "
			"with a letter",
			CLUSTER_NAME_MAX);
	check_group(json_get(cluster, "spec.headGroupSpec"), HEAD_GROUP_NAME, fault_tolerant,
		    notes);
	check_workers(json_get(cluster, "spec.workerGroupSpecs"), fault_tolerant, notes);
	check_fault_tolerance(cluster, notes);
	check_autoscaler(cluster, notes);
	check_auth(cluster, notes);
	check_service(cluster, notes);
	check_priorities(cluster, notes);
	if (json_str(cluster, "spec.upgradeStrategy.type") && upgrade_by_creator(cluster))
		invalid(notes, "upgradeStrategy must not be set in a cluster that a %s made",
			upgrade_by_creator(cluster));
	refuse_unsupported(cluster, notes);
}
