/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges a container that ended while no sidecar was running, by the samples of the previous
 * sidecar. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/sample/memcg.h"
#include "sidecar/verdict/verdict.h"

struct gap {
	/* no sidecar was running between these times, and the container ended between them */
	int64_t from_unix_ns, until_unix_ns;
	/*
	 * from the last sample until the limit is met, at the last rate of growth; -1: cannot be
	 * computed
	 */
	int64_t to_limit_ns;
	bool rebooted; /* the machine was restarted between them */
};

/* Adds to v when no sidecar was running, and which evidence is missing because of it. */
void gap_evidence(const struct gap *g, struct verdict *v);

/* Whether the last sample makes an OOM kill likely. If so, adds the reason to v. */
bool gap_near_limit(const struct gap *g, const struct memory *last, struct verdict *v);
