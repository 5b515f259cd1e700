/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the Job that deletes a cluster's keys from Redis. */
#include "operator/raycluster/redis_cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "operator/kube/object.h"
#include "operator/podspec/pod_spec.h"
#include "operator/raycluster/gcs_ft.h"
#include "operator/raycluster/names.h"
#include "operator/raycluster/pod_template.h"

#define SPACE_ENV "RAY_external_storage_namespace"
#define NODE_TYPE "redis-cleanup"
/*
 * An attempt gives up after a minute (see RETRIES). The second attempt is for a pod that was
 * evicted.
 */
#define RETRIES "120"
#define RETRY_MS "500"
#define BACKOFF_LIMIT 1
#define DEADLINE_S 300
/* So long its log can be read. */
#define KEEP_S 600

/*
 * Ray's own function knows the format of the keys. Not every version has all of these parameters.
 * The settings that it needs are in the head's environment.
 */
static const char script[] =
	"import inspect, os, sys, urllib.parse\n"
	"from ray._private.gcs_utils import cleanup_redis_storage\n"
	"env = os.environ\n"
	"address = env.get('RAY_REDIS_ADDRESS', '').split(',')[0]\n"
	"url = urllib.parse.urlparse(address if '://' in address else 'redis://' + address)\n"
	"given = {'host': url.hostname, 'port': url.port or 6379, 'use_ssl': url.scheme == 'rediss',\n"
	"         'username': env.get('REDIS_USERNAME') or url.username,\n"
	"         'password': env.get('REDIS_PASSWORD') or url.password or '',\n"
	"         'storage_namespace': env['" SPACE_ENV "']}\n"
	"known = inspect.signature(cleanup_redis_storage).parameters\n"
	"done = cleanup_redis_storage(**{name: value for name, value in given.items() if name in known})\n"
	"print('storage namespace', given['storage_namespace'], 'is deleted' if done else 'is NOT deleted', flush=True)\n"
	"sys.exit(0 if done else 1)\n";

bool redis_cleanup_wanted(const cJSON *cluster, const struct policy *policy)
{
	const char *own = object_annotation(cluster, REDIS_CLEANUP_ANNOTATION);

	return policy->redis_cleanup && gcs_ft_enabled(cluster) && !gcs_ft_is_rocksdb(cluster) &&
	       !(own && strcasecmp(own, "false") == 0);
}

bool redis_cleanup_is_held(const cJSON *cluster)
{
	json_each(finalizer, json_get(cluster, "metadata.finalizers"))
		if (cJSON_IsString(finalizer) &&
		    strcmp(finalizer->valuestring, REDIS_CLEANUP_FINALIZER) == 0)
			return true;
	return false;
}

cJSON *redis_cleanup_finalizers(const cJSON *cluster, bool with)
{
	cJSON *body = object_new("ray.io/v1", "RayCluster", json_str(cluster, "metadata.namespace"),
				 json_str(cluster, "metadata.name"));
	cJSON *list = json_array_at(json_get(body, "metadata"), "finalizers");

	json_set_str(json_get(body, "metadata"), "resourceVersion",
		     json_str(cluster, "metadata.resourceVersion"));
	json_each(finalizer, json_get(cluster, "metadata.finalizers"))
		if (cJSON_IsString(finalizer) &&
		    strcmp(finalizer->valuestring, REDIS_CLEANUP_FINALIZER) != 0)
			json_append(list, cJSON_CreateString(finalizer->valuestring));
	if (with)
		json_append(list, cJSON_CreateString(REDIS_CLEANUP_FINALIZER));
	return body;
}

void redis_cleanup_name(const cJSON *cluster, char ret_name[static REDIS_CLEANUP_NAME_MAX])
{
	const char *name = json_str_or(cluster, "metadata.name", ""),
		   *uid = json_str(cluster, "metadata.uid");
	char hash[6];

	sha256_hex(uid ? uid : "", uid ? strlen(uid) : 0, 5, hash);
	snprintf(ret_name, REDIS_CLEANUP_NAME_MAX, "%.43s-redis-cleanup-%s", name, hash);
}

