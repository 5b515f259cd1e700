/* SPDX-License-Identifier: Apache-2.0 */
/* What RayFailures of containers and of processes have in common. */
#include "operator/failures/death.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/failures/failures.h"
#include "operator/failures/owner.h"
#include "operator/failures/pod_deletion.h"
#include "operator/failures/signature.h"
#include "operator/failures/story.h"
#include "operator/kube/object.h"

#define NAME_POD_MAX 160 /* with container (63), hash and dashes within the 253 of an object's name */
#define HASH_LEN 10

const char *death_label(const cJSON *pod, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json_get(pod, "metadata.labels"), name));
}

bool death_is_told(const struct death *d)
{
	return d->report && !d->provisional;
}

void death_set_name(const struct death *d, const char *seed, cJSON *metadata)
{
	const char *pod = json_str(d->pod, "metadata.name");
	char name[300], hash[HASH_LEN + 1];

	sha256_hex(seed, strlen(seed), HASH_LEN, hash);
	snprintf(name, sizeof(name), "%.*s-%.63s-%s", NAME_POD_MAX, pod ? pod : "pod", d->container, hash);
	json_set_str(metadata, "name", name);
}

void death_set_labels(const struct death *d, cJSON *metadata, const char *class)
{
	static const char *const copied[] = { "ray.io/cluster", "ray.io/group", "ray.io/node-type" };
	cJSON *labels = json_object_at(metadata, "labels");

	for (size_t i = 0; i < ARRAY_SIZE(copied); i++)
		if (death_label(d->pod, copied[i]))
			json_set_str(labels, copied[i], death_label(d->pod, copied[i]));
	json_set_str(labels, "afterglow.dev/class", class);
}

void death_set_owner(const struct death *d, cJSON *failure)
{
	const cJSON *annotation = cJSON_GetObjectItemCaseSensitive(json_get(d->pod, "metadata.annotations"), OWNER_ANNOTATION);
	struct owner owner;

	if (owner_parse(cJSON_GetStringValue(annotation), &owner))
		owner_set(&owner, failure);
}

void death_set_times(const struct death *d, cJSON *metadata, const cJSON *spec)
{
	cJSON *annotations = json_object_at(metadata, "annotations");
	const char *created = json_str(d->pod, "metadata.creationTimestamp");

	json_set_str(annotations, FAILURE_ENDED_ANNOTATION, json_str(spec, "endedAt"));
	if (created)
		json_set_str(annotations, FAILURE_POD_ANNOTATION, created);
	if (pod_deletion_is_before(d->pod, json_str(spec, "endedAt")))
		json_set_str(annotations, FAILURE_DELETED_ANNOTATION, "true");
}

void death_set_story(const struct death *d, cJSON *failure)
{
	signature_set(death_is_told(d) ? json_str(d->report, "signature") : NULL, json_get(failure, "spec"));
	story_begin(d->pod, d->container, death_is_told(d), failure);
}

void death_set_text(cJSON *to, const char *name, const char *text)
{
	if (text && *text)
		json_set_str(to, name, text);
}

void death_add_missing(cJSON *spec, const char *what, const char *needs)
{
	cJSON *entry = cJSON_CreateObject();

	json_set_str(entry, "what", what);
	json_set_str(entry, "needs", needs);
	json_append(json_array_at(spec, "missing"), entry);
}

void death_set_whose(const struct death *d, cJSON *spec)
{
	death_set_text(spec, "cluster", death_label(d->pod, "ray.io/cluster"));
	death_set_text(spec, "group", death_label(d->pod, "ray.io/group"));
	death_set_text(spec, "pod", json_str(d->pod, "metadata.name"));
	death_set_text(spec, "podUID", json_str(d->pod, "metadata.uid"));
	death_set_text(spec, "container", d->container);
	death_set_text(spec, "node", json_str(d->pod, "spec.nodeName"));
}

void death_set_memory(const struct death *d, cJSON *spec)
{
	const cJSON *memory = json_get(d->report, "memory"), *processes = json_get(d->report, "processes");
	int64_t usage = json_int(memory, "usageBytes", json_int(memory, "peakBytes", -1));
	char text[SIZE_TEXT_MAX];

	if (memory && memory->child)
		json_set(spec, "memory", cJSON_Duplicate(memory, true));
	if (processes && processes->child)
		json_set(spec, "processes", cJSON_Duplicate(processes, true));
	if (usage >= 0)
		json_set_str(spec, "memoryText", size_format((uint64_t)usage, text));
}

#define PIDS_MAX 4194304

void death_set_process(const struct death *d, cJSON *spec)
{
	const cJSON *told = death_is_told(d) ? json_get(d->report, "process") : NULL;
	int64_t pid = json_int(told, "pid", 0), code = json_int(told, "exitCode", -1);
	cJSON *process;

	if (!told)
		return;
	process = json_object_at(spec, "process");
	death_set_text(process, "name", json_str(told, "name"));
	if (pid > 0 && pid <= PIDS_MAX)
		json_set_int(process, "pid", pid);
	death_set_text(process, "signal", json_str(told, "signal"));
	if (code >= 0 && code <= 255)
		json_set_int(process, "exitCode", code);
}

static void copy_array(const cJSON *report, cJSON *spec, const char *name)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, json_get(report, name))
		json_append(json_array_at(spec, name), cJSON_Duplicate(item, true));
}

void death_set_evidence(const struct death *d, cJSON *spec)
{
	copy_array(d->report, spec, "evidence");
	copy_array(d->report, spec, "missing");
}

/* "<store>/<namespace>/<cluster>/<pod>.<uid8>/...": of this very pod, or somebody points elsewhere. */
static bool bundle_is_ours(const struct death *d, const char *bundle)
{
	const char *ns = json_str(d->pod, "metadata.namespace"), *cluster = death_label(d->pod, "ray.io/cluster");
	const char *pod = json_str(d->pod, "metadata.name"), *uid = json_str(d->pod, "metadata.uid");
	char path[512];

	if (strstr(bundle, ".."))
		return false;
	for (const char *p = bundle; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._:/@+=-", *p))
			return false;
	snprintf(path, sizeof(path), "/%s/%s/%s.%.8s/%s/", ns ? ns : "", cluster, pod ? pod : "",
		 uid ? uid : "", d->container);
	return strstr(bundle, path) || (strncmp(bundle, path + 1, strlen(path + 1)) == 0);
}

void death_set_bundle(const struct death *d, cJSON *spec)
{
	const char *bundle = death_is_told(d) ? json_str(d->report, "bundle") : NULL;

	if (!bundle)
		return;
	if (bundle_is_ours(d, bundle))
		json_set_str(spec, "bundle", bundle);
	else
		death_add_missing(spec, "the bundle: the termination message names one that is not of this pod",
				  "a look into the store");
}
