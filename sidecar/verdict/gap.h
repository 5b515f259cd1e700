/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A container that ended while no sidecar ran: what the samples of the one
 * before say. Pure.
 */
#ifndef AFTERGLOW_SIDECAR_VERDICT_GAP_H
#define AFTERGLOW_SIDECAR_VERDICT_GAP_H

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/sample/memcg.h"

struct verdict;

struct gap {
	int64_t from_unix_ns, until_unix_ns; /* nobody looked in between, and in it the container ended */
	int64_t to_limit_ns; /* after the last sample, at the last rate, until the limit is met; -1: not to be told */
	bool rebooted; /* the machine was started in between */
};

/* Says when nobody looked, and what is missing by that. */
void gap_evidence(const struct gap *g, struct verdict *v);

/* Whether the last sample makes an OOM kill likely; says why. */
bool gap_near_limit(const struct gap *g, const struct memory *last, struct verdict *v);

#endif
