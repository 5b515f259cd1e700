/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the head service, by which workers, clients and dashboards find the head. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* Makes the Service to apply, which the caller owns. Returns NULL if there is no memory. */
cJSON *service_build(const cJSON *cluster);

/*
 * Makes "<cluster>-headless", by which the hosts of one replica find each other (numOfHosts > 1).
 */
cJSON *headless_service_build(const cJSON *cluster);

/* Returns whether the workers need it, because a replica has several hosts. */
bool headless_service_wanted(const cJSON *cluster);

/* Returns what a plan believes (PLAN_BELIEVE) where a Service of that name is somebody else's. */
cJSON *service_foreign(const cJSON *cluster, const char *name);

/*
 * Makes "<cluster>-serve-svc", for Ray Serve in a cluster with the annotation
 * ray.io/enable-serve-service: "true", from the head's ports called serve or serve-something.
 * Returns NULL if it is not asked for, there is no such port, or no memory.
 */
cJSON *serve_service_build(const cJSON *cluster);

/* Returns the port of Ray's metrics, from rayStartParams' metrics-export-port. */
int64_t metrics_port(const cJSON *start_params);

/*
 * Returns whether have already contains everything in want: objects member by
 * member (have may contain more: the API server's defaults), arrays element by
 * element, in order and of the same length. An object with far more members than ours counts as
 * different.
 */
bool object_covers(const cJSON *have, const cJSON *want);
