/* SPDX-License-Identifier: Apache-2.0 */
/* Sets up fault tolerance of the GCS. */
#include "operator/raycluster/gcs_ft.h"

#include <stdio.h>
#include <strings.h>

#include "lib/json.h"
#include "operator/kube/object.h"
#include "operator/podspec/pod_spec.h"
#include "operator/raycluster/pod_state.h"

#define OPTIONS "spec.gcsFaultToleranceOptions"
#define ENABLED "ray.io/ft-enabled"
#define NAMESPACE "ray.io/external-storage-namespace"
#define CLAIM_NAME_MAX 300

bool gcs_ft_enabled(const cJSON *cluster)
{
	const char *text = object_annotation(cluster, ENABLED);

	return cJSON_IsObject(json_get(cluster, OPTIONS)) ||
	       (text && strcasecmp(text, "true") == 0);
}

bool gcs_ft_is_rocksdb(const cJSON *cluster)
{
	return json_is(cluster, OPTIONS ".backend", "rocksdb");
}

/* Returns the name space of the cluster in Redis, which several clusters may share. */
const char *gcs_ft_storage_namespace(const cJSON *cluster)
{
	const char *names[] = { json_str(cluster, OPTIONS ".externalStorageNamespace"),
				object_annotation(cluster, NAMESPACE) };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i] && *names[i])
			return names[i];
	return json_str(cluster, "metadata.uid");
}

/*
 * Adds the credential, or where Kubernetes finds it, to the environment. The shell inserts it into
 * the command.
 */
static void add_credential(const cJSON *credential, cJSON *ray, cJSON *params, const char *env,
			   const char *param)
{
	char reference[64];

	if (!cJSON_IsObject(credential))
		return;
	snprintf(reference, sizeof(reference), "$%s", env);
	json_set_str(params, param, reference);
	if (container_env(ray, env))
		return;
	cJSON *entry = json_named_new(env);
	json_each(field, credential)
		json_set(entry, field->string, cJSON_Duplicate(field, true));
	json_append(json_array_at(ray, "env"), entry);
}

static void apply_redis(const cJSON *cluster, cJSON *pod, cJSON *params)
{
	const cJSON *options = json_get(cluster, OPTIONS);
	const char *space = gcs_ft_storage_namespace(cluster),
		   *password = json_member(params, "redis-password");
	cJSON *ray = ray_container(json_get(pod, "spec"));

	json_set_str(json_object_at(json_get(pod, "metadata"), "annotations"), NAMESPACE, space);
	container_env_default(ray, "RAY_external_storage_namespace", space);
	if (json_str(options, "redisAddress"))
		container_env_default(ray, "RAY_REDIS_ADDRESS", json_str(options, "redisAddress"));
	add_credential(json_get(options, "redisUsername"), ray, params, "REDIS_USERNAME",
		       "redis-username");
	add_credential(json_get(options, "redisPassword"), ray, params, "REDIS_PASSWORD",
		       "redis-password");
	if (!options && password)
		container_env_default(ray, "REDIS_PASSWORD", password);
}

static const char *claim_name(const cJSON *cluster, char buf[static CLAIM_NAME_MAX])
{
	const char *own = json_str(cluster, OPTIONS ".storage.claimName");

	if (own && *own)
		return own;
	snprintf(buf, CLAIM_NAME_MAX, "%s-gcs-pvc", json_str(cluster, "metadata.name"));
	return buf;
}

static void apply_rocksdb(const cJSON *cluster, cJSON *pod)
{
	const char *sub_path = json_str(cluster, OPTIONS ".storage.subPath");
	cJSON *spec = json_get(pod, "spec"), *ray = ray_container(spec),
	      *volume = cJSON_CreateObject();
	char name[CLAIM_NAME_MAX];

	container_env_default(ray, "RAY_gcs_storage", "rocksdb");
	container_env_default(ray, "RAY_gcs_storage_path", GCS_FT_PATH);
	json_set_str(volume, "name", GCS_FT_VOLUME);
	json_set_str(json_object_at(volume, "persistentVolumeClaim"), "claimName",
		     claim_name(cluster, name));
	pod_volume_default(spec, volume);
	container_mount_default(ray, GCS_FT_VOLUME, GCS_FT_PATH, false);
	if (sub_path && *sub_path)
		json_set_str(json_find(json_get(ray, "volumeMounts"), "name", GCS_FT_VOLUME),
			     "subPath", sub_path);
}

