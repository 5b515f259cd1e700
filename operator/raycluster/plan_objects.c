/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans the objects around the pods of a cluster. Services are watched, and compared
 * with what they should be. The others are read, applied or created if it is necessary, and
 * then assumed to exist for a while. Only a Secret is never read. An object of another owner
 * is left alone: who may write RayClusters need not have a right to it.
 */
#include "operator/raycluster/plan_internal.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/strbuf.h"
#include "operator/kube/event.h"
#include "operator/kube/object.h"
#include "operator/raycluster/auth.h"
#include "operator/raycluster/autoscaler.h"
#include "operator/raycluster/gcs_ft.h"
#include "operator/raycluster/ingress.h"
#include "operator/raycluster/pod_state.h"
#include "operator/raycluster/service.h"

#define NOT_OURS "already exists and is not owned by this RayCluster"
#define UNREADABLE "may not be read by the operator"
/* In a cluster of this age the head's account is bound also to a Role that is to go. */
#define GOING_MAX_NS (600 * NS_PER_SEC)
#define NO_RIGHT ", so the operator gives Ray's autoscaler no right by it"

void plan_object_hash(const cJSON *body, char ret_hash[static PLAN_HASH_MAX])
{
	_cleanup_json_ cJSON *copy = cJSON_Duplicate(body, true);
	_cleanup_free_ char *text = NULL;

	/* The value in a Secret is random each time. The others are preconditions. */
	cJSON_DeleteItemFromObjectCaseSensitive(copy, "stringData");
	cJSON_DeleteItemFromObjectCaseSensitive(json_get(copy, "metadata"), "uid");
	cJSON_DeleteItemFromObjectCaseSensitive(json_get(copy, "metadata"), "resourceVersion");
	text = cJSON_PrintUnformatted(copy);
	sha256_hex(text ? text : "", text ? strlen(text) : 0, PLAN_HASH_MAX - 1, ret_hash);
}

static bool is_believed(const struct planner *p, const cJSON *body)
{
	char hash[PLAN_HASH_MAX];

	plan_object_hash(body, hash);
	return p->in->is_applied && p->in->is_applied(p->in->arg, json_str(body, "kind"),
						      json_str(body, "metadata.name"), hash);
}

/*
 * Says that an object is not ours, and believes body, so that it is not said again soon. Takes
 * body.
 */
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
 * Tells people, every ten minutes at most, that this cluster cannot have the object body while have
 * is there, and what keeps have.
 */
static void plan_objects_tell_going(struct planner *p, const cJSON *have, const cJSON *body)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT(320);
	bool deleted = pod_is_terminating(have);
	_cleanup_json_ cJSON *mark = cJSON_Duplicate(body, true);

	json_set_str(mark, "status", "going"); /* it is believed in place of body */
	strbuf_adds(&why, deleted ?
				  "is being deleted and is kept by its finalizers:" :
				  "is of a former RayCluster of this name, and nobody deletes it");
	json_each(finalizer, deleted ? json_get(have, "metadata.finalizers") : NULL)
		strbuf_addf(&why, " %s", cJSON_GetStringValue(finalizer) ?: "?");
	if (!is_believed(p, mark))
		plan_objects_leave(p, TAKE_PTR(mark), strbuf_str(&why));
}

/*
 * Returns whether have, which has the name of body, is to go, and plans to look again: it is being
 * deleted, or it is of a former cluster, which was deleted and made again at once, and the garbage
 * collector removes it.
 */
static bool is_going(struct planner *p, const cJSON *have, const cJSON *body)
{
	const cJSON *cluster = p->in->cluster;
	int64_t since_ns = p->in->now_ns - p->plan.doubt_ns;
	bool former = object_controller(have) && object_is_of_cluster(have, cluster) &&
		      !pod_is_owned(have, json_str(cluster, "metadata.uid"));

	if (!json_time(have, "metadata.deletionTimestamp", &since_ns) && !former)
		return false;
	int64_t ns = MAX(p->in->now_ns - since_ns, PLAN_RETRY_NS);
	planner_requeue(p, MIN(ns, PLAN_GOING_NS));
	if (ns >= PLAN_GOING_NS)
		plan_objects_tell_going(p, have, body);
	return true;
}

/*
 * Plans an object that is created once: as with KubeRay, it stays as it is if it exists. One that
 * is to have no owner may be anybody's. Takes wanted; NULL means that there is nothing to do.
 */
static void plan_objects_create(struct planner *p, const cJSON *have, cJSON *wanted)
{
	_cleanup_json_ cJSON *body = wanted;

	if (!body || is_believed(p, body) || is_going(p, have, body))
		return;
	if (have && object_controller(body) && !object_is_of_cluster(have, p->in->cluster))
		plan_objects_leave(p, TAKE_PTR(body), NOT_OURS);
	else
		planner_add(p, have ? PLAN_BELIEVE : PLAN_CREATE, TAKE_PTR(body));
}

