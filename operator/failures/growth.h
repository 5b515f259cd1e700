/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that grows for hours towards its limit, as the sidecar of a pod warns of it at /failures, and the Event that says so. Pure.
 * A Ray container can pose as the sidecar: figures are taken within bounds, the sentence is made here.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURES_GROWTH_H
#define AFTERGLOW_OPERATOR_FAILURES_GROWTH_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/units.h"

#define GROWTHS_MAX 8 /* of one pod, one for each container */
#define GROWTH_AGAIN_NS (6 * 3600 * NS_PER_SEC) /* how often it is told of one container, at most */

struct growth {
	char container[64];
	char process[64]; /* "": all of the container together */
	int64_t bytes, limit; /* of what grows now, and the container's */
	int64_t rate; /* bytes per hour */
	int64_t grew_ns, left_ns; /* for so long; until the limit is met */
};

/* Those of the answer's warnings (NULL: none) that are of a container of the pod; the first of each container. Returns how many. */
size_t growth_take(const cJSON *warnings, const cJSON *pod, struct growth ret_growths[static GROWTHS_MAX]);

/*
 * The Event about object: the RayCluster, or what made it, or the pod. It has one name for GROWTH_AGAIN_NS, so that another
 * operator does not tell it again. The caller owns it.
 */
cJSON *growth_event(const cJSON *object, const cJSON *pod, const struct growth *growth, int64_t now_ns);

#endif
