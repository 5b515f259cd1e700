/* SPDX-License-Identifier: Apache-2.0 */
/* What the CRD's schema cannot say: is the RayCluster valid, and does this version do all it asks for? */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_VALIDATE_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_VALIDATE_H

#include <cjson/cJSON.h>

/*
 * Adds a NOTE_SPEC_VALID note for each thing that makes the spec invalid, or that
 * this version does not do: TLS, network policies, the history server, clusters
 * that Kueue sends elsewhere. To leave one of these out silently would be worse.
 */
void validate_cluster(const cJSON *cluster, cJSON *notes);

#endif
