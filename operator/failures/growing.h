/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of one pod that grows for hours, in sentences that stay the same while the figures change with each answer of its
 * sidecar: a RayCluster's status that tells of it is not to be written every ten seconds. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURES_GROWING_H
#define AFTERGLOW_OPERATOR_FAILURES_GROWING_H

#include <stdbool.h>

#include "operator/failures/growth.h"

/* A sentence is made anew after this time. */
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

/* Takes what the sidecar says at now_ns, since 1970. Returns whether a sentence came, changed or went. */
bool growing_take(struct growing *growing, const cJSON *pod, const struct growth *growths, size_t n, int64_t now_ns);

#endif
