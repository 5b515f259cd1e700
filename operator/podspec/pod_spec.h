/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small reads and additions on a pod spec. Additions never replace the user's values, unless noted.
 */
#ifndef AFTERGLOW_OPERATOR_PODSPEC_POD_SPEC_H
#define AFTERGLOW_OPERATOR_PODSPEC_POD_SPEC_H

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Returns containers[0], where KubeRay and its tools find Ray; NULL if there is none. */
cJSON *ray_container(const cJSON *pod_spec);

/* Returns the env entry of that name, or NULL. */
cJSON *container_env(const cJSON *container, const char *name);
/* Appends the variable unless it is there. */
void container_env_default(cJSON *container, const char *name, const char *value);
void container_env_field_default(cJSON *container, const char *name, const char *field_path);

/*
 * Sets the command to a bash that runs one argument, which follows; login: after /etc/profile.
 * Replaces the user's command.
 */
void container_set_shell(cJSON *container, bool login);
/* Appends a mount unless something is mounted at that path. */
void container_mount_default(cJSON *container, const char *volume, const char *path, int read_only);
/* Appends a volume (owned by the spec afterwards) unless one of its name is there. */
void pod_volume_default(cJSON *pod_spec, cJSON *volume);

#endif
