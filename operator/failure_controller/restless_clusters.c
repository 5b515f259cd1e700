/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps until when the pods of a RayCluster are restless. */
#include "operator/failure_controller/restless_clusters.h"

#include <stdlib.h>
#include <string.h>

static void restless_clusters_cluster_free(void *value)
{
	struct restless_cluster *cluster = value;

	free(cluster->key);
	free(cluster);
}

void restless_clusters_release(struct restless_clusters *clusters)
{
	strmap_release(&clusters->by_key, restless_clusters_cluster_free);
}

static struct restless_cluster *cluster_new(struct restless_clusters *clusters, const char *key)
{
	struct restless_cluster *cluster = calloc(1, sizeof(*cluster));

	if (!cluster)
		return NULL;
	cluster->key = strdup(key);
	if (!cluster->key || strmap_put(&clusters->by_key, key, cluster, NULL) < 0) {
		restless_clusters_cluster_free(cluster);
		return NULL;
	}
	return cluster;
}

struct restless_cluster *restless_clusters_join(struct restless_clusters *clusters, const char *key)
{
	struct restless_cluster *cluster = strmap_get(&clusters->by_key, key);

	if (!cluster)
		cluster = cluster_new(clusters, key);
	if (cluster)
		cluster->n_pods++;
	return cluster;
}

void restless_clusters_leave(struct restless_clusters *clusters, struct restless_cluster *cluster)
{
	if (cluster && --cluster->n_pods == 0)
		restless_clusters_cluster_free(strmap_remove(&clusters->by_key, cluster->key));
}
