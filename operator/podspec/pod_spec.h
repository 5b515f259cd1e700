/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small reads and additions on a pod spec. Additions never replace the user's values, unless noted.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

/*
 * Returns containers[0], where KubeRay and its tools find Ray; NULL if there is none. This is for
 * templates: webhooks of service meshes put containers of their own in front of a pod's.
 */
cJSON *ray_container(const cJSON *pod_spec);

/* On a pod, or its template, the name of Ray's container. */
#define RAY_CONTAINER_ANNOTATION "afterglow.dev/ray-container"
/* KubeRay and Afterglow give Ray's container this variable. */
#define RAY_START_VARIABLE "KUBERAY_GEN_RAY_START_CMD"

/*
 * Returns Ray's container of a pod, wherever it stands: the annotated one, the one with
 * RAY_START_VARIABLE, one with KubeRay's names or a command that runs `ray start`, or the only one.
 * NULL if it cannot be told. annotations are the pod's.
 */
cJSON *pod_ray_container(const cJSON *pod_spec, const cJSON *annotations);

/* Returns the first container or init container for which fn returns true; NULL: there is none. */
const cJSON *pod_container_find(const cJSON *pod_spec, bool (*fn)(const cJSON *container));

/* Returns whether a container or init container has the sidecar's name. */
bool pod_has_sidecar(const cJSON *pod_spec);

/* Returns whether the pod's containers see each other's processes. */
bool pod_shares_processes(const cJSON *pod_spec);
/*
 * Returns the name of a container that could read the sidecar's memory, NULL if there is none: its
 * processes see those of the sidecar, and may trace processes of others. All others are kept out by
 * lib/undumpable.h.
 */
const char *pod_tracer(const cJSON *pod_spec);

/*
 * What ray.io/node-type is of our copy of a pod of KubeRay's submitter
 * (failure_controller/submitter_pods.h).
 */
#define POD_TYPE_SUBMITTER "submitter"
/*
 * Returns the name of the same container of a pod from the cache, which lacks commands; by default
 * that of the first. NULL: the pod is a submitter's.
 */
const char *pod_ray_container_name(const cJSON *pod);

/*
 * Returns the port at which the operator can ask the pod's sidecar while it runs; 0: none. In the
 * node's network the address is that of the node, and the port may belong to any program there.
 */
int pod_sidecar_port(const cJSON *pod);

/*
 * Writes the annotation of a pod whose container of that name is Ray's, unless it is a name of
 * KubeRay's, which tells.
 */
void pod_annotate_ray_container(cJSON *pod_annotations, const char *name);

/* Returns whether a word of the container's command and args has text in it. */
bool container_command_has(const cJSON *container, const char *text);

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
/* Replaces the container's resources. cpu_limit: NULL for none. */
void container_set_resources(cJSON *container, const char *cpu, const char *cpu_limit,
			     const char *memory, const char *memory_limit);
/* Appends a mount unless something is mounted at that path. */
void container_mount_default(cJSON *container, const char *volume, const char *path, int read_only);
/* Appends a volume (owned by the spec afterwards) unless one of its name is there. */
void pod_volume_default(cJSON *pod_spec, cJSON *volume);
