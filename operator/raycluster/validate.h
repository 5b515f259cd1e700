/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks rules that the CRD's schema cannot express: whether a RayCluster is valid, and whether
 * this version supports everything that it asks for.
 */
#pragma once

#include <cjson/cJSON.h>

/*
 * Adds a NOTE_SPEC_VALID note for everything that makes the spec invalid, or that this
 * version does not support: TLS, network policies, the history server, clusters that
 * Kueue sends elsewhere. To ignore such a request silently would be worse.
 */
void validate_cluster(const cJSON *cluster, cJSON *notes);
