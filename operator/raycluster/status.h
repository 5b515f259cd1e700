/* SPDX-License-Identifier: Apache-2.0 */
/* The RayCluster's status as KubeRay's tools, kubectl and dashboards read it. */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_STATUS_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_STATUS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* What was counted while planning. */
struct status_view {
	const cJSON *head;    /* the head pod, NULL when there is none */
	const cJSON *service; /* the head service, NULL when there is none yet */
	int64_t desired_workers, min_workers, max_workers;
	int64_t running_workers, ready_workers;
	bool all_ready;       /* the head and every desired worker */
	bool suspend;         /* spec.suspend */
	bool pods_left;       /* any pod of the cluster, also a terminating one */
	int64_t cpu_milli, memory_bytes, gpus, tpus; /* what the desired pods request together */
	const char *growing; /* what of its memory grows for hours; NULL: nothing */
	bool growing_unheard; /* it is not known of all pods: what the status says of it stays */
	const char *failure_reason, *failure_message; /* the last write of a pod failed; NULL: it did not */
};

/* Adds what n pods made of the template request. The sidecar is not what the user asked for, so it does not count. */
void status_add_resources(struct status_view *view, const cJSON *template, int64_t n);

/*
 * The whole status, or NULL when the one the cluster has says the same already
 * (lastUpdateTime apart). view NULL: the spec is invalid, only the conditions of
 * the notes change. The caller owns it.
 */
cJSON *status_build(const cJSON *cluster, const struct status_view *view, const cJSON *notes, int64_t now_ns);

/* Whether the condition of this topic, with this text, is in the cluster's status already. */
bool status_tells(const cJSON *cluster, const char *condition, const char *status, const char *text);

#endif
