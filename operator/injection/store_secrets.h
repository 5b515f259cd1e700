/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives the sidecar its credentials for the store: Secrets, or a token for web identity, as volumes
 * that only the sidecar mounts. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_INJECTION_STORE_SECRETS_H
#define AFTERGLOW_OPERATOR_INJECTION_STORE_SECRETS_H

#include <cjson/cJSON.h>

#include "operator/policy/policy.h"

#define STORE_SECRETS_DIR "/afterglow/store-ca"
#define STORE_SECRETS_CA STORE_SECRETS_DIR "/ca.crt" /* for --store-ca */

/* Adds the volumes to the pod. */
void store_secrets_add(cJSON *pod_spec, const struct policy *policy);
/* Adds their mounts to the sidecar. */
void store_secrets_mount(cJSON *sidecar, const struct policy *policy);

#endif
