/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of one namespace that has, or had, Ray in it: which keys of the
 * launchers' ConfigMap its pods refer to; and what should be done about that
 * ConfigMap. Pure: the time is an argument, the write a value.
 *
 * Keys are added and repaired at once. A key of another release goes when no pod
 * has referred to it for an hour: until then a container of such a pod may start
 * again, and the deletion of the last one may be a part of a rollback. All keys go
 * when there has been neither a Ray pod nor a RayCluster for an hour. What others
 * put into the ConfigMap stays, and so does the ConfigMap.
 */
#ifndef AFTERGLOW_OPERATOR_LAUNCHER_LAUNCHER_CONFIGMAP_H
#define AFTERGLOW_OPERATOR_LAUNCHER_LAUNCHER_CONFIGMAP_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/strmap.h"
#include "operator/launcher/launcher.h"

#define LAUNCHER_UNUSED_NS ((int64_t)3600 * 1000000000)
/* Of a namespace, whose users may name keys as they like. With more than that no single key is removed any more. */
#define LAUNCHER_PLACE_KEYS_MAX 32

struct launcher_configmap {
	size_t n_pods, n_clusters;
	struct strmap keys; /* named as launchers are -> struct key_use */
	bool crowded; /* there were more keys; until the last pod is gone */
	int64_t empty_ns; /* since when there is neither pod nor cluster; 0: there is one */
};

void launcher_configmap_release(struct launcher_configmap *place);

/* One Ray pod (spec.volumes.configMap.items.key is read), or one RayCluster, more or less. now_ns: above 0, as below. */
void launcher_configmap_add_pod(struct launcher_configmap *place, const cJSON *pod);
void launcher_configmap_remove_pod(struct launcher_configmap *place, const cJSON *pod, int64_t now_ns);
void launcher_configmap_add_cluster(struct launcher_configmap *place);
void launcher_configmap_remove_cluster(struct launcher_configmap *place, int64_t now_ns);

/* Whether there has been no Ray for long enough. */
bool launcher_configmap_is_over(const struct launcher_configmap *place, int64_t now_ns);

/*
 * What to write, given the ConfigMap as it is (NULL: there is none): a whole object to create if there is none, else what
 * is to be merged into it. NULL: nothing. collect: every pod is known, so that keys may be removed. -ENOMEM.
 */
int launcher_configmap_change(struct launcher_configmap *place, const char *namespace, const struct launchers *launchers,
			  const cJSON *have, bool collect, int64_t now_ns, cJSON **ret_change, struct err *err);

#endif
