/* SPDX-License-Identifier: Apache-2.0 */
/* What the CRD's schema cannot say: is the RayCluster valid, and does this version do all it asks for? */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_VALIDATE_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_VALIDATE_H

#include <cjson/cJSON.h>

/*
 * Adds NOTE_SPEC_VALID notes for what makes the spec invalid, and
 * NOTE_SPEC_SUPPORTED notes for features that are not there. Features whose
 * absence would be unsafe or would give a broken cluster (TLS, authentication,
 * network policy, groups of several hosts) count as both.
 */
void validate_cluster(const cJSON *cluster, cJSON *notes);

#endif
