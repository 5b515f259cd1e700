/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins the deaths that commands of one Ray cluster had on several machines, as the operator joins
 * those of pods: by the rules of lib/incident.h, and into the same members of `status`. Pure.
 */
#pragma once

#include <cjson/cJSON.h>

/*
 * Sets status.incident, causedBy, causedByText and consequences of the failures in the array, which
 * local_failures made. Two belong to one cluster if their raylets named the same session of Ray.
 * Those of pods are left alone: the operator knows more of them. Without memory nothing is joined.
 */
void local_incidents_join(cJSON *failures);
