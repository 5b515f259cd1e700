/* SPDX-License-Identifier: Apache-2.0 */
/* Sets up token authentication. */
#include "operator/raycluster/auth.h"

#include "lib/json.h"
#include "operator/kube/object.h"
#include "operator/podspec/pod_spec.h"
#include "operator/raycluster/names.h"

#define SECRET_KEY "auth_token"
#define TOKEN_VOLUME "ray-token"
#define TOKEN_PATH "/var/run/secrets/ray.io/serviceaccount"

bool auth_enabled(const cJSON *cluster)
{
	return json_is(cluster, "spec.authOptions.mode", "token");
}

bool auth_by_kubernetes(const cJSON *cluster)
{
	return json_bool(cluster, "spec.authOptions.enableK8sTokenAuth", false);
}

static const char *users_secret(const cJSON *cluster)
{
	const char *name = json_str(cluster, "spec.authOptions.secretName");

	return name && *name ? name : NULL;
}

static void add_secret_env(const cJSON *cluster, cJSON *container)
{
	const char *secret = users_secret(cluster);
	char cut[CUT_NAME_MAX];

	if (container_env(container, "RAY_AUTH_TOKEN"))
		return;
	cJSON *entry = json_named_new("RAY_AUTH_TOKEN");
	cJSON *ref = json_object_at(json_object_at(entry, "valueFrom"), "secretKeyRef");
	json_set_str(ref, "name",
		     secret ? secret : cut_name(json_str(cluster, "metadata.name"), cut));
	json_set_str(ref, "key", SECRET_KEY);
	json_append(json_array_at(container, "env"), entry);
}

void auth_apply_container(const cJSON *cluster, cJSON *container)
{
	if (!auth_enabled(cluster))
		return;
	container_env_default(container, "RAY_AUTH_MODE", "token");
	if (auth_by_kubernetes(cluster)) {
		container_env_default(container, "RAY_ENABLE_K8S_TOKEN_AUTH", "true");
		container_mount_default(container, TOKEN_VOLUME, TOKEN_PATH, true);
	} else {
		add_secret_env(cluster, container);
	}
}

static void add_token_volume(cJSON *pod_spec)
{
	cJSON *volume = json_named_new(TOKEN_VOLUME), *source = cJSON_CreateObject();

	json_set_str(json_object_at(source, "serviceAccountToken"), "path", "token");
	json_append(json_array_at(json_object_at(volume, "projected"), "sources"), source);
	pod_volume_default(pod_spec, volume);
}

void auth_apply(const cJSON *cluster, cJSON *pod_spec)
{
	if (!auth_enabled(cluster))
		return;
	auth_apply_container(cluster, ray_container(pod_spec));
	if (auth_by_kubernetes(cluster))
		add_token_volume(pod_spec);
}

cJSON *auth_secret(const cJSON *cluster, const char *token)
{
	const char *name = json_str(cluster, "metadata.name");
	char cut[CUT_NAME_MAX];

	if (!auth_enabled(cluster) || auth_by_kubernetes(cluster) || users_secret(cluster))
		return NULL;
	cJSON *secret = object_new("v1", "Secret", json_str(cluster, "metadata.namespace"),
				   cut_name(name, cut));
	cJSON *metadata = json_get(secret, "metadata");
	json_set_str(json_object_at(metadata, "labels"), "ray.io/cluster", name);
	json_set(metadata, "ownerReferences", owner_references(cluster));
	json_set_str(json_object_at(secret, "stringData"), SECRET_KEY, token);
	return secret;
}