/*
 * Plans that body is applied to have and to no other object. If have is NULL, body is only made:
 * no object has resource version 1, so that one that somebody else made meanwhile is a conflict,
 * and the next plan sees it. Takes body.
 */
static void plan_objects_apply(struct planner *p, const cJSON *have, cJSON *body)
{
	json_set_str(json_get(body, "metadata"), have ? "uid" : "resourceVersion",
		     have ? json_str(have, "metadata.uid") : "1");
	planner_add(p, PLAN_APPLY, body);
}

/*
 * Plans the service. clusterIP cannot be changed: a service that has one (for
 * example from KubeRay) keeps it. Takes wanted.
 */
static void plan_service(struct planner *p, const cJSON *have, cJSON *wanted)
{
	_cleanup_json_ cJSON *service = wanted,
			     *foreign = service_foreign(p->in->cluster,
							json_str(wanted, "metadata.name"));
	const char *cluster_ip = json_str(have, "spec.clusterIP");
	bool ours = object_is_of_cluster(have, p->in->cluster);

	if (!ours && foreign && (is_believed(p, foreign) || is_going(p, have, foreign)))
		return;
	if (have && !ours) {
		plan_objects_leave(p, TAKE_PTR(foreign), NOT_OURS);
		return;
	}
	if (cluster_ip && *cluster_ip && service)
		json_set_str(json_get(service, "spec"), "clusterIP", cluster_ip);
	if (!have || !object_covers(have, service))
		plan_objects_apply(p, have, TAKE_PTR(service));
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
			const char *value = cJSON_GetStringValue(
				cJSON_GetObjectItemCaseSensitive(labels, key->string));

			if (value && !cJSON_SetValuestring(key, value))
				p->failed = true;
		}
		break;
	}
	return service;
}

/*
 * An account of the same name may exist already (every namespace has an account "default"). The
 * head's account is bound to no role but one that was read and is the cluster's: the right to do
 * what another role allows, now or later, is not to be had by a name.
 */
static void plan_autoscaler(struct planner *p)
{
	const cJSON *cluster = p->in->cluster, *role = p->in->role;
	_cleanup_json_ cJSON *binding =
		autoscaler_enabled(cluster) ? autoscaler_binding(cluster) : NULL;
	_cleanup_json_ cJSON *wanted = binding ? autoscaler_role(cluster) : NULL;

	if (!binding)
		return;
	plan_objects_create(p, p->in->account, autoscaler_account(cluster));
	if (is_believed(p, binding))
		return;
	bool going = is_going(p, role, wanted);
	bool of_cluster = role && object_is_of_cluster(role, cluster);
	if (going && (p->in->binding || p->plan.doubt_ns < GOING_MAX_NS || !of_cluster))
		return;
	if (p->in->role_refused || (role && !of_cluster)) {
		plan_objects_leave(p, TAKE_PTR(wanted),
				   role ? NOT_OURS NO_RIGHT : UNREADABLE NO_RIGHT);
		planner_add(p, PLAN_BELIEVE, TAKE_PTR(binding));
	} else if (role) {
		plan_objects_create(p, p->in->binding, TAKE_PTR(binding));
	} else {
		planner_add(p, PLAN_CREATE, TAKE_PTR(wanted));
		planner_requeue(p, PLAN_RETRY_NS);
	}
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

	if (!ingress || is_believed(p, ingress) || is_going(p, have, ingress))
		return;
	if ((have && !ours) || p->in->ingress_refused) {
		plan_objects_leave(p, TAKE_PTR(ingress), have ? NOT_OURS : UNREADABLE);
		return;
	}
	plan_objects_apply(p, have, TAKE_PTR(ingress));
}

/* deletionPolicy may change while the claim is there. Takes wanted. */
static void plan_gcs_claim(struct planner *p, cJSON *wanted)
{
	_cleanup_json_ cJSON *claim = wanted;
	cJSON *owners = p->in->gcs_claim && claim ?
				gcs_ft_claim_owners(p->in->cluster, p->in->gcs_claim) :
				NULL;

	if (owners)
		planner_add(p, PLAN_MERGE, owners);
	else
		plan_objects_create(p, p->in->gcs_claim, TAKE_PTR(claim));
}

void plan_objects(struct planner *p)
{
	const cJSON *cluster = p->in->cluster;
	int64_t made_ns = p->in->now_ns;

	json_time(cluster, "metadata.creationTimestamp", &made_ns);
	p->plan.doubt_ns = MAX(PLAN_RETRY_NS, p->in->now_ns - made_ns);
	p->view.service = object_is_of_cluster(p->in->service, cluster) ? p->in->service : NULL;
	plan_service(p, p->in->service, head_service(p));
	if (headless_service_wanted(cluster))
		plan_service(p, p->in->headless, headless_service_build(cluster));
	plan_objects_create(p, p->in->serve, serve_service_build(cluster));
	plan_autoscaler(p);
	if (p->in->token)
		plan_objects_create(p, NULL, auth_secret(cluster, p->in->token));
	plan_gcs_claim(p, gcs_ft_claim(cluster));
	plan_ingress(p, ingress_build(cluster));
}
