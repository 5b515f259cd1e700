/* SPDX-License-Identifier: Apache-2.0 */
/* Which objects of a cluster have to be looked at before it is planned for: those that may be somebody else's. */
#ifndef AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_WANTED_OBJECTS_H
#define AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_WANTED_OBJECTS_H

#include "operator/cluster_controller/known_state.h"
#include "operator/cluster_controller/namespace_lookup.h"

/*
 * Names in lookup the Ingress and the claim that the cluster (NULL: it is gone) is to have, unless they are believed to be as
 * they should. known NULL: nothing is.
 */
void wanted_objects(const cJSON *cluster, struct known_cluster *known, struct namespace_lookup *lookup);

#endif
