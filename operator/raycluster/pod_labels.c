/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the labels by which the pods of a RayCluster are found. */
#include "operator/raycluster/pod_labels.h"

#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "operator/kube/object.h"
#include "operator/raycluster/names.h"
#include "operator/raycluster/pod_state.h"

bool pod_label_is_ours(const char *name)
{
	return TEXT_IS_ONE_OF(name, "ray.io/is-ray-node", "ray.io/cluster", "ray.io/node-type",
			      "ray.io/group");
}

static void put_back(const cJSON *pod, cJSON **labels, const char *name, const char *value)
{
	if (strcmp(pod_label(pod, name), value) == 0)
		return;
	if (!*labels)
		*labels = cJSON_CreateObject();
	json_set_str(*labels, name, value);
}

cJSON *pod_labels_patch(const cJSON *pod, const char *cluster)
{
	_cleanup_json_ cJSON *labels = NULL;

	put_back(pod, &labels, "ray.io/is-ray-node", "yes");
	put_back(pod, &labels, "ray.io/cluster", cluster);
	put_back(pod, &labels, "ray.io/node-type",
		 ray_node_name(pod_is_head(pod) ? RAY_HEAD : RAY_WORKER));
	if (pod_is_head(pod))
		put_back(pod, &labels, "ray.io/group", HEAD_GROUP_NAME);
	if (!labels)
		return NULL;
	cJSON *patch = object_new("v1", "Pod", json_str(pod, "metadata.namespace"),
				  json_str(pod, "metadata.name"));
	cJSON *metadata = json_get(patch, "metadata");
	json_set_str(metadata, "uid", json_str(pod, "metadata.uid"));
	json_set(metadata, "labels", TAKE_PTR(labels));
	return patch;
}
