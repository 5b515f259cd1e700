/* SPDX-License-Identifier: Apache-2.0 */
/* The way from outside to the head's dashboard (enableIngress, ingressOptions). */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_INGRESS_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_INGRESS_H

#include <cjson/cJSON.h>

/* The Ingress "<cluster>-head-ingress" to apply; the caller owns it. NULL: not asked for, or no memory. */
cJSON *ingress_build(const cJSON *cluster);

#endif
