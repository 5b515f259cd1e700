/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pod's deletion and its containers' ends, in time: what the deletion explains. Both times are whole seconds of two clocks,
 * the API server's and the node's. For this folder only; pure.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURES_POD_DELETION_H
#define AFTERGLOW_OPERATOR_FAILURES_POD_DELETION_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* The deletion's grace in seconds; 0 for a pod that nobody deletes. */
int64_t pod_deletion_grace(const cJSON *pod);

/* When the deletion was asked for, by the API server's clock. False: nobody deletes the pod. */
bool pod_deletion_began(const cJSON *pod, int64_t *ret_ns);

/*
 * Whether the deletion began before the time finished (RFC 3339), or within a second after it. finished NULL: whether the pod is
 * being deleted at all.
 */
bool pod_deletion_is_before(const cJSON *pod, const char *finished);

/*
 * By how much the deletion began before the container's end: negative when the container ended first. terminated is a
 * ContainerStateTerminated. False: nobody deletes the pod, or the end has no time.
 */
bool pod_deletion_lead(const cJSON *pod, const cJSON *terminated, int64_t *ret_ns);

/*
 * Whether the deletion explains that exit code. KubeRay deletes a pod within a second of its container's end, so an end in
 * the second before the deletion is a deletion's only where nobody else sends that signal: SIGTERM. A SIGKILL comes when the
 * grace is over.
 */
bool pod_deletion_explains(const cJSON *pod, const cJSON *terminated, int64_t exit_code);

/*
 * Of a container that the runtime calls OOMKilled: whether that kill ended it before the deletion could. One that the
 * container survived did not, when the deletion began well before the end.
 */
bool pod_deletion_is_after_oom(const cJSON *pod, const cJSON *terminated, int64_t exit_code);

/*
 * Whether the pod lived on after the container's end for longer than it takes to stop a pod. Then the pod's own end (an eviction,
 * say) does not explain the container's. False where the times are not known.
 */
bool pod_deletion_outlived(const cJSON *pod, const cJSON *terminated);

#endif
