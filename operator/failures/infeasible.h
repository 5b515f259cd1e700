/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a sidecar's warning at /failures about a request that no Ray node can have, and makes the
 * Event that says which settings of ours may be why. Pure. The request is what Ray logs, and is
 * hostile.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdint.h>

/* What memory safety has set in a RayCluster (operator/webhook/memory_record.h). */
#define MEMORY_SAFETY_ANNOTATION "afterglow.dev/memory-safety"
#define INFEASIBLE_REQUEST_MAX 200

/* Copies the request of the first such warning; "" if there is none. */
void infeasible_take(const cJSON *warnings, char ret_request[static INFEASIBLE_REQUEST_MAX]);

/*
 * Makes the Event about object, which is the RayCluster or its owner. Returns NULL if memory safety
 * has set nothing in the cluster that the request needs. The caller owns it.
 */
cJSON *infeasible_event(const cJSON *object, const cJSON *cluster, const char *request,
			int64_t now_ns);
