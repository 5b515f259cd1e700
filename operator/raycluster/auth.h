/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Token authentication between Ray's processes and their clients (authOptions):
 * a Secret of the cluster's own, of the user's, or tokens that Kubernetes checks.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

/* The mode of authOptions is "token". */
bool auth_enabled(const cJSON *cluster);
/* authOptions.enableK8sTokenAuth: Ray asks the API server about a token. */
bool auth_by_kubernetes(const cJSON *cluster);

/*
 * Adds the environment (and mount) of a container that runs or calls Ray; adds nothing without
 * authentication.
 */
void auth_apply_container(const cJSON *cluster, cJSON *container);
/* Does the same for the Ray container, and adds the volume of the pod. */
void auth_apply(const cJSON *cluster, cJSON *pod_spec);

/*
 * Makes the Secret, which is created once and never changed, because the token is random. Returns
 * NULL if the cluster needs none of ours. The caller owns it.
 */
cJSON *auth_secret(const cJSON *cluster, const char *token);
