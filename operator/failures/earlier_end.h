/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds ends of containers that the pod's status no longer shows: it has the last end of each
 * container, or the last two. If several containers ended while no operator was running, the
 * sidecar's journal knows the earlier ends.
 *
 * The journal has no container IDs and the kubelet's times are whole seconds, so ends are matched
 * by time: an end that is known already (from a RayFailure, or from the status) matches the nearest
 * end in the journal. Of the others, those before the oldest start in the status were missed, but
 * not more than the kubelet counts restarts. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURES_EARLIER_END_H
#define AFTERGLOW_OPERATOR_FAILURES_EARLIER_END_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "operator/failures/ray_failure.h"

#define POD_ENDS_MAX 64
#define POD_ENDS_CONTAINER_MAX 64

/* When a container ended, according to a RayFailure that is written or waits to be written. */
struct told_end {
	char container[POD_ENDS_CONTAINER_MAX];
	int64_t at_ns;
};

struct pod_end {
	char container[POD_ENDS_CONTAINER_MAX];
	int64_t at_ns;
	struct ray_failure *failure; /* the RayFailure if it was missed; NULL: it is the status's to tell, or told */
};

struct pod_ends {
	struct pod_end list[POD_ENDS_MAX];
	size_t n;
	bool undecided; /* for at least one end it is too early to decide, because the status may lag behind */
};

/* Adds an entry of the journal. Returns false if it is not the end of a container. */
bool pod_ends_add(struct pod_ends *ends, const cJSON *pod, const cJSON *entry, int64_t now_ns);
/* Whether any end may have been missed; if not, the caller need not collect the known ends. */
bool pod_ends_any(const struct pod_ends *ends);
/* Appends the RayFailures of those that were missed to failures. */
void pod_ends_missed(struct pod_ends *ends, const cJSON *pod, const struct told_end *told, size_t n_told,
		     struct ray_failures *failures);
void pod_ends_release(struct pod_ends *ends);

/*
 * Sets the middle of the time that the text means: "...:07Z" is any moment of that second. Returns
 * false if it is no time.
 */
bool told_end_time(const char *text, int64_t *ret_ns);

#endif
