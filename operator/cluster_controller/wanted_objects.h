/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the objects of a cluster that must be read before it is planned, because they may belong to
 * somebody else.
 */
#pragma once

#include "operator/cluster_controller/known_state.h"
#include "operator/cluster_controller/namespace_lookup.h"

/*
 * Sets in lookup the names of the Ingress, the claim and the Services that the cluster should have
 * (NULL: it is gone), unless known says that they are in the wanted state, or that such a Service
 * is somebody else's. known may be NULL.
 */
void wanted_objects(const cJSON *cluster, struct known_cluster *known,
		    struct namespace_lookup *lookup);
