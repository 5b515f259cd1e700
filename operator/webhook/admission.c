/* SPDX-License-Identifier: Apache-2.0 */
/* Answers the API server's admission reviews. */
#include "operator/webhook/admission.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/docs.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/sidecar_names.h"
#include "lib/units.h"
#include "operator/failures/owner.h"
#include "operator/injection/pod_security.h"
#include "operator/injection/report_key.h"
#include "operator/kube/object.h"
#include "operator/podspec/store_claim.h"
#include "operator/webhook/admission_review.h"
#include "operator/webhook/cluster_admission.h"
#include "operator/webhook/image_trouble.h"
#include "operator/webhook/pod_admission.h"
#include "operator/webhook/refusals.h"
#include "operator/webhook/review_budget.h"
#include "operator/webhook/review_outline.h"
#include "operator/webhook/shell_trouble.h"
#include "operator/webhook/warnings.h"

#define KEY_MAX 512

struct admission {
	struct admission_options o;
	struct remembered refusals, image_trouble, shell_trouble;
	struct review_budget budget;
};

int admission_new(const struct admission_options *options, struct admission **ret_admission,
		  struct err *err)
{
	struct admission *a = calloc(1, sizeof(*a));

	if (!a)
		return err_set(err, ENOMEM, "admission");
	a->o = *options;
	review_budget_init(&a->budget);
	*ret_admission = a;
	return 0;
}

void admission_free(struct admission *a)
{
	if (!a)
		return;
	remembered_release(&a->refusals);
	remembered_release(&a->image_trouble);
	remembered_release(&a->shell_trouble);
	free(a);
}

static const char *admission_label(const cJSON *object, const char *name)
{
	return object_label(object, name) ?: "";
}

/* Writes the group by which pods are counted together. Returns false if the names do not fit. */
static bool group_of(const char *namespace, const cJSON *pod, char buf[static KEY_MAX])
{
	return snprintf(buf, KEY_MAX, "%s/%s/%s", namespace, admission_label(pod, "ray.io/cluster"),
			admission_label(pod, "ray.io/group")) < KEY_MAX;
}

void admission_see_pod(struct admission *a, bool added, const cJSON *pod)
{
	const char *namespace = json_str(pod, "metadata.namespace");
	char group[KEY_MAX];

	image_trouble_see(&a->image_trouble, pod, now_boottime_ns());
	shell_trouble_see(&a->shell_trouble, pod, now_boottime_ns());
	if (added && namespace &&
	    json_find(json_get(pod, "spec.containers"), "name", SIDECAR_CONTAINER) &&
	    group_of(namespace, pod, group))
		remembered_forget(&a->refusals, group);
}

/* Returns an object of a cache; NULL if it does not exist, or the names do not fit. */
static const cJSON *admission_cached(const struct admission *a, enum watch_kind kind,
				     const char *namespace, const char *name)
{
	char key[KEY_MAX];

	if (!name || !*name ||
	    snprintf(key, sizeof(key), *namespace ? "%s/%s" : "%s%s", namespace, name) >= KEY_MAX)
		return NULL;
	return store_get(watches_store(a->o.watches, kind), key);
}

static const char *claim_trouble(const struct admission *a, const char *namespace,
				 const struct policy *policy)
{
	if (!policy->store.claim)
		return NULL;
	if (!informer_synced(watches_informer(a->o.watches, WATCH_CLAIMS)))
		return "cannot be looked up";
	return store_claim_trouble(
		admission_cached(a, WATCH_CLAIMS, namespace, policy->store.claim),
		now_realtime_ns());
}

static const char *kernel_log_refused(const struct admission *a, const char *namespace,
				      const struct policy *policy,
				      char reason[static POD_SECURITY_REASON_MAX])
{
	if (!policy_needs_privilege(policy))
		return NULL;
	pod_security_judge(
		namespace,
		json_get(admission_cached(a, WATCH_NAMESPACES, "", namespace), "metadata.labels"),
		reason);
	return *reason ? reason : NULL;
}

static struct limit_rules limit_rules_of(const struct admission *a, const char *namespace)
{
	const struct store *store = watches_store(a->o.watches, WATCH_LIMIT_RANGES);
	const struct store_entry *entry = NULL;
	struct limit_rules rules = { 0 };

	while ((entry = store_index_next(store, namespace, entry)))
		qos_add_rules(&rules, store_entry_peek(store, entry));
	return rules;
}

