/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a sidecar's warnings at /failures about memory that grows for hours towards its limit, and
 * makes the Event about it. Pure. A Ray container can pose as the sidecar, so the figures are
 * checked against bounds and the sentence is made here.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/units.h"

#define GROWTHS_MAX 8 /* of one pod, one for each container */
/* the shortest time between two Events for one container */
#define GROWTH_AGAIN_NS (6 * 3600 * NS_PER_SEC)

struct growth {
	char container[64];
	char process[64]; /* "": the figures are those of the whole container */
	/* the present memory of the process or container, and the container's limit */
	int64_t bytes, limit;
	int64_t rate; /* bytes per hour */
	/* how long the memory has grown, and how long until it meets the limit */
	int64_t grew_ns, left_ns;
};

/*
 * Takes from the answer's warnings, which may be NULL, the first one for each container of the pod.
 * Returns their number.
 */
size_t growth_take(const cJSON *warnings, const cJSON *pod,
		   struct growth ret_growths[static GROWTHS_MAX]);

/*
 * Makes the Event about object: the RayCluster, its owner, or the pod. The Event's name stays the
 * same for GROWTH_AGAIN_NS, so that another replica does not emit it twice. The caller owns it.
 */
cJSON *growth_event(const cJSON *object, const cJSON *pod, const struct growth *growth,
		    int64_t now_ns);
