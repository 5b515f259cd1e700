/* SPDX-License-Identifier: Apache-2.0 */
/* RayFailures from what the API server shows of a pod. Pure: time is an argument. */
#ifndef AFTERGLOW_OPERATOR_FAILURES_FAILURES_H
#define AFTERGLOW_OPERATOR_FAILURES_FAILURES_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "operator/failures/ray_failure.h"

/* The time of the death, as in spec.endedAt, for readers that see only the metadata. */
#define FAILURE_ENDED_ANNOTATION "afterglow.dev/ended-at"
/*
 * When the pod was created, by the API server's clock: it shows whether the pod came after another
 * death.
 */
#define FAILURE_POD_ANNOTATION "afterglow.dev/pod-created-at"
/*
 * Present if the pod was being deleted by then: the container did not end by itself, whatever its
 * exit code is.
 */
#define FAILURE_DELETED_ANNOTATION "afterglow.dev/pod-deleted"

/*
 * Appends RayFailures: one per
 * container instance found dead in state.terminated or lastState.terminated
 * with an exit code other than 0, init containers included, the sidecar's own
 * container not. Empty for a pod without the label ray.io/cluster. The name is
 * derived from the container's ID, so the same death has the same name.
 *
 * The source is the termination message. If it is absent, only a snapshot, or
 * contradicts the kubelet, the pod's status alone is classified and the RayFailure
 * says what is missing.
 */
int failures_from_pod(const cJSON *pod, int64_t now_ns, struct ray_failures *failures, struct err *err);

/*
 * The same for the last state of a pod that is gone. If the pod's status says that its node is
 * lost, there is also a RayFailure for each container that was never reported as ended.
 */
int failures_from_gone_pod(const cJSON *pod, int64_t now_ns, struct ray_failures *failures, struct err *err);

/*
 * A RayFailure (the caller owns it) of a process that died while its container lives, as the sidecar in the
 * pod tells: container and id name it, report is what termination_take gives. -EPROTO: it is no such death, or not
 * of this pod.
 */
int failure_of_process(const cJSON *pod, const char *container, const char *id, const cJSON *report, int64_t now_ns,
		       struct ray_failure **ret_failure, struct err *err);

/*
 * To be called with the object once its class is settled, right before it is written: gives it what failures are grouped and
 * joined by (failures/signature.h, failures/story.h), as it is by now.
 */
void failure_seal(cJSON *object);

/* Whether a later state of the pod may give that failure another class: better not to write it yet. */
bool failure_is_open(const cJSON *pod, const struct ray_failure *failure);

/*
 * Compares two RayFailures of the same death: earlier is from a state of the pod before its
 * deletion, later from a state during it. Returns whether later is better. The container had ended
 * when the deletion began, so the deletion does not explain its end, but an eviction or a lost node
 * may.
 */
bool failure_supersedes(const struct ray_failure *later, const struct ray_failure *earlier);

#endif
