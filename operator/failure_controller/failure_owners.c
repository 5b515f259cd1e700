/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the owners of RayFailures. */
#include "operator/failure_controller/failure_owners.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/strbuf.h"
#include "lib/strmap.h"
#include "lib/units.h"
#include "operator/failures/owner.h"
#include "operator/kube/namespace_share.h"

#define KEY_MAX 512
#define PATH_MAX_LEN 2048
/*
 * The most clusters whose owner is remembered, and whose RayJob; a namespace gets half of it at
 * most. Each takes a few hundred bytes. If a namespace makes and removes more clusters in an hour,
 * its failures lose the names of their owners, but no failure is lost.
 */
#define KNOWN_MAX 4000
#define GONE_NS (3600 * NS_PER_SEC)
#define JOB_KNOWN_NS (600 * NS_PER_SEC)
#define JOB_UNKNOWN_NS (10 * NS_PER_SEC)
/* No failure waits longer than this for the name of its job. */
#define ASK_NS (2 * NS_PER_SEC)

struct gone {
	int64_t until_ns;
	struct owner owner;
};

/* The facts of a cluster's RayJob. */
struct job {
	int64_t until_ns; /* after this time it is asked again */
	char uid[OWNER_UID_MAX + 1]; /* "": not known */
	char submission[OWNER_SUBMISSION_MAX + 1]; /* "": not known */
};

struct failure_owners {
	struct failure_owners_options o;
	/* By "namespace/cluster". The values of both begin with until_ns. */
	struct namespace_map gone; /* of struct gone */
	struct namespace_map jobs; /* of struct job */
};

static const char *const job_fields[] = { "metadata.name", "metadata.uid", "status.jobId",
					  "status.rayClusterName", NULL };

int failure_owners_new(const struct failure_owners_options *options,
		       struct failure_owners **ret_owners, struct err *err)
{
	struct failure_owners *owners = calloc(1, sizeof(*owners));

	if (!owners)
		return err_set(err, ENOMEM, "owners");
	owners->o = *options;
	*ret_owners = owners;
	return 0;
}

void failure_owners_free(struct failure_owners *owners)
{
	if (!owners)
		return;
	namespace_map_release(&owners->gone, free);
	namespace_map_release(&owners->jobs, free);
	free(owners);
}

static bool failure_owners_key_of(const char *namespace, const char *cluster,
				  char key[static KEY_MAX])
{
	return namespace && cluster &&
	       snprintf(key, KEY_MAX, "%s/%s", namespace, cluster) < KEY_MAX;
}

/* Forgets what is older than that time, and all clusters of the namespace with that prefix. */
static void failure_owners_forget(struct namespace_map *known, const char *prefix, size_t len,
				  int64_t now_ns)
{
	const char *key;
	void *value;

	strmap_each(&known->map, &key, &value)
		if (*(const int64_t *)value <= now_ns || (len && strncmp(key, prefix, len) == 0))
			free(namespace_map_remove(known, key));
}

/* Takes value. If there is no room, it takes the place of others of its namespace. */
static void failure_owners_put(struct namespace_map *known, const char *key, void *value,
			       int64_t now_ns)
{
	const size_t of_namespace[] = { 0, strcspn(key, "/") + 1 };
	void *old = NULL;
	bool done = value && namespace_map_put(known, key, value, KNOWN_MAX, &old);

	for (size_t i = 0; value && !done && i < ARRAY_SIZE(of_namespace); i++) {
		failure_owners_forget(known, key, of_namespace[i], now_ns);
		done = namespace_map_put(known, key, value, KNOWN_MAX, &old);
	}
	free(done ? old : value);
}

void failure_owners_cluster_gone(struct failure_owners *owners, const cJSON *cluster,
				 int64_t now_ns)
{
	struct gone *gone = calloc(1, sizeof(*gone));
	char key[KEY_MAX];

	if (!gone || !owner_of_cluster(cluster, &gone->owner) ||
	    !failure_owners_key_of(json_str(cluster, "metadata.namespace"),
				   json_str(cluster, "metadata.name"), key)) {
		free(gone);
		return;
	}
	gone->until_ns = now_ns + GONE_NS;
	failure_owners_put(&owners->gone, key, gone, now_ns);
}

bool failure_owners_is_gone(const struct failure_owners *owners, const char *key, int64_t now_ns)
{
	const struct gone *gone = strmap_get(&owners->gone.map, key);

	return gone && now_ns < gone->until_ns && !owners->o.find_cluster(owners->o.arg, key);
}

/* --- Known owners ---------------------------------------------------------------------------- */

