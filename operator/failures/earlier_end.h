/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends of containers that the pod's status does not tell any more: it knows of each container the last one, or two. When
 * several happened while no operator looked, the sidecar's journal knows the others.
 *
 * The journal has no container IDs and the kubelet's times have whole seconds, so which end is which follows from the
 * times: an end that is told of already (by a RayFailure, or by the status) is the nearest one in the journal. Of the rest
 * those from before the oldest start in the status were missed; not more than the kubelet counts restarts. Pure.
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

/* When a container ended, as its RayFailure says that is written, or waits to be. */
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
	bool undecided; /* of one it is too early to say: the status may lag behind */
};

/* Takes an entry of the journal. False: it is not the end of a container. */
bool pod_ends_add(struct pod_ends *ends, const cJSON *pod, const cJSON *entry, int64_t now_ns);
/* Whether any might have been missed: else nobody needs to look for those that are told. */
bool pod_ends_any(const struct pod_ends *ends);
/* Appends the RayFailures of those that were missed to failures. */
void pod_ends_missed(struct pod_ends *ends, const cJSON *pod, const struct told_end *told, size_t n_told,
		     struct ray_failures *failures);
void pod_ends_release(struct pod_ends *ends);

/* The middle of what the text may mean: "...:07Z" is any moment of that second. False: no time. */
bool told_end_time(const char *text, int64_t *ret_ns);

#endif
