/* SPDX-License-Identifier: Apache-2.0 */
/* Is the RayCluster valid, and does this version do all it asks for? */
#include "operator/raycluster/validate.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "lib/json.h"
#include "operator/raycluster/names.h"
#include "operator/raycluster/notes.h"
#include "operator/raycluster/pod_spec.h"

#define CLUSTER_NAME_MAX 53 /* leaves room for "-head-svc" and the pods' suffixes within 63 */
#define GROUP_NAME_MAX 63   /* it becomes a label's value */

#define invalid(notes, ...) notes_addf(notes, NOTE_SPEC_VALID, "InvalidRayClusterSpec", __VA_ARGS__)

static bool is_dns_1035(const char *s, size_t max)
{
	size_t len = strlen(s);

	if (!len || len > max || !islower((unsigned char)s[0]) || s[len - 1] == '-')
		return false;
	return strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

/* Upper case is lowered in the pod's name; the rest must do in a name and in a label. */
static bool is_group_name(const char *s)
{
	size_t len = strlen(s);

	if (!len || len > GROUP_NAME_MAX || !isalnum((unsigned char)s[0]) ||
	    !isalnum((unsigned char)s[len - 1]))
		return false;
	return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") == len;
}

static void check_start_params(const cJSON *group, const char *name, cJSON *notes)
{
	static const char *const logical[] = { "num-cpus", "num-gpus", "memory", "resources" };
	const cJSON *params = json_get(group, "rayStartParams"), *resources = json_get(group, "resources");

	if (json_get(params, "labels"))
		invalid(notes, "group %s: rayStartParams.labels is not allowed: use the group's labels",
			name);
	if (!resources || !resources->child)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(logical); i++)
		if (json_get(params, logical[i]))
			invalid(notes,
				"group %s: both resources and rayStartParams.%s are set: use one of them",
				name, logical[i]);
}

static void check_group(const cJSON *group, const char *name, bool fault_tolerant, cJSON *notes)
{
	const cJSON *ray = ray_container(json_get(group, "template.spec"));

	if (!ray) {
		invalid(notes, "group %s: the template needs at least one container", name);
		return;
	}
	if (!json_str(ray, "name") || !json_str(ray, "image"))
		invalid(notes, "group %s: the first container needs a name and an image", name);
	check_start_params(group, name, notes);
	if (container_env(ray, "RAY_REDIS_ADDRESS") && !fault_tolerant)
		invalid(notes, "group %s: RAY_REDIS_ADDRESS is set without GCS fault tolerance", name);
}

static void check_replicas(const cJSON *group, const char *name, cJSON *notes)
{
	int64_t min = json_int(group, "minReplicas", 0), max = json_int(group, "maxReplicas", INT32_MAX);

	if (min < 0 || max < 0 || json_int(group, "replicas", 0) < 0)
		invalid(notes, "group %s: replicas, minReplicas and maxReplicas must not be negative", name);
	else if (min > max)
		invalid(notes, "group %s: minReplicas %" PRId64 " is above maxReplicas %" PRId64, name, min,
			max);
	if (json_int(group, "numOfHosts", 1) > 1)
		invalid(notes, "group %s: numOfHosts above 1 is not supported by this version of Afterglow",
			name);
}

static bool name_seen_before(const cJSON *groups, const cJSON *group, const char *name)
{
	const cJSON *other;

	cJSON_ArrayForEach(other, groups) {
		const char *other_name = json_str(other, "groupName");

		if (other == group)
			return false;
		if (other_name && strcmp(other_name, name) == 0)
			return true;
	}
	return false;
}

static void check_workers(const cJSON *groups, bool fault_tolerant, cJSON *notes)
{
	const cJSON *group;

	cJSON_ArrayForEach(group, groups) {
		const char *name = group_name(RAY_WORKER, group);

		if (!is_group_name(name) || strcmp(name, HEAD_GROUP_NAME) == 0)
			invalid(notes, "groupName \"%.80s\" is not a name for a worker group", name);
		else if (name_seen_before(groups, group, name))
			invalid(notes, "two worker groups are called %s", name);
		check_group(group, name, fault_tolerant, notes);
		check_replicas(group, name, notes);
	}
}