static void redis_cleanup_set_command(cJSON *container)
{
	static const char *const args[] = {
		"exec \"$(command -v python || command -v python3)\" -c \"$AFTERGLOW_SCRIPT\""
	};
	static const char *const unwanted[] = { "livenessProbe", "readinessProbe", "startupProbe",
						"lifecycle", "ports" };

	for (size_t i = 0; i < ARRAY_SIZE(unwanted); i++)
		cJSON_DeleteItemFromObjectCaseSensitive(container, unwanted[i]);
	container_set_shell(container, false);
	json_set(container, "args", cJSON_CreateStringArray(args, ARRAY_SIZE(args)));
	container_env_default(container, "AFTERGLOW_SCRIPT", script);
	container_env_default(container, "RAY_redis_db_connect_retries", RETRIES);
	container_env_default(container, "RAY_redis_db_connect_wait_milliseconds", RETRY_MS);
}

/* Reduces the head's pod to the Ray container. */
static void redis_cleanup_strip(cJSON *pod)
{
	cJSON *spec = json_get(pod, "spec"), *containers = json_get(spec, "containers");

	while (cJSON_GetArraySize(containers) > 1)
		cJSON_DeleteItemFromArray(containers, 1);
	redis_cleanup_set_command(ray_container(spec));
	/* KubeRay's 256Mi are hardly enough for `import ray`. */
	container_set_resources(ray_container(spec), "200m", NULL, "256Mi", "512Mi");
	json_set_str(spec, "restartPolicy", "Never");
}

/*
 * No service selects the pod, and it does not count as a head. But a NetworkPolicy that lets the
 * head's pods reach Redis also lets this pod.
 */
static void set_labels(const cJSON *cluster, cJSON *metadata)
{
	cJSON *labels = json_object_at(metadata, "labels");
	char identifier[64];

	snprintf(identifier, sizeof(identifier), "%.48s-" NODE_TYPE,
		 json_str(cluster, "metadata.name"));
	json_set_str(labels, "ray.io/node-type", NODE_TYPE);
	json_set_str(labels, "ray.io/group", NODE_TYPE);
	json_set_str(labels, "ray.io/identifier", identifier);
	json_set_str(json_object_at(metadata, "annotations"), "afterglow.dev/inject", "false");
	cJSON_DeleteItemFromObjectCaseSensitive(metadata, "ownerReferences");
	cJSON_DeleteItemFromObjectCaseSensitive(metadata, "namespace");
}

static cJSON *job_of(const cJSON *cluster, cJSON *pod)
{
	char name[REDIS_CLEANUP_NAME_MAX];

	redis_cleanup_name(cluster, name);
	cJSON *job = object_new("batch/v1", "Job", json_str(cluster, "metadata.namespace"), name);
	json_set(json_get(job, "metadata"), "labels",
		 cJSON_Duplicate(json_get(pod, "metadata.labels"), true));
	cJSON *spec = json_object_at(job, "spec");
	json_set_int(spec, "backoffLimit", BACKOFF_LIMIT);
	json_set_int(spec, "activeDeadlineSeconds", DEADLINE_S);
	json_set_int(spec, "ttlSecondsAfterFinished", KEEP_S);
	cJSON *template = json_object_at(spec, "template");
	json_set(template, "metadata", cJSON_DetachItemFromObjectCaseSensitive(pod, "metadata"));
	json_set(template, "spec", cJSON_DetachItemFromObjectCaseSensitive(pod, "spec"));
	return job;
}

int redis_cleanup_job(const cJSON *cluster, const struct policy *policy, cJSON **ret_job,
		      struct err *err)
{
	size_t lost = oom_count();
	_cleanup_json_ cJSON *pod = NULL, *job = NULL, *notes = cJSON_CreateArray();
	struct policy bare = *policy;
	struct pod_request req = { .cluster = cluster,
				   .node = RAY_HEAD,
				   .group = json_get(cluster, "spec.headGroupSpec"),
				   .policy = &bare };

	bare.sidecar_image = NULL;
	int r = pod_build(&req, &pod, notes, err);
	if (r < 0)
		return r;
	redis_cleanup_strip(pod);
	set_labels(cluster, json_get(pod, "metadata"));
	job = job_of(cluster, pod);
	if (oom_count() != lost)
		return err_set(err, ENOMEM, "job");
	*ret_job = TAKE_PTR(job);
	return 0;
}