void gcs_ft_apply(const cJSON *cluster, enum ray_node node, cJSON *pod, cJSON *params)
{
	bool enabled = gcs_ft_enabled(cluster);

	if (node == RAY_WORKER) {
		/* Ray's default of 60 s is too short for a new head that has to pull its image. */
		if (enabled)
			container_env_default(ray_container(json_get(pod, "spec")),
					      "RAY_gcs_rpc_server_reconnect_timeout_s", "600");
		return;
	}
	json_set_str(json_object_at(json_get(pod, "metadata"), "annotations"), ENABLED,
		     enabled ? "true" : "false");
	if (enabled && gcs_ft_is_rocksdb(cluster))
		apply_rocksdb(cluster, pod);
	else if (enabled)
		apply_redis(cluster, pod, params);
}

static bool is_retained(const cJSON *storage)
{
	return json_is(storage, "deletionPolicy", "Retain");
}

cJSON *gcs_ft_claim_owners(const cJSON *cluster, const cJSON *claim)
{
	const cJSON *controller = object_controller(claim);
	const char *uid = json_str(cluster, "metadata.uid");
	bool retained = is_retained(json_get(cluster, OPTIONS ".storage"));

	/* A claim that others made would be deleted with the cluster. */
	if (retained ? !pod_is_owned(claim, uid) :
		       controller || !object_is_of_cluster(claim, cluster))
		return NULL;
	cJSON *body =
		object_new("v1", "PersistentVolumeClaim", json_str(claim, "metadata.namespace"),
			   json_str(claim, "metadata.name"));
	cJSON *metadata = json_get(body, "metadata");
	json_set_str(metadata, "resourceVersion", json_str(claim, "metadata.resourceVersion"));
	cJSON *owners = retained ? cJSON_CreateArray() : owner_references(cluster);
	json_each(owner, json_get(claim, "metadata.ownerReferences"))
		if (owner != controller)
			json_append(owners, cJSON_Duplicate(owner, true));
	json_set(metadata, "ownerReferences", owners);
	json_set_str(json_object_at(metadata, "annotations"), CLUSTER_UID_ANNOTATION, uid);
	return body;
}

cJSON *gcs_ft_claim(const cJSON *cluster)
{
	const cJSON *storage = json_get(cluster, OPTIONS ".storage"),
		    *modes = json_get(storage, "accessModes"), *size = json_get(storage, "size");
	const char *own = json_str(storage, "claimName"),
		   *class = json_str(storage, "storageClassName");
	char name[CLAIM_NAME_MAX];

	if (!gcs_ft_enabled(cluster) || !gcs_ft_is_rocksdb(cluster) || (own && *own))
		return NULL;
	cJSON *claim =
		object_new("v1", "PersistentVolumeClaim", json_str(cluster, "metadata.namespace"),
			   claim_name(cluster, name));
	json_set_str(json_object_at(json_get(claim, "metadata"), "labels"), "ray.io/cluster",
		     json_str(cluster, "metadata.name"));
	if (!is_retained(storage))
		json_set(json_get(claim, "metadata"), "ownerReferences", owner_references(cluster));
	/*
	 * This one may own it later, and no other cluster of the name may, which would delete it.
	 */
	json_set_str(json_object_at(json_get(claim, "metadata"), "annotations"),
		     CLUSTER_UID_ANNOTATION, json_str(cluster, "metadata.uid"));
	cJSON *spec = json_object_at(claim, "spec");
	if (cJSON_IsArray(modes) && modes->child)
		json_set(spec, "accessModes", cJSON_Duplicate(modes, true));
	else
		json_append_str(json_array_at(spec, "accessModes"), "ReadWriteOnce");
	if (class)
		json_set_str(spec, "storageClassName", class);
	json_set(json_object_at(json_object_at(spec, "resources"), "requests"), "storage",
		 size ? cJSON_Duplicate(size, true) : cJSON_CreateString("1Gi"));
	return claim;
}
