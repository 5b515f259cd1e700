/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the RayCluster's status as KubeRay's tools, kubectl and dashboards read it. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* The counts from planning. */
struct status_view {
	const cJSON *head; /* the head pod, NULL when there is none */
	const cJSON *service; /* the head service, NULL when there is none yet */
	int64_t desired_workers, min_workers, max_workers;
	int64_t running_workers, ready_workers;
	bool all_ready; /* the head and every desired worker */
	bool suspend; /* spec.suspend */
	bool pods_left; /* the cluster still has a pod, perhaps a terminating one */
	int64_t cpu_milli, memory_bytes, gpus, tpus; /* the sum of the desired pods' requests */
	const char *growing; /* sentences about memory that grows for hours; NULL: nothing grows */
	/* not all pods are known: the status keeps its sentences about growing memory */
	bool growing_unheard;
	/* why the last write of a pod failed; NULL: it succeeded */
	const char *failure_reason, *failure_message;
};

/*
 * Adds the requests of n pods made from the template. The sidecar does not count, because the user
 * did not ask for it.
 */
void status_add_resources(struct status_view *view, const cJSON *template, int64_t n);

/*
 * Makes the whole status; NULL if the cluster's present status is the same, except for
 * lastUpdateTime. If view is NULL, the spec is invalid and only the conditions of
 * the notes change. The caller owns it.
 */
cJSON *status_build(const cJSON *cluster, const struct status_view *view, const cJSON *notes,
		    int64_t now_ns);

/*
 * Returns whether the condition of this topic, with this text, is in the cluster's status already.
 */
bool status_tells(const cJSON *cluster, const char *condition, const char *status,
		  const char *text);
