/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Lease by which our replicas elect a leader. Events about the operator itself are about this
 * object.
 */
#pragma once

#include <cjson/cJSON.h>

/*
 * Makes an object with the part that an Event needs; the caller owns it. It is the same for all
 * replicas. own is the Lease's namespace; watched is the namespace that we serve, NULL for all.
 */
cJSON *own_lease(const char *own, const char *watched);
