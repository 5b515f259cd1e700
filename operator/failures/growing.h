/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes the growing memory of a pod in sentences that stay the same although the figures change
 * with each answer of its sidecar, so that the RayCluster's status is not written every ten
 * seconds. Pure.
 */
#pragma once

#include <stdbool.h>

#include "operator/failures/growth.h"

/* After this time, a sentence is replaced by one with the present figures. */
#define GROWING_RENEW_NS (3600 * NS_PER_SEC)
#define GROWING_TEXT_MAX 700

struct growing {
	size_t n;
	struct {
		char container[64];
		int64_t since_ns; /* when the sentence was made, since 1970 */
		char text[GROWING_TEXT_MAX];
	} list[GROWTHS_MAX];
};

/*
 * Takes the sidecar's answer of now_ns, since 1970. Returns whether a sentence was added, changed
 * or removed.
 */
bool growing_take(struct growing *growing, const cJSON *pod, const struct growth *growths, size_t n,
		  int64_t now_ns);
