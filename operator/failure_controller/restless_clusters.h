/* SPDX-License-Identifier: Apache-2.0 */
/* Until when the pods of a RayCluster are restless (poll_pace.h): what happens in one seldom happens there alone. */
#ifndef AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_RESTLESS_CLUSTERS_H
#define AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_RESTLESS_CLUSTERS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/strmap.h"

/* There while it has pods. */
struct restless_cluster {
	char *key; /* "namespace/name" */
	size_t n_pods;
	int64_t until_ns; /* 0: nothing happened yet */
};

struct restless_clusters {
	struct strmap by_key; /* -> struct restless_cluster */
};

void restless_clusters_release(struct restless_clusters *clusters);

/* One more pod of that cluster; NULL: no memory, and the pod rests while its neighbours do not. */
struct restless_cluster *restless_clusters_join(struct restless_clusters *clusters, const char *key);
/* One pod less. NULL is allowed. */
void restless_clusters_leave(struct restless_clusters *clusters, struct restless_cluster *cluster);

#endif
