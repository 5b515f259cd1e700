/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps until when the pods of a RayCluster are restless. */
#include "operator/failure_controller/restless_clusters.h"

#include <stdlib.h>

void restless_clusters_release(struct restless_clusters *clusters)
{
	strmap_release(&clusters->by_key, free);
}

struct restless_cluster *restless_clusters_join(struct restless_clusters *clusters, const char *key)
{
	struct restless_cluster *cluster =
		strmap_get_or_add(&clusters->by_key, key, sizeof(*cluster));

	if (cluster && cluster->n_pods++ == 0)
		cluster->key = strmap_key(&clusters->by_key, key);
	return cluster;
}

void restless_clusters_leave(struct restless_clusters *clusters, struct restless_cluster *cluster)
{
	if (cluster && --cluster->n_pods == 0)
		free(strmap_remove(&clusters->by_key, cluster->key));
}
