/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes RayFailures from the state of a pod that the API server shows. Pure: time is an argument.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "operator/failures/ray_failure.h"
#include "operator/failures/unmet_end.h"

/*
 * When the pod was created, by the API server's clock: it shows whether the pod came after another
 * death.
 */
#define FAILURE_POD_ANNOTATION "afterglow.dev/pod-created-at"
/*
 * Present if the pod's deletion had begun before the container ended. Then the container did not
 * end by itself, whatever its exit code is.
 */
#define FAILURE_DELETED_ANNOTATION "afterglow.dev/pod-deleted"
/*
 * How many ends of earlier instances the RayFailure also stands for (failures/unseen_end.h). The
 * annotation is absent if there are none.
 */
#define FAILURE_MORE_ENDS_ANNOTATION "afterglow.dev/more-ends"

/*
 * Appends one RayFailure for each container instance that state.terminated or
 * lastState.terminated shows dead with an exit code other than 0. Init containers
 * count; the sidecar's own container does not. A pod without the label
 * ray.io/cluster has none. The name is derived from the container's ID, so the
 * same death has the same name.
 *
 * The source is the termination message. If it is absent, is only a snapshot, or
 * contradicts the kubelet, only the pod's status is classified and the RayFailure
 * says what is missing.
 */
int failures_from_pod(const cJSON *pod, int64_t now_ns, struct ray_failures *failures,
		      struct err *err);

/*
 * Does the same with the ends of which the node agent has proof, as the pod's sidecar reports them
 * (failures/unmet_end.h).
 */
int failures_from_pod_and_node(const cJSON *pod, const struct unmet_ends *unmet, int64_t now_ns,
			       struct ray_failures *failures, struct err *err);

/*
 * Does the same for the last state of a pod that is gone. If the pod's status says that its node is
 * lost, it also appends a RayFailure for each container that was never reported as ended.
 */
int failures_from_gone_pod(const cJSON *pod, int64_t now_ns, struct ray_failures *failures,
			   struct err *err);

/*
 * Makes the RayFailure of a process that died while its container lives, from the report of the
 * sidecar in the pod; the caller owns it. container and id name the RayFailure; report is an output
 * of termination_take. Returns
 * -EPROTO if the report is not about such a death, or not about this pod.
 */
int failure_of_process(const cJSON *pod, const char *container, const char *id, const cJSON *report,
		       int64_t now_ns, struct ray_failure **ret_failure, struct err *err);

/*
 * Completes the object with its signature (failures/signature.h) and its story (failures/story.h),
 * by which failures are grouped and joined. Call it once the class is settled, right before the
 * object is written.
 */
void failure_seal(cJSON *object);

/*
 * Returns whether a later state of the pod may give the failure another class, so that it is better
 * not to write it yet.
 */
bool failure_is_open(const cJSON *pod, const struct ray_failure *failure);

/*
 * Compares two RayFailures of the same death: earlier is from a state of the pod before its
 * deletion, later from a state during it. Returns whether later is better. The container had ended
 * when the deletion began, so the deletion does not explain its end, but an eviction or a lost node
 * may.
 */
bool failure_supersedes(const struct ray_failure *later, const struct ray_failure *earlier);
