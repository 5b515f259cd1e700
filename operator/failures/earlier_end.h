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
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "operator/failures/ray_failure.h"
#include "operator/failures/shown_ends.h"

#define POD_ENDS_MAX 64
#define POD_ENDS_CONTAINER_MAX 64
#define POD_END_ID_MAX 127

/* When a container ended, according to a RayFailure that is written or waits to be written. */
struct known_end {
	char container[POD_ENDS_CONTAINER_MAX];
	int64_t at_ns;
	int64_t number; /* which instance ended, from 1; 0: not known */
	int64_t more; /* how many ends of earlier instances the same RayFailure also stands for */
};

struct pod_end {
	char container[POD_ENDS_CONTAINER_MAX];
	int64_t at_ns;
	/* the RayFailure of a missed end; NULL if the status shows the end or it is known */
	struct ray_failure *failure;
};

struct pod_ends {
	struct pod_end list[POD_ENDS_MAX];
	size_t n;
	/* it is too early to judge at least one end, because the status may lag behind */
	bool undecided;
};

/*
 * Returns whether text, which may be NULL, can be the ID of an entry, or the tag of an answer: max
 * characters at most.
 */
bool pod_end_is_word(const char *text, size_t max);
/* Adds an entry of the journal. Returns false if the entry is not the end of a container. */
bool pod_ends_add(struct pod_ends *ends, const cJSON *pod, const cJSON *entry, int64_t now_ns);
/*
 * Returns whether any end may have been missed; if not, the caller need not collect the known ends.
 */
bool pod_ends_any(const struct pod_ends *ends);
/* Appends the RayFailures of missed ends to failures. known are the ends that already have one. */
void pod_ends_missed(struct pod_ends *ends, const cJSON *pod, const struct known_end *known,
		     size_t n_known, struct ray_failures *failures);
void pod_ends_release(struct pod_ends *ends);