static bool failure_owners_find(const struct failure_owners *owners, const char *key,
				int64_t now_ns, struct owner *ret_owner)
{
	const cJSON *cluster = owners->o.find_cluster(owners->o.arg, key);
	const struct gone *gone = strmap_get(&owners->gone.map, key);

	if (cluster)
		return owner_of_cluster(cluster, ret_owner);
	if (!gone || gone->until_ns <= now_ns)
		return false;
	*ret_owner = gone->owner;
	return true;
}

static bool failure_owners_is_same(const struct owner *a, const struct owner *b)
{
	return a->kind == b->kind && strcmp(a->name, b->name) == 0;
}

void failure_owners_complete(struct failure_owners *owners, struct ray_failure *failure,
			     int64_t now_ns)
{
	const struct owner *annotated = failure->owner;
	struct owner owner;
	char key[KEY_MAX];

	if (!failure_owners_key_of(failure->namespace, ray_failure_text(failure->cluster), key))
		return;
	bool is_known = failure_owners_find(owners, key, now_ns, &owner);
	/* The pod's own annotation has precedence, because a new cluster may have the same name. */
	if (annotated && (!is_known || !failure_owners_is_same(annotated, &owner)))
		owner = *annotated;
	else if (!is_known)
		return;
	const struct job *job = strmap_get(&owners->jobs.map, key);
	if (job && owner.kind == OWNER_RAY_JOB) {
		if (!*owner.uid && *job->uid)
			snprintf(owner.uid, sizeof(owner.uid), "%s", job->uid);
		if (*job->submission)
			ray_failure_set(&failure->submission_id, job->submission);
	}
	ray_failure_set_owner(failure, &owner);
}

/*
 * --- Asking the RayJob
 * -----------------------------------------------------------------------------------
 */

struct question {
	struct failure_owners *owners;
	char key[KEY_MAX], cluster[OWNER_NAME_MAX + 1];
	void (*done)(void *arg);
	void *arg;
};

static void on_job(void *arg, struct client_response *response)
{
	struct question *q = arg;
	struct job *job = calloc(1, sizeof(*job));
	const char *uid = json_str(response->object, "metadata.uid");
	int64_t now_ns = now_boottime_ns();

	if (job && response->status == 200 &&
	    owner_submission_of(response->object, q->cluster, job->submission) && uid)
		snprintf(job->uid, sizeof(job->uid), "%s", uid);
	/* That the RayJob does not exist, or that we may not read it, is an answer as well. */
	if (response->status != 200 && response->status != 403 && response->status != 404)
		log_warning_limited("the RayJob of cluster %s cannot be read: %s", q->key,
				    err_text(&response->err));
	if (job)
		job->until_ns = now_ns + (*job->submission ? JOB_KNOWN_NS : JOB_UNKNOWN_NS);
	failure_owners_put(&q->owners->jobs, q->key, job, now_ns);
	q->done(q->arg);
	free(q);
}

static bool failure_owners_is_known(const struct failure_owners *owners, const char *key,
				    int64_t now_ns)
{
	const struct job *job = strmap_get(&owners->jobs.map, key);

	return job && now_ns < job->until_ns;
}

static int failure_owners_start(struct failure_owners *owners, const char *namespace,
				const char *name, struct question *q)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(PATH_MAX_LEN);
	struct client_request request = {
		.method = "GET", .deadline_ns = ASK_NS, .drop = free, .fields = job_fields
	};

	resource_path(resource_find("ray.io/v1", "RayJob"), namespace, name, NULL, &path);
	request.path = strbuf_str(&path);
	return strbuf_failed(&path) ?
		       -ENAMETOOLONG :
		       client_start(owners->o.client, &request, on_job, q, NULL, NULL);
}

bool failure_owners_ask(struct failure_owners *owners, const struct ray_failure *failure,
			int64_t now_ns, void (*done)(void *arg), void *arg)
{
	const struct owner *owner = failure->owner;
	const char *cluster = ray_failure_text(failure->cluster);
	struct question *q;
	char key[KEY_MAX];

	if (!owners->o.client || !owner || owner->kind != OWNER_RAY_JOB ||
	    !failure_owners_key_of(failure->namespace, cluster, key) ||
	    failure_owners_is_known(owners, key, now_ns))
		return false;
	q = calloc(1, sizeof(*q));
	if (!q)
		return false;
	*q = (struct question){ .owners = owners, .done = done, .arg = arg };
	snprintf(q->key, sizeof(q->key), "%s", key);
	snprintf(q->cluster, sizeof(q->cluster), "%s", cluster);
	if (failure_owners_start(owners, failure->namespace, owner->name, q) == 0)
		return true;
	free(q);
	return false;
}
