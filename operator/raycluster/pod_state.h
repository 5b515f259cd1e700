/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the role and the state of an observed Ray pod. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* On a claim: the cluster for which it was made, as it may have no owner. */
#define CLUSTER_UID_ANNOTATION "afterglow.dev/cluster-uid"

/* Returns whether the cluster of that uid controls the pod. */
bool pod_is_owned(const cJSON *pod, const char *cluster_uid);
/*
 * Returns whether an existing object is the cluster's, by its owner, which may be a former cluster
 * of the name, or by the annotation. A label says nothing: objects of others have it. NULL is not.
 */
bool object_is_of_cluster(const cJSON *object, const cJSON *cluster);

bool pod_is_head(const cJSON *pod);
/* Returns a label's value, "" if it is missing; pod_group returns ray.io/group. */
const char *pod_label(const cJSON *pod, const char *name);
const char *pod_group(const cJSON *pod);

bool pod_is_terminating(const cJSON *pod);
/*
 * Returns when its grace period ends (the API server adds the grace to deletionTimestamp); 0 if it
 * is not terminating.
 */
int64_t pod_termination_ns(const cJSON *pod);

/*
 * Returns whether it was deleted because its node stopped answering, so that no kubelet ends it or
 * reports its end.
 */
bool pod_is_stranded(const cJSON *pod);

bool pod_is_running(const cJSON *pod);
/*
 * Returns whether it is running and ready according to the kubelet (with all containers and the
 * readiness gates). The sidecar does not count, because it must not make a cluster unready.
 */
bool pod_is_ready(const cJSON *pod);
/*
 * Returns the status of the first container that keeps the pod from being ready, except the
 * sidecar; NULL if none does.
 */
const cJSON *pod_unready_container(const cJSON *pod);

/*
 * Returns whether nothing will start Ray in this pod again: phase Failed or Succeeded, or the
 * Ray container ended and the restart policy leaves it so (the sidecar keeps
 * such a pod in phase Running).
 */
bool pod_is_dead(const cJSON *pod);
/*
 * Returns when its Ray container ended with exit code 0; 0 if it did not. Such an end is not a
 * failure and is not recorded.
 */
int64_t pod_completed_ns(const cJSON *pod);
