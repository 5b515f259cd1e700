/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the owner of a Ray pod: the RayJob or RayService that made its RayCluster, or the
 * RayCluster itself if a person made it. Pure. The labels, owner references and annotations that
 * are read here belong to a tenant. So names are checked, and a text that cannot be the name of an
 * object is ignored.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

/*
 * On a pod: "RayJob/name". The webhook writes it when the pod is made, because the cluster may be
 * gone when the pod dies.
 */
#define OWNER_ANNOTATION "afterglow.dev/owner"
/*
 * On a RayFailure, for selecting. A name longer than a label's 63 characters has no label:
 * spec.owner has it whole.
 */
#define OWNER_KIND_LABEL "afterglow.dev/owner-kind"
#define OWNER_NAME_LABEL "afterglow.dev/owner-name"

#define OWNER_NAME_MAX 253 /* a name of an object, without the NUL */
#define OWNER_UID_MAX 63
#define OWNER_SUBMISSION_MAX 253

enum owner_kind {
	OWNER_RAY_CLUSTER,
	OWNER_RAY_JOB,
	OWNER_RAY_SERVICE,
	OWNER_RAY_CRON_JOB,
	OWNER_KIND_COUNT
};

struct owner {
	enum owner_kind kind;
	char name[OWNER_NAME_MAX + 1];
	char uid[OWNER_UID_MAX + 1]; /* "": not known */
	char cron_job[OWNER_NAME_MAX + 1]; /* the RayCronJob that made the RayJob; "": none */
};

/* "RayJob", static. */
const char *owner_kind_name(enum owner_kind kind);

/*
 * Finds the owner of a RayCluster's pods: its controller, if that is of one of KubeRay's kinds;
 * otherwise the object that KubeRay's labels name (ray.io/originated-from-crd and -cr-name, without
 * a uid); otherwise the cluster itself. Returns false if the cluster has no name.
 */
bool owner_of_cluster(const cJSON *cluster, struct owner *ret_owner);

/* Reads the annotation's text, which may be NULL. Returns false if it names no owner. */
bool owner_parse(const char *text, struct owner *ret_owner);

/* "RayJob/name" into buf, which is returned. */
#define OWNER_TEXT_MAX (OWNER_NAME_MAX + 16)
const char *owner_format(const struct owner *owner, char buf[static OWNER_TEXT_MAX]);

/* Writes spec.owner, spec.ownerText and the labels of a RayFailure. */
void owner_set(const struct owner *owner, cJSON *failure);
/* Reads back the owner that owner_set wrote. Returns false if failure has none. */
bool owner_get(const cJSON *failure, struct owner *ret_owner);

/*
 * Finds the submission id of the RayJob's attempt that ran in that cluster, as KubeRay has it in
 * status.jobId; a retry has another cluster and another id. If the job has none, returns false and
 * leaves buf untouched.
 */
bool owner_submission_of(const cJSON *ray_job, const char *cluster,
			 char buf[static OWNER_SUBMISSION_MAX + 1]);
