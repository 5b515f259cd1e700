/* SPDX-License-Identifier: Apache-2.0 */
/* Checks how large a RayCluster is. */
#include "operator/raycluster/bounds.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/json.h"
#include "operator/podspec/notes.h"

#define PATH_MAX_LEN 96

/*
 * The objects and arrays of a cluster, of a group, and of each of its containers, whose number of
 * members is limited.
 */
static const struct {
	const char *path, *field;
	int most;
} of_cluster[] = {
	{ "metadata", "annotations", BOUND_MEMBERS },
	{ "spec", "workerGroupSpecs", BOUND_GROUPS },
	{ "spec", "headServiceAnnotations", BOUND_MEMBERS },
	{ "spec.headGroupSpec.headService.metadata", "labels", BOUND_MEMBERS },
	{ "spec.headGroupSpec.headService.metadata", "annotations", BOUND_MEMBERS },
	{ "spec.headGroupSpec.headService.spec", "ports", BOUND_MEMBERS },
	{ "spec.autoscalerOptions", "env", BOUND_MEMBERS },
	{ "spec.gcsFaultToleranceOptions", "redisUsername", BOUND_MEMBERS },
	{ "spec.gcsFaultToleranceOptions", "redisPassword", BOUND_MEMBERS },
};

static const struct {
	const char *path;
	int most;
} of_group[] = {
	{ "rayStartParams", BOUND_MEMBERS },
	{ "resources", BOUND_MEMBERS },
	{ "labels", BOUND_MEMBERS },
	{ "scaleStrategy.workersToDelete", BOUND_TO_DELETE },
	{ "template.metadata.labels", BOUND_MEMBERS },
	{ "template.metadata.annotations", BOUND_MEMBERS },
	{ "template.spec.volumes", BOUND_MEMBERS },
	{ "template.spec.containers", BOUND_MEMBERS },
	{ "template.spec.initContainers", BOUND_MEMBERS },
}, of_container[] = {
	{ "env", BOUND_MEMBERS },
	{ "volumeMounts", BOUND_MEMBERS },
	{ "ports", BOUND_MEMBERS },
	{ "resources.limits", BOUND_MEMBERS },
	{ "resources.requests", BOUND_MEMBERS },
};

struct check {
	cJSON *notes;
	bool exceeded;
};

/*
 * Reports an excess. unit is " members" for a list or map; if it is "", value is a number in the
 * spec.
 */
static void bounds_exceed(struct check *check, const char *path, const char *field,
			  const char *unit, int64_t value, int64_t most)
{
	notes_addf(check->notes, NOTE_SPEC_VALID, "RayClusterTooLarge",
		   "%s.%s %s %" PRId64 "%s, at most %" PRId64 " are allowed", path, field,
		   *unit ? "has" : "is", value, unit, most);
	check->exceeded = true;
}

/* Counts the direct members: cJSON_GetArraySize works for both arrays and objects. */
static void check_count(struct check *check, const cJSON *object, const char *path,
			const char *field, int most)
{
	int n = cJSON_GetArraySize(json_get(object, field));

	if (n > most)
		bounds_exceed(check, path, field, " members", n, most);
}

static void check_containers(struct check *check, const cJSON *group, const char *path,
			     const char *field)
{
	char place[PATH_MAX_LEN + 64];
	int at = 0;

	json_each(container, json_get(group, field)) {
		snprintf(place, sizeof(place), "%s.%s[%d]", path, field, at++);
		for (size_t i = 0; i < ARRAY_SIZE(of_container); i++)
			check_count(check, container, place, of_container[i].path,
				    of_container[i].most);
	}
}

static void check_widths(struct check *check, const cJSON *group, const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(of_group); i++)
		check_count(check, group, path, of_group[i].path, of_group[i].most);
	check_containers(check, group, path, "template.spec.containers");
	check_containers(check, group, path, "template.spec.initContainers");
}

static void check_number(struct check *check, const cJSON *group, const char *path,
			 const char *field, int64_t most)
{
	int64_t value = json_int(group, field, 0);

	if (value > most)
		bounds_exceed(check, path, field, "", value, most);
}

/* Returns how many pods the group wants. Each factor is within its bound. */
static int64_t pods_of(const cJSON *group)
{
	int64_t least = json_int(group, "minReplicas", 0),
		most = json_int(group, "maxReplicas", INT32_MAX);
	int64_t replicas = MIN(MAX(json_int(group, "replicas", 0), least), most);

	return json_bool(group, "suspend", false) ?
		       0 :
		       MAX(replicas, 0) * MAX(json_int(group, "numOfHosts", 1), 0);
}

static void check_numbers(struct check *check, const cJSON *group, const char *path)
{
	check_number(check, group, path, "replicas", BOUND_PODS);
	check_number(check, group, path, "minReplicas", BOUND_PODS);
	check_number(check, group, path, "maxReplicas", INT32_MAX);
	check_number(check, group, path, "numOfHosts", BOUND_HOSTS);
}

static void check_groups(struct check *check, const cJSON *groups)
{
	char path[PATH_MAX_LEN];
	int64_t pods = 0;
	int at = 0;

	json_each(group, groups) {
		snprintf(path, sizeof(path), "spec.workerGroupSpecs[%d]", at++);
		check_widths(check, group, path);
		check_numbers(check, group, path);
		if (!check->exceeded)
			pods += pods_of(group);
	}
	if (pods > BOUND_PODS)
		notes_addf(check->notes, NOTE_SPEC_VALID, "RayClusterTooLarge",
			   "spec.workerGroupSpecs: replicas times numOfHosts make %" PRId64
			   " pods, at most %d are allowed",
			   pods, BOUND_PODS);
	check->exceeded = check->exceeded || pods > BOUND_PODS;
}

/* The depth is bounded, as that of all text that is read (JSON_DEPTH_MAX). */
static int64_t values_of(const cJSON *value)
{
	int64_t n = 1;

	json_each(item, value)
		n += values_of(item);
	return n;
}

bool bounds_check(const cJSON *cluster, cJSON *notes)
{
	struct check check = { .notes = notes };
	int64_t values = values_of(json_get(cluster, "spec"));

	if (values > BOUND_VALUES)
		bounds_exceed(&check, "RayCluster", "spec", " JSON values", values, BOUND_VALUES);
	for (size_t i = 0; i < ARRAY_SIZE(of_cluster); i++)
		check_count(&check, json_get(cluster, of_cluster[i].path), of_cluster[i].path,
			    of_cluster[i].field, of_cluster[i].most);
	check_widths(&check, json_get(cluster, "spec.headGroupSpec"), "spec.headGroupSpec");
	if (!check.exceeded)
		check_groups(&check, json_get(cluster, "spec.workerGroupSpecs"));
	return !check.exceeded;
}
