/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises ends of containers that the kubelet made up, because the runtime did not know the
 * container any more: exit code 137, reason ContainerStatusUnknown (kubelet_pods.go and
 * status_manager.go of Kubernetes 1.34). For this folder only; pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns whether the kubelet could not find the container any more, and made the exit code up. */
bool made_up_is_lost(const cJSON *terminated);

/*
 * Returns whether the kubelet made that end up, without a time or the container's ID. terminated
 * may be NULL.
 */
bool made_up_end(const cJSON *terminated);

/*
 * Returns the end that the kubelet made up for a container that was gone when it asked the runtime;
 * NULL if the container's status has no such end. The kubelet puts the end into lastState, as if
 * another instance were to come. In an evicted pod no instance comes, and the kubelet makes up a
 * second end for the instance that never ran.
 */
const cJSON *made_up_forgotten(const cJSON *status);

/*
 * Returns whether the container whose end is in state.terminated had run. When a pod is terminated,
 * the kubelet also makes up an end for a container that was waiting for its first start, or for its
 * next.
 */
bool made_up_had_run(const cJSON *status);

/*
 * Returns the number of the instance that ended, from 0. current: its end is in state, otherwise in
 * lastState. The kubelet's restart count rises when the next instance appears in any state; for a
 * lost container it rises at once, unless the pod is being deleted.
 */
int64_t made_up_restart_of(const cJSON *pod, const cJSON *status, bool current);