/*
 * Returns why the pod should go without the sidecar for now. A cache of pods that has lost its
 * watch shows no new pods, so it does not prove that they were refused.
 */
static enum pod_absence absence_reason(const struct admission *a, const char *namespace,
				       const cJSON *pod, const char *group)
{
	int64_t now = now_boottime_ns();

	if (image_trouble_holds(&a->image_trouble, namespace, now))
		return POD_ABSENCE_IMAGE;
	if (shell_trouble_holds(&a->shell_trouble, namespace, pod, now))
		return POD_ABSENCE_NO_SHELL;
	if (informer_synced(watches_informer(a->o.watches, WATCH_PODS)) &&
	    refusals_hold(&a->refusals, group, now))
		return POD_ABSENCE_REFUSED;
	return POD_ABSENCE_NONE;
}

static void annotate_owner(cJSON *pod, const cJSON *cluster)
{
	struct owner owner;
	char text[OWNER_TEXT_MAX];

	if (pod && cluster && owner_of_cluster(cluster, &owner))
		json_set_str(json_object_at(json_object_at(pod, "metadata"), "annotations"),
			     OWNER_ANNOTATION, owner_format(&owner, text));
}

/* Returns a label's value for a metric. Only kinds in the chart's rules have one. */
static const char *admission_kind_of(const struct admission_request *request)
{
	return TEXT_IS_ONE_OF(request->kind, "RayCluster", "RayJob", "RayService") ? request->kind :
										     "other";
}

static void admission_count(struct admission *a, const char *kind, const char *outcome)
{
	metrics_add(a->o.metrics, METRIC_ADMISSIONS, 1, "kind=\"%s\",outcome=\"%s\"", kind,
		    *outcome ? outcome : "Changed");
}

/* Returns the changed pod, which the caller frees; NULL if the pod stays as it is. */
static cJSON *admit_pod(struct admission *a, const struct admission_request *request)
{
	char reason_text[POD_SECURITY_REASON_MAX], group[KEY_MAX], key[REPORT_KEY_LEN + 1];
	const cJSON *cluster = admission_cached(a, WATCH_CLUSTERS, request->namespace,
						admission_label(request->object, "ray.io/cluster"));
	struct pod_admission in = { .namespace = request->namespace,
				    .cluster = cluster,
				    .launchers = a->o.launchers };
	struct err err = { 0 };
	const char *reason;
	cJSON *pod = NULL;

	if (!pod_admission_concerns(request->object) ||
	    !group_of(request->namespace, request->object, group))
		return NULL;
	in.policy = policies_for(a->o.policies, request->namespace,
				 json_get(cluster ? cluster : request->object, "metadata.labels"),
				 &in.policy_origin);
	in.store_claim_trouble = claim_trouble(a, request->namespace, in.policy);
	in.kernel_log_refused = kernel_log_refused(a, request->namespace, in.policy, reason_text);
	in.rules = limit_rules_of(a, request->namespace);
	if (refusals_want_cpu_limit(cluster) && !in.rules.of[0].ratio)
		in.rules.of[0].ratio = LIMIT_RATIO_ANY;
	in.absence = absence_reason(a, request->namespace, request->object, group);
	report_key_new(key);
	in.report_key = key;
	if (pod_admit(request->object, &in, &pod, &reason, &err) < 0) {
		log_warning("a pod of %s is admitted unchanged: %s", group, err_text(&err));
		return NULL;
	}
	annotate_owner(pod, cluster);
	admission_count(a, "Pod", reason);
	if (*reason)
		log_debug("a pod of %s is admitted without a new sidecar: %s", group, reason);
	else if (!request->dry_run &&
		 refusals_are_evident(cluster, admission_label(request->object, "ray.io/group")))
		remembered_note(&a->refusals, group, REFUSALS_GAP_NS, now_boottime_ns());
	return pod;
}

/*
 * Does the same for a RayCluster, RayJob or RayService; warnings are for the person who applies it.
 */
