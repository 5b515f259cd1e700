/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Lease by which our replicas elect a leader: Events that are about the operator itself are
 * about this object.
 */
#ifndef AFTERGLOW_OPERATOR_MANAGER_OWN_LEASE_H
#define AFTERGLOW_OPERATOR_MANAGER_OWN_LEASE_H

#include <cjson/cJSON.h>

#include "operator/kube/client.h"

/*
 * Enough of it for an Event; the caller owns it. It is the same for all replicas. watched: the
 * namespace; NULL: all.
 */
cJSON *own_lease(const struct client *client, const char *watched);

#endif
