/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Knows which keys of the launchers' ConfigMap the pods of a namespace refer to, and
 * decides how to change that ConfigMap. Pure: the time is an argument, and the write
 * is returned as a value.
 *
 * Keys are added and repaired at once. A key of another release is removed when no
 * pod has referred to it for an hour: until then a container of such a pod may start
 * again, and the deletion of the last such pod may be part of a rollback. All keys
 * are removed when there has been neither a Ray pod nor a RayCluster for an hour.
 * Other data in the ConfigMap stay, and so does the ConfigMap.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/strmap.h"
#include "operator/launcher/launcher.h"

#define LAUNCHER_UNUSED_NS ((int64_t)3600 * 1000000000)
/*
 * The most keys of a namespace, because its users can refer to any key. With more, single keys are
 * no longer removed.
 */
#define LAUNCHER_PLACE_KEYS_MAX 32

struct launcher_configmap {
	size_t n_pods, n_clusters;
	struct strmap keys; /* keys in the form of a launcher's -> struct key_use */
	bool crowded; /* there were too many keys; stays true until the last pod is gone */
	/*
	 * since when there has been neither a pod nor a cluster; 0: there is at least one of them
	 */
	int64_t empty_ns;
};

void launcher_configmap_release(struct launcher_configmap *place);

/*
 * Adds or removes a Ray pod, of which spec.volumes.configMap.items.key is read, or a RayCluster.
 * now_ns is above 0, here and below.
 */
void launcher_configmap_add_pod(struct launcher_configmap *place, const cJSON *pod);
void launcher_configmap_remove_pod(struct launcher_configmap *place, const cJSON *pod,
				   int64_t now_ns);
void launcher_configmap_add_cluster(struct launcher_configmap *place);
void launcher_configmap_remove_cluster(struct launcher_configmap *place, int64_t now_ns);

/*
 * Returns whether the namespace has had neither Ray pods nor RayClusters for so long that it can be
 * forgotten.
 */
bool launcher_configmap_is_over(const struct launcher_configmap *place, int64_t now_ns);

/*
 * Decides what to write, given the present ConfigMap (NULL: there is none). *ret_change is a whole
 * object to create if there is none, otherwise a merge patch; NULL if nothing needs to be written.
 * collect: every pod is known, so keys may be removed. Returns 0 or -ENOMEM.
 */
int launcher_configmap_change(struct launcher_configmap *place, const char *namespace,
			      const struct launchers *launchers, const cJSON *have, bool collect,
			      int64_t now_ns, cJSON **ret_change, struct err *err);