static cJSON *admit_ray(struct admission *a, const struct admission_request *request,
			cJSON *warnings)
{
	const struct cluster_request in = { .old = request->old_object,
					    .object = request->object,
					    .user = request->user };
	_cleanup_(cluster_admission_release) struct cluster_admission out = { 0 };
	const char *origin;
	const struct policy *policy =
		policies_for(a->o.policies, request->namespace,
			     json_get(request->object, "metadata.labels"), &origin);
	struct err err = { 0 };

	if (cluster_admit(&in, policy, &out, &err) < 0) {
		log_warning("%s %s/%s is admitted unchanged: %s", request->kind, request->namespace,
			    request->name, err_text(&err));
		return NULL;
	}
	admission_count(a, admission_kind_of(request), out.object ? "" : "Unchanged");
	json_each(warning, out.warnings)
		json_append(warnings, cJSON_Duplicate(warning, true));
	return TAKE_PTR(out.object);
}

static void answer_review(struct admission *a, bool pods, const struct admission_request *request,
			  struct strbuf *answer)
{
	_cleanup_json_ cJSON *warnings = cJSON_CreateArray();
	_cleanup_json_ cJSON *changed =
		pods ? admit_pod(a, request) : admit_ray(a, request, warnings);

	admission_answer(request, changed, warnings, answer);
}

/* Returns why the review is not read as a whole, for the price of an outline; NULL: it is. */
static const char *unread_reason(struct admission *a, enum review_size size, const char *namespace)
{
	if (size == REVIEW_TOO_LARGE)
		return "TooLarge";
	return review_budget_take(&a->budget, namespace, now_boottime_ns()) ? NULL : "TooMany";
}

/* Allows the object as it is. A pod says why, and so does a warning to whoever applies it. */
static void answer_unread(struct admission *a, bool pods, const struct admission_request *request,
			  const char *reason, struct strbuf *answer)
{
	_cleanup_json_ cJSON *warnings = cJSON_CreateArray();
	_cleanup_json_ cJSON *changed = pods ? pod_decline(request->object, reason) : NULL;

	warnings_addf(warnings, "Afterglow did not read this object (%s): " DOCS_PAGE("limits.md"),
		      reason);
	log_warning_limited("%s of namespace %s is admitted unread: %s", request->kind,
			    request->namespace, reason);
	admission_count(a, pods ? "Pod" : admission_kind_of(request), reason);
	admission_answer(request, changed, warnings, answer);
}

/* Handles a review above the usual size. Returns 0 if it is to be read as a whole. */
static int handle_large(struct admission *a, bool pods, enum review_size size, const char *body,
			size_t len, struct strbuf *answer, struct err *err)
{
	_cleanup_json_ cJSON *outline = NULL;
	struct admission_request request;

	if (review_outline(body, len, &outline, err) < 0 ||
	    admission_request_read(outline, &request, err) < 0)
		return 400;
	const char *reason = unread_reason(a, size, request.namespace);
	if (!reason)
		return 0;
	answer_unread(a, pods, &request, reason, answer);
	return 200;
}

/* Reads the review as a whole. */
static int handle_whole(struct admission *a, bool pods, const char *body, size_t len,
			struct strbuf *answer, struct err *err)
{
	_cleanup_json_ cJSON *review = NULL;
	struct admission_request request;

	if (json_parse(body, len, &review, err) < 0 ||
	    admission_request_read(review, &request, err) < 0)
		return 400;
	/* Half of a pod's review, which nobody reads: it need not be copied and compared. */
	if (pods)
		cJSON_DeleteItemFromObjectCaseSensitive(json_get(review, "request.object.metadata"),
							"managedFields");
	answer_review(a, pods, &request, answer);
	return 200;
}

int admission_handle(void *arg, const char *path, const char *, const char *body, size_t len,
		     struct strbuf *answer)
{
	struct admission *a = arg;
	bool pods = strcmp(path, ADMISSION_PATH_PODS) == 0;
	int64_t from = now_boottime_ns();
	struct err err = { 0 };
	int status = 0;

	if (!pods && strcmp(path, ADMISSION_PATH_RAY) != 0)
		return 404;
	enum review_size size = review_size(body, len);
	if (size != REVIEW_USUAL)
		status = handle_large(a, pods, size, body, len, answer, &err);
	if (status == 0)
		status = handle_whole(a, pods, body, len, answer, &err);
	if (status != 200) {
		log_warning_limited("a request to %s is not answered: %s", path, err_text(&err));
		return status;
	}
	metrics_observe(a->o.metrics, METRIC_ADMISSION_SECONDS,
			(double)(now_boottime_ns() - from) / 1e9, "webhook=\"%s\"", path);
	return answer->len ? 200 : 500;
}
