/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the objects of a cluster that must be read before planning. */
#include "operator/cluster_controller/wanted_objects.h"

#include <stdio.h>

#include "lib/json.h"
#include "operator/raycluster/autoscaler.h"
#include "operator/raycluster/bounds.h"
#include "operator/raycluster/gcs_ft.h"
#include "operator/raycluster/ingress.h"
#include "operator/raycluster/names.h"
#include "operator/raycluster/plan.h"
#include "operator/raycluster/service.h"

/* Takes wanted; NULL means that there is nothing to read. */
static void look_for(struct lookup_object *object, cJSON *wanted, struct known_cluster *known)
{
	const char *name = json_str(wanted, "metadata.name");
	char hash[PLAN_HASH_MAX];

	if (name) {
		plan_object_hash(wanted, hash);
		if (!known || !known_state_is_applied(known, json_str(wanted, "kind"), name, hash))
			snprintf(object->name, sizeof(object->name), "%s", name);
	}
	cJSON_Delete(wanted);
}

void wanted_objects(const cJSON *cluster, struct known_cluster *known,
		    struct namespace_lookup *lookup)
{
	_cleanup_free_ char *name = head_service_name(cluster),
			    *headless = headless_service_name(cluster);
	_cleanup_json_ cJSON *notes = cJSON_CreateArray();

	/* The plan says that the cluster is too large, and reads no object. */
	if (!bounds_check(cluster, notes))
		return;
	look_for(&lookup->objects[LOOKUP_INGRESS], ingress_build(cluster), known);
	look_for(&lookup->objects[LOOKUP_GCS_CLAIM], gcs_ft_claim(cluster), known);
	look_for(&lookup->objects[LOOKUP_SERVE], serve_service_build(cluster), known);
	look_for(&lookup->objects[LOOKUP_SERVICE], service_foreign(cluster, name), known);
	if (headless_service_wanted(cluster))
		look_for(&lookup->objects[LOOKUP_HEADLESS], service_foreign(cluster, headless),
			 known);
	if (!autoscaler_enabled(cluster))
		return;
	look_for(&lookup->objects[LOOKUP_ACCOUNT], autoscaler_account(cluster), known);
	/* The role has the binding's name, and is read each time that the binding is to be made. */
	look_for(&lookup->objects[LOOKUP_ROLE], autoscaler_binding(cluster), known);
	look_for(&lookup->objects[LOOKUP_BINDING], autoscaler_binding(cluster), known);
}