static const char *annotation(const cJSON *cluster, const char *name)
{
	return cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(json_get(cluster, "metadata.annotations"), name));
}

static bool check_fault_tolerance(const cJSON *cluster, cJSON *notes)
{
	const char *text = annotation(cluster, "ray.io/ft-enabled");
	bool options = cJSON_IsObject(json_get(cluster, "spec.gcsFaultToleranceOptions"));

	if (options && text && strcmp(text, "false") == 0)
		invalid(notes,
			"annotation ray.io/ft-enabled is false while spec.gcsFaultToleranceOptions is set");
	return options || (text && strcmp(text, "true") == 0);
}

static void check_autoscaler(const cJSON *cluster, cJSON *notes)
{
	const char *version = json_str(cluster, "spec.autoscalerOptions.version");
	const char *restart = json_str(cluster, "spec.headGroupSpec.template.spec.restartPolicy");

	if (json_bool(cluster, "spec.enableInTreeAutoscaling", false) && version &&
	    strcmp(version, "v2") == 0 && restart && strcmp(restart, "Never"))
		invalid(notes,
			"autoscaler v2 needs restartPolicy Never (or none) in the head's template, not %s",
			restart);
}

/* Without these the cluster would run, but open or without the isolation that was asked for. */
static void refuse_unsafe(const cJSON *cluster, cJSON *notes)
{
	static const struct {
		const char *path, *what;
	} features[] = {
		{ "spec.tlsOptions", "TLS between the nodes (spec.tlsOptions)" },
		{ "spec.networkPolicy", "network policies (spec.networkPolicy)" },
	};
	const char *auth = json_str(cluster, "spec.authOptions.mode");

	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		if (cJSON_IsObject(json_get(cluster, features[i].path)))
			invalid(notes,
				"%s: not supported by this version of Afterglow, and unsafe to leave out",
				features[i].what);
	if (auth && strcmp(auth, "disabled"))
		invalid(notes,
			"token authentication (spec.authOptions): not supported by this version of Afterglow, and "
			"unsafe to leave out");
}

static void note_unsupported(const cJSON *cluster, bool fault_tolerant, cJSON *notes)
{
	const char *upgrade = json_str(cluster, "spec.upgradeStrategy.type");
	const struct {
		bool asked;
		const char *what;
	} features[] = {
		{ json_bool(cluster, "spec.enableInTreeAutoscaling", false),
		  "the in-tree autoscaler (enableInTreeAutoscaling): groups stay at their replicas" },
		{ fault_tolerant, "GCS fault tolerance: a head's restart loses the cluster's state" },
		{ cJSON_IsObject(json_get(cluster, "spec.historyServerOptions")), "the history server" },
		{ json_bool(cluster, "spec.headGroupSpec.enableIngress", false),
		  "the head's ingress (enableIngress)" },
		{ upgrade && strcmp(upgrade, "Recreate") == 0,
		  "upgradeStrategy Recreate: pods keep the template they were made from" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		if (features[i].asked)
			notes_addf(notes, NOTE_SPEC_SUPPORTED, "UnsupportedFeature",
				   "not in this version: %s", features[i].what);
}

void validate_cluster(const cJSON *cluster, cJSON *notes)
{
	const char *name = json_str(cluster, "metadata.name");
	bool fault_tolerant = check_fault_tolerance(cluster, notes);

	if (!name || !is_dns_1035(name, CLUSTER_NAME_MAX))
		invalid(notes, "the name must be a DNS-1035 label of at most %d characters",
			CLUSTER_NAME_MAX);
	check_group(json_get(cluster, "spec.headGroupSpec"), HEAD_GROUP_NAME, fault_tolerant, notes);
	check_workers(json_get(cluster, "spec.workerGroupSpecs"), fault_tolerant, notes);
	check_autoscaler(cluster, notes);
	refuse_unsafe(cluster, notes);
	note_unsupported(cluster, fault_tolerant, notes);
}
