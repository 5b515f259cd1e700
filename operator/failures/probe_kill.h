/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the kubelet killed a container for a failed probe, or a failed postStart
 * hook (class StartFailure). Only the pod's events tell: its status shows no more
 * than the signal. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURES_PROBE_KILL_H
#define AFTERGLOW_OPERATOR_FAILURES_PROBE_KILL_H

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Whether this RayFailure leaves that question open, so that the events are worth a look. */
bool probe_kill_possible(const cJSON *failure);

/* Makes failure one of class ProbeKilled or StartFailure if an event of the EventList tells so; returns whether it did. Without memory nothing changes. */
bool probe_kill_refine(cJSON *failure, const cJSON *events);

#endif
