/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the owner of a Ray pod. */
#include "operator/failures/owner.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "operator/failures/termination.h"
#include "operator/kube/object.h"

#define LABEL_VALUE_MAX 63
#define CRON_JOB_LABEL "ray.io/cronjob-name"

static const char *const kind_names[OWNER_KIND_COUNT] = {
	[OWNER_RAY_CLUSTER] = "RayCluster",
	[OWNER_RAY_JOB] = "RayJob",
	[OWNER_RAY_SERVICE] = "RayService",
	[OWNER_RAY_CRON_JOB] = "RayCronJob",
};

const char *owner_kind_name(enum owner_kind kind)
{
	return kind_names[kind];
}

static bool kind_from_name(const char *text, size_t len, enum owner_kind *ret_kind)
{
	for (size_t i = 0; i < OWNER_KIND_COUNT; i++)
		if (strlen(kind_names[i]) == len && memcmp(kind_names[i], text, len) == 0) {
			*ret_kind = (enum owner_kind)i;
			return true;
		}
	return false;
}

/*
 * Returns whether it is the name of an object (RFC 1123). Such a name of at most 63 characters can
 * also be the value of a label.
 */
static bool is_name(const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (len == 0 || len > OWNER_NAME_MAX || !isalnum((unsigned char)text[0]) ||
	    !isalnum((unsigned char)text[len - 1]))
		return false;
	return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") == len;
}

static bool is_uid(const char *text)
{
	size_t len = text ? strlen(text) : 0;

	return len > 0 && len <= OWNER_UID_MAX &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") ==
		       len;
}

static bool set(struct owner *owner, enum owner_kind kind, const char *name, const char *uid)
{
	if (!is_name(name))
		return false;
	*owner = (struct owner){ .kind = kind };
	snprintf(owner->name, sizeof(owner->name), "%s", name);
	if (is_uid(uid))
		snprintf(owner->uid, sizeof(owner->uid), "%s", uid);
	return true;
}

static bool by_reference(const cJSON *cluster, struct owner *owner)
{
	const cJSON *reference = object_controller(cluster);
	const char *kind = json_str_or(reference, "kind", "");
	enum owner_kind known;

	return text_begins_with(json_str(reference, "apiVersion"), "ray.io/") &&
	       kind_from_name(kind, strlen(kind), &known) && known != OWNER_RAY_CLUSTER &&
	       set(owner, known, json_str(reference, "name"), json_str(reference, "uid"));
}

static bool by_labels(const cJSON *cluster, struct owner *owner)
{
	const char *kind = object_label(cluster, "ray.io/originated-from-crd"),
		   *name = object_label(cluster, "ray.io/originated-from-cr-name");
	enum owner_kind known;

	return kind && kind_from_name(kind, strlen(kind), &known) && known != OWNER_RAY_CLUSTER &&
	       set(owner, known, name, NULL);
}

bool owner_of_cluster(const cJSON *cluster, struct owner *ret_owner)
{
	/* KubeRay copies the labels of the RayJob */
	const char *cron_job = object_label(cluster, CRON_JOB_LABEL);
	struct owner owner;

	if (!by_reference(cluster, &owner) && !by_labels(cluster, &owner) &&
	    !set(&owner, OWNER_RAY_CLUSTER, json_str(cluster, "metadata.name"),
		 json_str(cluster, "metadata.uid")))
		return false;
	if (owner.kind == OWNER_RAY_JOB && is_name(cron_job))
		snprintf(owner.cron_job, sizeof(owner.cron_job), "%s", cron_job);
	*ret_owner = owner;
	return true;
}

bool owner_parse(const char *text, struct owner *ret_owner)
{
	const char *slash = text ? strchr(text, '/') : NULL;
	enum owner_kind kind;

	return slash && kind_from_name(text, (size_t)(slash - text), &kind) &&
	       set(ret_owner, kind, slash + 1, NULL);
}

const char *owner_format(const struct owner *owner, char buf[static OWNER_TEXT_MAX])
{
	snprintf(buf, OWNER_TEXT_MAX, "%s/%s", kind_names[owner->kind], owner->name);
	return buf;
}

void owner_set(const struct owner *owner, cJSON *failure)
{
	cJSON *spec = json_object_at(failure, "spec"), *at = json_object_at(spec, "owner");
	cJSON *labels = json_object_at(json_object_at(failure, "metadata"), "labels");
	char text[OWNER_TEXT_MAX];

	json_set_str(at, "kind", kind_names[owner->kind]);
	json_set_str(at, "name", owner->name);
	if (*owner->uid)
		json_set_str(at, "uid", owner->uid);
	if (*owner->cron_job)
		json_set_str(at, "cronJob", owner->cron_job);
	json_set_str(spec, "ownerText", owner_format(owner, text));
	json_set_str(labels, OWNER_KIND_LABEL, kind_names[owner->kind]);
	if (strlen(owner->name) <= LABEL_VALUE_MAX)
		json_set_str(labels, OWNER_NAME_LABEL, owner->name);
}

bool owner_get(const cJSON *failure, struct owner *ret_owner)
{
	const cJSON *at = json_get(failure, "spec.owner");
	const char *kind = json_str(at, "kind"), *cron_job = json_str(at, "cronJob");
	enum owner_kind known;

	if (!kind || !kind_from_name(kind, strlen(kind), &known) ||
	    !set(ret_owner, known, json_str(at, "name"), json_str(at, "uid")))
		return false;
	if (is_name(cron_job))
		snprintf(ret_owner->cron_job, sizeof(ret_owner->cron_job), "%s", cron_job);
	return true;
}

bool owner_submission_of(const cJSON *ray_job, const char *cluster,
			 char buf[static OWNER_SUBMISSION_MAX + 1])
{
	const char *id = json_str(ray_job, "status.jobId"),
		   *of = json_str(ray_job, "status.rayClusterName");
	char tame[OWNER_SUBMISSION_MAX + 1];

	if (!id || !*id || strlen(id) > OWNER_SUBMISSION_MAX || !of || !cluster ||
	    strcmp(of, cluster) != 0)
		return false;
	text_tame(id, tame, sizeof(tame));
	/* An id that differs from the one that Ray knows is of no use. */
	if (strcmp(tame, id) != 0)
		return false;
	snprintf(buf, OWNER_SUBMISSION_MAX + 1, "%s", id);
	return true;
}
