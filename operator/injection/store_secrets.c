/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the credentials of the store to the sidecar. */
#include "operator/injection/store_secrets.h"

#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
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
	cJSON *volume = json_named_new("afterglow-credentials"), *projected = json_object_at(volume, "projected");
	cJSON *source = cJSON_CreateObject(), *token = json_object_at(source, "serviceAccountToken");
	const char *audience = policy->store.s3_token_audience;

	json_set_str(token, "audience", audience ? audience : TOKEN_AUDIENCE);
	json_set_int(token, "expirationSeconds", policy->store.s3_token_expiry ? policy->store.s3_token_expiry : TOKEN_EXPIRY_S);
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

/*
 * Runtimes take capabilities with and without "CAP_". SYS_ADMIN may give the kernel programs that read
 * all memory, PERFMON samples the stacks of all processes, and with the other two the kernel itself
 * is open.
 */
static bool may_trace(const cJSON *container)
{
	static const char *const capabilities[] = { "ALL",     "SYS_PTRACE", "SYS_ADMIN",
						    "PERFMON", "SYS_MODULE", "SYS_RAWIO" };
	const cJSON *security = json_get(container, "securityContext");

	if (json_bool(security, "privileged", false))
		return true;
	json_each(capability, json_get(security, "capabilities.add")) {
		const char *name = cJSON_GetStringValue(capability);

		name += name && strncasecmp(name, "CAP_", 4) == 0 ? 4 : 0;
		for (size_t i = 0; name && i < ARRAY_SIZE(capabilities); i++)
			if (strcasecmp(name, capabilities[i]) == 0)
				return true;
	}
	return false;
}

bool store_secrets_shares_processes(const cJSON *pod_spec)
{
	return json_bool(pod_spec, "shareProcessNamespace", false) ||
	       json_bool(pod_spec, "hostPID", false);
}

const char *store_secrets_tracer(const cJSON *pod_spec)
{
	return store_secrets_shares_processes(pod_spec) ?
		       json_str(pod_container_find(pod_spec, may_trace), "name") :
		       NULL;
}

const char *store_secrets_reader(const cJSON *pod_spec, const struct policy *policy)
{
	return policy->store.credentials_secret || policy->store.s3_role_arn ?
		       store_secrets_tracer(pod_spec) :
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
