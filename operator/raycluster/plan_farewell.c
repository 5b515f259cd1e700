/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans for a cluster that is being deleted. The garbage collector deletes its objects. But if the
 * cluster's keys in Redis have to be deleted, its finalizer keeps it until a Job has done so. The
 * pods are deleted first, because a running GCS goes on writing. No failure may keep the cluster,
 * and perhaps its namespace, for ever: the plan reports it and goes on.
 */
#include "operator/raycluster/plan_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "operator/kube/event.h"
#include "operator/kube/object.h"
#include "operator/podspec/notes.h"
#include "operator/raycluster/gcs_ft.h"
#include "operator/raycluster/pod_state.h"
#include "operator/raycluster/redis_cleanup.h"

/*
 * In seconds after the deletion, unless the annotation says otherwise. The Job gets a third of it.
 */
#define DEADLINE_S 900
#define DEADLINE_MAX_S (365 * 86400)
#define DEADLINE_ANNOTATION "ray.io/gcs-ft-deletion-timeout"
#define LOOK_AGAIN_NS (2 * NS_PER_SEC)

static void plan_farewell_let_go(struct planner *p)
{
	planner_add(p, PLAN_MERGE, redis_cleanup_finalizers(p->in->cluster, false));
}

static void plan_farewell_give_up(struct planner *p, const char *why)
{
	const char *space = gcs_ft_storage_namespace(p->in->cluster);
	char note[1000];

	snprintf(
		note, sizeof(note),
		"Redis still has the keys of this cluster (RAY%.200s@...), which is deleted all the same: %.600s",
		space ? space : "", why);
	planner_add(
		p, PLAN_EVENT,
		event_warning(p->in->cluster, "RedisCleanupFailed", "Delete", note, p->in->now_ns));
	plan_farewell_let_go(p);
}

static int64_t patience_s(const struct planner *p)
{
	const char *text = object_annotation(p->in->cluster, DEADLINE_ANNOTATION);
	char *end = NULL;
	long seconds = text ? strtol(text, &end, 10) : 0;

	return text && end != text && !*end && seconds > 0 ? MIN(seconds, DEADLINE_MAX_S) :
							     DEADLINE_S;
}

static int64_t plan_farewell_deadline(const struct planner *p)
{
	int64_t ns;

	return json_time(p->in->cluster, "metadata.deletionTimestamp", &ns) ?
		       MIN(ns, p->in->now_ns) + patience_s(p) * NS_PER_SEC :
		       p->in->now_ns;
}

static void give_up_late(struct planner *p, const char *what)
{
	char why[128];

	snprintf(why, sizeof(why), "its %s did not end within %s", what,
		 DURATION_TEXT(patience_s(p) * NS_PER_SEC));
	plan_farewell_give_up(p, why);
}

static void look_at_job(struct planner *p)
{
	const cJSON *job = p->in->cleanup_job;
	const char *message = json_str(
		json_find(json_get(job, "status.conditions"), "type", "Failed"), "message");
	char why[700];

	if (object_condition_is_true(job, "Complete")) {
		plan_farewell_let_go(p);
	} else if (object_condition_is_true(job, "Failed")) {
		snprintf(why, sizeof(why),
			 "Job %.64s failed: %.500s (its log is kept for ten minutes)",
			 json_str(job, "metadata.name"), message ? message : "?");
		plan_farewell_give_up(p, why);
	} else if (p->in->now_ns >= plan_farewell_deadline(p)) {
		give_up_late(p, "Job");
	} else {
		planner_requeue(p, LOOK_AGAIN_NS);
	}
}

static void make_job(struct planner *p)
{
	struct err err = { 0 };
	cJSON *job;

	if (notes_have(p->notes, NOTE_SPEC_VALID)) {
		plan_farewell_give_up(p, "its spec is not valid any more");
		return;
	}
	if (redis_cleanup_job(p->in->cluster, p->in->policy, &job, &err) < 0) {
		plan_farewell_give_up(p, err_text(&err));
		return;
	}
	planner_add(p, PLAN_CREATE, job);
	planner_requeue(p, LOOK_AGAIN_NS);
}

/* Deletes the pods. Returns whether the head, which writes to Redis, still exists. */
static bool delete_pods(struct planner *p)
{
	bool head = false;

	for (size_t i = 0; i < p->n_pods; i++) {
		head |= pod_is_head(p->pods[i]);
		planner_delete_or_hold(p, i);
	}
	return head;
}

void plan_farewell(struct planner *p)
{
	if (!redis_cleanup_is_held(p->in->cluster))
		return;
	bool head = delete_pods(p);
	if (!redis_cleanup_wanted(p->in->cluster, p->in->policy))
		plan_farewell_let_go(p);
	else if (p->in->cleanup_refused)
		plan_farewell_give_up(p, p->in->cleanup_refused);
	else if (p->in->cleanup_job && !head)
		look_at_job(p);
	else if (p->in->now_ns >= plan_farewell_deadline(p))
		give_up_late(p, "head");
	else if (head)
		planner_requeue(p, LOOK_AGAIN_NS);
	else
		make_job(p);
}
