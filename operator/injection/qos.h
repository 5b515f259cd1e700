/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quality of service class of a pod, which the sidecar must not change. A Guaranteed pod has an
 * oom_score_adj of -997 and may have CPUs of its own. It loses both if a container has requests
 * that differ from its limits. A BestEffort pod is counted by other quotas, and placed on other
 * nodes, than one of which a container requests anything. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Returns whether all containers and init containers of the pod have a limit of CPU and one of
 * memory, and requests that are absent (then they are the limits) or equal to them: the rule of
 * Kubernetes for class Guaranteed.
 */
bool qos_is_guaranteed(const cJSON *pod_spec);

/*
 * Returns whether no container and no init container of the pod has a limit or request of CPU or
 * memory.
 */
bool qos_is_best_effort(const cJSON *pod_spec);

/*
 * Returns whether the pod has resources of its own (spec.resources, Kubernetes 1.34): its class
 * then follows from these alone.
 */
bool qos_is_of_pod(const cJSON *pod_spec);

/* What LimitRanges permit of one resource in a container, in thousandths; 0: anything. */
struct limit_rule {
	int64_t min, max, ratio;
};

#define LIMIT_RULES 3 /* of CPU, memory and ephemeral storage */
#define LIMIT_RATIO_ANY INT64_MAX /* there has to be a limit, however large */

struct limit_rules {
	struct limit_rule of[LIMIT_RULES];
};

/* Adds what one LimitRange says about containers, and about ratios of limit and request in pods. */
void qos_add_rules(struct limit_rules *rules, const cJSON *limit_range);

/*
 * Changes requests and limits until they keep the rules, in place. Where there is a ratio, an
 * absent limit is set as qos_equalize does, because the API server refuses a container without one.
 */
void qos_keep_rules(cJSON *resources, const struct limit_rules *rules, const char *cpu,
		    const char *memory, const char *disk);

/*
 * Makes requests equal to limits for CPU and memory, in place. An absent limit is set to the
 * request, but at least to cpu or memory (quantities), because a container usually needs more at
 * times than it requests.
 */
void qos_equalize(cJSON *resources, const char *cpu, const char *memory);
