/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides how often the operator asks a sidecar. Pure.
 *
 * A pod is restless for ten minutes after something happened in it or in a pod of
 * its RayCluster (a container ended, its sidecar had news), and for as long as its
 * sidecar says so (its memory is nearly full, or grows). Restless pods are asked
 * every 10 to 15 s, however many others rest. Resting pods share 50 requests a
 * second: a few hundred are asked as often as restless pods, 10,000 every 200 to
 * 300 s, and no pod less often than every 300 to 450 s.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/units.h"

#define POLL_RESTLESS_NS (600 * NS_PER_SEC)
/* A sidecar is restless if its answer is valid for no longer than this. */
#define POLL_RESTLESS_AGE_NS (15 * NS_PER_SEC)

struct poll_pace {
	size_t n_resting, n_restless; /* pods */
};

/*
 * Returns the time from one request to the next. fails is the number of requests in a row that got
 * no answer; each doubles the time, to two minutes or more. jitter, from 0 to 255, is the pod's
 * own: it adds up to a half of the time.
 */
int64_t poll_pace_interval(const struct poll_pace *pace, bool restless, unsigned fails,
			   uint8_t jitter);
