/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans the objects around the pods of a cluster. Services are watched, and compared
 * with what they should be. The others are applied, or created once, and then assumed
 * to exist for a while, so that no right to read Secrets or other people's roles is
 * needed.
 */
#include "operator/raycluster/plan_internal.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "operator/kube/object.h"
#include "operator/raycluster/auth.h"
#include "operator/raycluster/autoscaler.h"
#include "operator/kube/event.h"
#include "operator/raycluster/gcs_ft.h"
#include "operator/raycluster/ingress.h"
#include "operator/raycluster/pod_state.h"
#include "operator/raycluster/service.h"

#define NOT_OURS "already exists and is not owned by this RayCluster"

void plan_object_hash(const cJSON *body, char ret_hash[static PLAN_HASH_MAX])
{
	_cleanup_json_ cJSON *copy = cJSON_Duplicate(body, true);
	_cleanup_free_ char *text = NULL;

	/* The value in a Secret is random each time. The uid is a precondition. */
	cJSON_DeleteItemFromObjectCaseSensitive(copy, "stringData");
	cJSON_DeleteItemFromObjectCaseSensitive(json_get(copy, "metadata"), "uid");
	text = cJSON_PrintUnformatted(copy);
	sha256_hex(text ? text : "", text ? strlen(text) : 0, PLAN_HASH_MAX - 1, ret_hash);
}

static bool is_believed(const struct planner *p, const cJSON *body)
{
	char hash[PLAN_HASH_MAX];

	plan_object_hash(body, hash);
	return p->in->is_applied && p->in->is_applied(p->in->arg, json_str(body, "kind"), json_str(body, "metadata.name"), hash);
}

/* Takes body; NULL means that there is nothing to do. */
static void plan_objects_keep(struct planner *p, enum plan_op_kind kind, cJSON *body)
{
	if (body && is_believed(p, body))
		cJSON_Delete(body);
	else if (body)
		planner_add(p, kind, body);
}

/* Says that an object is not ours, and believes body, so that it is not said again soon. Takes body. */
static void plan_objects_leave(struct planner *p, cJSON *body, const char *why)
{
	const char *kind = json_str(body, "kind");
	char note[512], reason[64];

	snprintf(reason, sizeof(reason), "FailedToCreate%s", kind);
	snprintf(note, sizeof(note), "%s %s/%s %s; not modifying it", kind,
		 json_str(body, "metadata.namespace"), json_str(body, "metadata.name"), why);
	planner_add(p, PLAN_EVENT,
		    event_warning(p->in->cluster, reason, "Create", note, p->in->now_ns));
	planner_add(p, PLAN_BELIEVE, body);
}

/*
 * Plans the service. Somebody else's service of that name is not changed: who may write RayClusters
 * need not have a right to Services. clusterIP cannot be changed: a service that has one (for
 * example from KubeRay) keeps it. Takes wanted.
 */
static void plan_service(struct planner *p, const cJSON *have, cJSON *wanted)
{
	_cleanup_json_ cJSON *service = wanted,
			     *foreign = service_foreign(p->in->cluster,
							json_str(wanted, "metadata.name"));
	const char *cluster_ip = json_str(have, "spec.clusterIP");
	bool ours = object_is_of_cluster(have, p->in->cluster);

	if (!ours && foreign && is_believed(p, foreign))
		return;
	if (have && !ours) {
		plan_objects_leave(p, TAKE_PTR(foreign), NOT_OURS);
		return;
	}
	if (cluster_ip && *cluster_ip && service)
		json_set_str(json_get(service, "spec"), "clusterIP", cluster_ip);
	if (!have || !object_covers(have, service))
		planner_add(p, PLAN_APPLY, TAKE_PTR(service));
}

/*
 * The service has to find the existing head, which may have been created when the spec had other
 * labels.
 */
static cJSON *head_service(struct planner *p)
{
	cJSON *service = service_build(p->in->cluster), *key;

	for (size_t i = 0; i < p->n_pods; i++) {
		const cJSON *labels = json_get(p->pods[i], "metadata.labels");

		if (p->leaving[i] || !pod_is_head(p->pods[i]))
			continue;
		cJSON_ArrayForEach(key, json_get(service, "spec.selector")) {
			const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(labels, key->string));

			if (value && !cJSON_SetValuestring(key, value))
				p->failed = true;
		}
		break;
	}
	return service;
}

/*
 * These objects are created, not applied: an account or role of the same name may exist already
 * (every namespace has an account "default"). It must not be changed, and must not be deleted with
 * the cluster.
 */
static void plan_autoscaler(struct planner *p)
{
	_cleanup_json_ cJSON *objects = NULL;
	cJSON *object;

	if (!autoscaler_enabled(p->in->cluster))
		return;
	objects = autoscaler_objects(p->in->cluster);
	while ((object = cJSON_DetachItemFromArray(objects, 0)))
		plan_objects_keep(p, PLAN_CREATE, object);
}

/*
 * A foreign Ingress of that name is not changed, because its rules may lead elsewhere. Takes
 * wanted.
 */
static void plan_ingress(struct planner *p, cJSON *wanted)
{
	_cleanup_json_ cJSON *ingress = wanted;
	const cJSON *have = p->in->ingress;
	bool ours = have && pod_is_owned(have, json_str(p->in->cluster, "metadata.uid"));

	if (!ingress || is_believed(p, ingress))
		return;
	if ((have && !ours) || p->in->ingress_refused) {
		plan_objects_leave(p, TAKE_PTR(ingress),
				   have ? NOT_OURS : "may not be read by the operator");
		return;
	}
	/* The precondition makes sure that the patch applies to the Ingress that was read. */
	if (ours)
		json_set_str(json_get(ingress, "metadata"), "uid", json_str(have, "metadata.uid"));
	planner_add(p, PLAN_APPLY, TAKE_PTR(ingress));
}

/* deletionPolicy may change while the claim is there. Takes wanted. */
static void plan_gcs_claim(struct planner *p, cJSON *wanted)
{
	_cleanup_json_ cJSON *claim = wanted;
	cJSON *owners = p->in->gcs_claim && claim ? gcs_ft_claim_owners(p->in->cluster, p->in->gcs_claim) : NULL;

	if (owners)
		planner_add(p, PLAN_MERGE, owners);
	else if (p->in->gcs_claim && claim)
		planner_add(p, PLAN_BELIEVE, TAKE_PTR(claim));
	else
		plan_objects_keep(p, PLAN_CREATE, TAKE_PTR(claim));
}

void plan_objects(struct planner *p)
{
	const cJSON *cluster = p->in->cluster;

	p->view.service = object_is_of_cluster(p->in->service, cluster) ? p->in->service : NULL;
	plan_service(p, p->in->service, head_service(p));
	if (headless_service_wanted(cluster))
		plan_service(p, p->in->headless, headless_service_build(cluster));
	/* As with KubeRay, an existing object stays as it is. */
	plan_objects_keep(p, PLAN_CREATE, serve_service_build(cluster));
	plan_autoscaler(p);
	if (p->in->token)
		plan_objects_keep(p, PLAN_CREATE, auth_secret(cluster, p->in->token));
	plan_gcs_claim(p, gcs_ft_claim(cluster));
	plan_ingress(p, ingress_build(cluster));
}
