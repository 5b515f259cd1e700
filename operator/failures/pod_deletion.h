/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the times of a pod's deletion and of its containers' ends, to decide what the deletion
 * explains. Both times are whole seconds, of two clocks: the API server's and the node's. Only for
 * this folder. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns the grace period of the deletion in seconds; 0 if the pod is not being deleted. */
int64_t pod_deletion_grace(const cJSON *pod);

/*
 * Sets when the deletion was requested, by the API server's clock. Returns false if the pod is not
 * being deleted.
 */
bool pod_deletion_began(const cJSON *pod, int64_t *ret_ns);

/*
 * Returns whether the deletion began before the time finished (RFC 3339), or within a second after
 * it. If finished is NULL, returns whether the pod is being deleted at all.
 */
bool pod_deletion_is_before(const cJSON *pod, const char *finished);

/*
 * Sets by how much the deletion began before the container's end; negative if the container ended
 * first. terminated is a ContainerStateTerminated. Returns false if the pod is not being deleted,
 * or the end has no time.
 */
bool pod_deletion_lead(const cJSON *pod, const cJSON *terminated, int64_t *ret_ns);

/*
 * Returns whether the deletion explains that exit code. KubeRay deletes a pod within a second of
 * its container's end. So for an end in the second before the deletion, the deletion explains only
 * SIGTERM, a signal that hardly anything else sends. SIGKILL comes when the grace period is over.
 */
bool pod_deletion_explains(const cJSON *pod, const cJSON *terminated, int64_t exit_code);

/*
 * For a container that the runtime calls OOMKilled: returns whether the OOM kill ended it before
 * the deletion could. If the deletion began well before the end, the container had survived the OOM
 * kill.
 */
bool pod_deletion_is_after_oom(const cJSON *pod, const cJSON *terminated, int64_t exit_code);

/*
 * Returns whether the pod lived on after the container's end for longer than it takes to stop a
 * pod. Then the pod's own end (an eviction, say) does not explain the container's. Returns false if
 * the times are not known.
 */
bool pod_deletion_outlived(const cJSON *pod, const cJSON *terminated);
