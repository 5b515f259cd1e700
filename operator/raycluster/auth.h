/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Token authentication between Ray's processes and their clients (authOptions):
 * a Secret of the cluster's own, of the user's, or tokens that Kubernetes checks.
 */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_AUTH_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_AUTH_H

#include <cjson/cJSON.h>
#include <stdbool.h>

/* The mode of authOptions is "token". */
bool auth_enabled(const cJSON *cluster);
/* authOptions.enableK8sTokenAuth: Ray asks the API server about a token. */
bool auth_by_kubernetes(const cJSON *cluster);

/* The environment (and mount) of a container that runs or calls Ray; nothing without authentication. */
void auth_apply_container(const cJSON *cluster, cJSON *container);
/* The same for the Ray container, and the volume of the pod. */
void auth_apply(const cJSON *cluster, cJSON *pod_spec);

/*
 * The Secret to create once, never to change: the token is random. NULL when
 * the cluster needs none of ours. The caller owns it.
 */
cJSON *auth_secret(const cJSON *cluster, const char *token);

#endif
