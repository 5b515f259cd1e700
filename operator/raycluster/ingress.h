/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the Ingress by which people outside the cluster reach the head's dashboard (enableIngress,
 * ingressOptions).
 */
#pragma once

#include <cjson/cJSON.h>

/*
 * Makes the Ingress "<cluster>-head-ingress" to apply, which the caller owns; NULL if it is not
 * asked for, or no memory.
 */
cJSON *ingress_build(const cJSON *cluster);
