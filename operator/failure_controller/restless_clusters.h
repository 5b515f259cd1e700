/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Knows until when the pods of a RayCluster are restless (poll_pace.h): a failure in a pod is often
 * followed by others nearby.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/strmap.h"

/* The entry exists while the cluster has pods. */
struct restless_cluster {
	const char *key; /* "namespace/name" */
	size_t n_pods;
	int64_t until_ns; /* 0: nothing happened yet */
};

struct restless_clusters {
	struct strmap by_key; /* -> struct restless_cluster */
};

void restless_clusters_release(struct restless_clusters *clusters);

/*
 * Adds a pod to that cluster. Returns NULL if there is no memory; then the pod rests even while its
 * neighbours are restless.
 */
struct restless_cluster *restless_clusters_join(struct restless_clusters *clusters,
						const char *key);
/* Removes a pod from the cluster, which may be NULL. */
void restless_clusters_leave(struct restless_clusters *clusters, struct restless_cluster *cluster);
