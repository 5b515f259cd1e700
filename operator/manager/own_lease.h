/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Lease by which our replicas elect a leader: Events that are about the operator itself are
 * about this object.
 */
#ifndef AFTERGLOW_OPERATOR_MANAGER_OWN_LEASE_H
#define AFTERGLOW_OPERATOR_MANAGER_OWN_LEASE_H

#include <cjson/cJSON.h>

/*
 * Enough of it for an Event; the caller owns it. It is the same for all replicas. own: the namespace
 * that it is in; watched: the namespace that we serve, NULL: all.
 */
cJSON *own_lease(const char *own, const char *watched);

#endif
