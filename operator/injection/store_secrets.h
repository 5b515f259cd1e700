/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives the sidecar its credentials for the store: Secrets, or a token for web identity, as volumes
 * that only the sidecar mounts. Pure.
 */
#pragma once

#include <cjson/cJSON.h>

#include "operator/policy/policy.h"

#define STORE_SECRETS_DIR "/afterglow/store-ca"
#define STORE_SECRETS_CA STORE_SECRETS_DIR "/ca.crt" /* for --store-ca */

/*
 * Returns the name of a container that could read the credentials (pod_tracer); NULL: there is
 * none, or the policy has no credentials.
 */
const char *store_secrets_reader(const cJSON *pod_spec, const struct policy *policy);

/* Adds the volumes to the pod. */
void store_secrets_add(cJSON *pod_spec, const struct policy *policy);
/* Adds their mounts to the sidecar. */
void store_secrets_mount(cJSON *sidecar, const struct policy *policy);
