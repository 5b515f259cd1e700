/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends of containers that the kubelet made up, because the runtime did not know the container any more: exit code 137, reason
 * ContainerStatusUnknown (kubelet_pods.go and status_manager.go of Kubernetes 1.34). For this folder only; pure.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURES_MADE_UP_END_H
#define AFTERGLOW_OPERATOR_FAILURES_MADE_UP_END_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether the kubelet found no container to ask: the exit code is made up. */
bool made_up_is_lost(const cJSON *terminated);

/* Whether the kubelet made that end up, without a time or the container's ID. terminated NULL: no. */
bool made_up_end(const cJSON *terminated);

/*
 * The end that the kubelet made up for a container that was gone when it asked for its end: it stands in lastState, as if
 * another instance were to come, which in a pod that was evicted none does: then the kubelet makes up a second end for the one
 * that never came. NULL: the status (a container's) has none.
 */
const cJSON *made_up_forgotten(const cJSON *status);

/*
 * Whether the end in state.terminated is one of a container that had run. When a pod is terminated, the kubelet makes up an end
 * also for a container that waited: to be started at all, or again.
 */
bool made_up_had_run(const cJSON *status);

/*
 * Which instance it was that ended, from 0: in state (current) or lastState. The kubelet counts one more when the next is there, in
 * whatever state; for a container that it forgot at once, unless its pod is being deleted.
 */
int64_t made_up_restart_of(const cJSON *pod, const cJSON *status, bool current);

#endif
