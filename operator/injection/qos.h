/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quality of service class of a pod, which the sidecar must not lower: a Guaranteed pod has an oom_score_adj of -997
 * and may have CPUs of its own, and loses both when one container has requests that are not its limits. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_INJECTION_QOS_H
#define AFTERGLOW_OPERATOR_INJECTION_QOS_H

#include <cjson/cJSON.h>
#include <stdbool.h>

/*
 * Whether all containers and init containers of the pod have a limit of CPU and one of memory, and requests that are absent
 * (then they are the limits) or equal to them: the rule of Kubernetes for class Guaranteed.
 */
bool qos_is_guaranteed(const cJSON *pod_spec);

/* Whether the pod has resources of its own (spec.resources, Kubernetes 1.34): its class then follows from these alone. */
bool qos_is_of_pod(const cJSON *pod_spec);

/*
 * Makes requests equal to limits for CPU and memory, in place. A limit that is absent becomes the request, but at least cpu
 * or memory (quantities): what a container may use at most is mostly more than it asks for.
 */
void qos_equalize(cJSON *resources, const char *cpu, const char *memory);

#endif
