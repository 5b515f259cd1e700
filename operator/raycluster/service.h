/* SPDX-License-Identifier: Apache-2.0 */
/* The head service, by which workers, clients and dashboards find the head. */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_SERVICE_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_SERVICE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* The Service to apply; the caller owns it. NULL: no memory. */
cJSON *service_build(const cJSON *cluster);

/* "<cluster>-headless", by which the hosts of one replica find each other (numOfHosts > 1). */
cJSON *headless_service_build(const cJSON *cluster);

/*
 * "<cluster>-serve-svc", for Ray Serve in a cluster with the annotation ray.io/enable-serve-service: "true"; the head's ports
 * called serve, or serve-something. NULL: not asked for, no such port, or no memory.
 */
cJSON *serve_service_build(const cJSON *cluster);

/* Where Ray's metrics are, by rayStartParams' metrics-export-port. */
int64_t metrics_port(const cJSON *start_params);

/*
 * Whether have already holds everything that want says: objects member by
 * member (have may hold more: the API server's defaults), arrays element by
 * element, in order and of the same length.
 */
bool object_covers(const cJSON *have, const cJSON *want);

#endif
