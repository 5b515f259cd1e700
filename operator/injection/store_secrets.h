/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives the sidecar its credentials for the store: Secrets, or a token for web identity, as volumes
 * that only the sidecar mounts. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "operator/policy/policy.h"

#define STORE_SECRETS_DIR "/afterglow/store-ca"
#define STORE_SECRETS_CA STORE_SECRETS_DIR "/ca.crt" /* for --store-ca */

/* Returns whether the pod's containers see each other's processes. */
bool store_secrets_shares_processes(const cJSON *pod_spec);
/*
 * Returns the name of a container that could read the sidecar's memory, NULL if there is none: its
 * processes see those of the sidecar, and may trace processes of others. All others are kept out by
 * lib/undumpable.h.
 */
const char *store_secrets_tracer(const cJSON *pod_spec);
/* Does the same for the credentials. Of a policy without any nobody reads any. */
const char *store_secrets_reader(const cJSON *pod_spec, const struct policy *policy);

/* Adds the volumes to the pod. */
void store_secrets_add(cJSON *pod_spec, const struct policy *policy);
/* Adds their mounts to the sidecar. */
void store_secrets_mount(cJSON *sidecar, const struct policy *policy);
