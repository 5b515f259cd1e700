/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out whether the kubelet killed a container for a failed probe, or a failed postStart
 * hook (class StartFailure). Only the pod's Events show it: the pod's status shows no more
 * than the signal. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "operator/failures/ray_failure.h"

/*
 * Returns whether a failed probe may explain this RayFailure, so that its Events are worth reading.
 */
bool probe_kill_possible(const struct ray_failure *failure);

/*
 * Changes the class of failure to ProbeKilled or StartFailure if an Event in the EventList says so,
 * and returns whether it did.
 */
bool probe_kill_refine(struct ray_failure *failure, const cJSON *events);
