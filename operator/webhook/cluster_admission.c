/* SPDX-License-Identifier: Apache-2.0 */
/* Decides how the admission webhook changes RayCluster, RayJob and RayService objects. */
#include "operator/webhook/cluster_admission.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "operator/kube/object.h"
#include "operator/webhook/cluster_memory.h"
#include "operator/webhook/cluster_origin.h"
#include "operator/webhook/memory_advice.h"
#include "operator/webhook/memory_record.h"
#include "operator/webhook/warnings.h"

/*
 * Returns the spec of the RayCluster in an object of that kind; NULL if it has none or is of
 * another kind.
 */
static cJSON *cluster_spec_of(const cJSON *object)
{
	static const struct {
		const char *kind, *path;
	} kinds[] = {
		{ "RayCluster", "spec" },
		{ "RayJob", "spec.rayClusterSpec" },
		{ "RayService", "spec.rayClusterConfig" },
		{ "RayCronJob", "spec.jobTemplate.rayClusterSpec" },
	};
	const char *kind = json_str(object, "kind");

	for (size_t i = 0; kind && i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kind, kinds[i].kind) == 0)
			return json_get(object, kinds[i].path);
	return NULL;
}

static bool is_cluster(const cJSON *object)
{
	return json_is(object, "kind", "RayCluster");
}

/* Returns whether the object's annotation has this word. */
static bool is_annotated(const cJSON *object, const char *word)
{
	const char *memory = object_annotation(object, MEMORY_ANNOTATION);

	return memory && strcasecmp(memory, word) == 0;
}

static struct memory_modes modes_of(const cJSON *object, const struct policy *policy)
{
	if (is_annotated(object, "apply"))
		return (struct memory_modes){ MEMORY_MODE_APPLY, MEMORY_MODE_APPLY };
	if (is_annotated(object, "warn"))
		return (struct memory_modes){ MEMORY_MODE_WARN, MEMORY_MODE_WARN };
	return policy_memory_modes(policy, MEMORY_MODE_WARN);
}

/* A RayJob's managedBy also applies to its cluster. */
static bool is_left_alone(const cJSON *object)
{
	const cJSON *annotations = json_get(object, "metadata.annotations");
	const cJSON *spec = cluster_spec_of(object);

	return !cJSON_IsObject(spec) || !cJSON_IsObject(json_get(object, "metadata")) ||
	       (annotations && !cJSON_IsObject(annotations)) || is_annotated(object, "off") ||
	       json_get(object, "metadata.deletionTimestamp") || cluster_runs_elsewhere(spec) ||
	       cluster_runs_elsewhere(json_get(object, "spec"));
}

static int cluster_admission_advise(const cJSON *object, const cJSON *record_of,
				    const struct cluster_request *req, const struct policy *policy,
				    cJSON *warnings, struct err *err)
{
	_cleanup_(memory_record_release) struct memory_record record = { 0 };
	struct advice_request advice = { .spec = cluster_spec_of(object),
					 .record = &record,
					 .policy = policy,
					 .created = !req->old,
					 .annotations = json_get(object, "metadata.annotations"),
					 .modes = modes_of(object, policy) };
	int r = is_cluster(object) ? memory_record_read(record_of, &record, err) : 0;

	if (r < 0 || !advice.spec)
		return r;
	advice.keeper = is_cluster(object) ? cluster_list_keeper(object, req->user) : LISTS_FREE;
	memory_advise(&advice, warnings);
	return 0;
}

/*
 * Adds warnings. Those that the old object already caused were given before; the writes of KubeRay
 * and the autoscaler would repeat them for ever.
 */
static int cluster_admission_warn(const struct cluster_request *req, const struct policy *policy,
				  cJSON *warnings, struct err *err)
{
	_cleanup_json_ cJSON *known = cJSON_CreateArray();
	const cJSON *record_of = req->old ? req->old : req->object;
	int r = cluster_admission_advise(req->object, record_of, req, policy, warnings, err);

	if (r < 0 || !req->old || is_left_alone(req->old))
		return r;
	r = cluster_admission_advise(req->old, record_of, req, policy, known, err);
	warnings_drop_known(warnings, known);
	return r;
}

/* Sets what the modes ask for in what is new, and keeps what was set earlier whatever they are. */
static int set_memory(const struct cluster_request *req, const struct policy *policy,
		      cJSON **ret_object, struct err *err)
{
	struct memory_modes modes = modes_of(req->object, policy);

	if (!is_cluster(req->object) || (!req->old && modes.settings != MEMORY_MODE_APPLY))
		return 0;
	return cluster_memory_set(req->old, req->object,
				  cluster_list_keeper(req->object, req->user), policy, modes,
				  ret_object, err);
}

int cluster_admit(const struct cluster_request *request, const struct policy *policy,
		  struct cluster_admission *ret, struct err *err)
{
	_cleanup_(cluster_admission_release) struct cluster_admission admission = { 0 };
	struct cluster_request copy = *request, *req = &copy;
	size_t lost = oom_count();
	int r = 0;

	if (!cJSON_IsObject(copy.old)) /* in an AdmissionReview it may be null */
		copy.old = NULL;
	admission.warnings = cJSON_CreateArray();
	if (!is_left_alone(req->object)) {
		r = set_memory(req, policy, &admission.object, err);
		if (r == 0)
			r = cluster_admission_warn(req, policy, admission.warnings, err);
	}
	if (r < 0)
		return r;
	if (oom_count() != lost)
		return err_set(err, ENOMEM, "admission of a cluster");
	*ret = admission;
	admission = (struct cluster_admission){ 0 };
	return 0;
}

void cluster_admission_release(struct cluster_admission *admission)
{
	cJSON_Delete(admission->object);
	cJSON_Delete(admission->warnings);
	*admission = (struct cluster_admission){ 0 };
}
