/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the credentials of the store to the sidecar. */
#include "operator/injection/store_secrets.h"

#include "lib/json.h"
#include "operator/podspec/pod_spec.h"

#define CREDENTIALS_DIR "/afterglow/credentials" /* the sidecar's default */
#define TOKEN_AUDIENCE "sts.amazonaws.com"
#define TOKEN_EXPIRY_S 3600

/*
 * Adds a Secret. Without an fsGroup, which would affect the whole pod, the files of a Secret belong
 * to root. So a mode with which the sidecar's user can read them lets everybody read them, and for
 * that reason only the sidecar mounts the volume.
 */
static void add_secret(cJSON *pod_spec, const char *name, const char *secret_name)
{
	cJSON *volume = json_named_new(name), *secret = json_object_at(volume, "secret");

	json_set_str(secret, "secretName", secret_name);
	json_set(secret, "optional", cJSON_CreateTrue());
	json_set_int(secret, "defaultMode", 0444);
	pod_volume_default(pod_spec, volume);
}

/*
 * Adds a token for web identity: one of the pod's own service account that is valid only for STS
 * (its audience is not the API server's) and that the kubelet renews. Everybody may read the file,
 * as with a Secret.
 */
static void add_token(cJSON *pod_spec, const struct policy *policy)
{
	cJSON *volume = json_named_new("afterglow-credentials"),
	      *projected = json_object_at(volume, "projected");
	cJSON *source = cJSON_CreateObject(),
	      *token = json_object_at(source, "serviceAccountToken");
	const char *audience = policy->store.s3_token_audience;

	json_set_str(token, "audience", audience ? audience : TOKEN_AUDIENCE);
	json_set_int(token, "expirationSeconds",
		     policy->store.s3_token_expiry ? policy->store.s3_token_expiry :
						     TOKEN_EXPIRY_S);
	json_set_str(token, "path", "web-identity-token");
	json_append(json_array_at(projected, "sources"), source);
	json_set_int(projected, "defaultMode", 0444);
	pod_volume_default(pod_spec, volume);
	/*
	 * The admission plugin sets this default. Where the plugin is off, such a volume would be
	 * refused without a name.
	 */
	if (!json_get(pod_spec, "serviceAccountName") && !json_get(pod_spec, "serviceAccount"))
		json_set_str(pod_spec, "serviceAccountName", "default");
}

const char *store_secrets_reader(const cJSON *pod_spec, const struct policy *policy)
{
	return policy->store.credentials_secret || policy->store.s3_role_arn ?
		       pod_tracer(pod_spec) :
		       NULL;
}

void store_secrets_add(cJSON *pod_spec, const struct policy *policy)
{
	if (policy->store.s3_role_arn)
		add_token(pod_spec, policy);
	if (policy->store.credentials_secret)
		add_secret(pod_spec, "afterglow-credentials", policy->store.credentials_secret);
	if (policy->store.ca_secret)
		add_secret(pod_spec, "afterglow-store-ca", policy->store.ca_secret);
}

void store_secrets_mount(cJSON *sidecar, const struct policy *policy)
{
	if (policy->store.credentials_secret || policy->store.s3_role_arn)
		container_mount_default(sidecar, "afterglow-credentials", CREDENTIALS_DIR, true);
	if (policy->store.ca_secret)
		container_mount_default(sidecar, "afterglow-store-ca", STORE_SECRETS_DIR, true);
}
