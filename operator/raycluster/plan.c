/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans the operations for one RayCluster.
 *
 * Theory of operation. The existing pods are counted, and missing pods are created under random
 * names. The code that executes the plan adds each created pod to the input of the next plan, and
 * asks the API server for pods whose creation got no answer (cluster_controller/expectations.h). A
 * dead pod counts until it is gone. A terminating worker does not count, because its grace period
 * may be an hour. A terminating head does, because two heads behind one service are worse than
 * none.
 */
#include "operator/raycluster/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/injection/inject_undo.h"
#include "operator/kube/event.h"
#include "operator/kube/object.h"
#include "operator/podspec/notes.h"
#include "operator/raycluster/bounds.h"
#include "operator/raycluster/plan_internal.h"
#include "operator/raycluster/pod_labels.h"
#include "operator/raycluster/pod_state.h"
#include "operator/raycluster/redis_cleanup.h"
#include "operator/raycluster/upgrade.h"

#define REST_NS (30 * NS_PER_SEC)

void plan_release(struct plan *p)
{
	for (size_t i = 0; i < p->n_ops; i++)
		cJSON_Delete(p->ops[i].body);
	free(p->ops);
	cJSON_Delete(p->templates);
	*p = (struct plan){ 0 };
}

cJSON *plan_op_pod(const struct plan_op *op)
{
	size_t lost = oom_count();
	_cleanup_json_ cJSON *pod = cJSON_Duplicate(op->template, true);
	cJSON *metadata = json_get(pod, "metadata"), *labels = json_get(metadata, "labels");

	json_set_str(metadata, "name", json_str(op->body, "metadata.name"));
	json_each(label, json_get(op->body, "metadata.labels"))
		json_set_str(labels, label->string, label->valuestring);
	return oom_count() == lost ? TAKE_PTR(pod) : NULL;
}

/*
 * --- Observed pods
 * --------------------------------------------------------------------------------
 */

static void note_foreign(struct planner *p, const cJSON *pod)
{
	const char *name = json_str(pod, "metadata.name");

	p->failed = p->failed || (name && strmap_put(&p->taken, name, p, NULL) < 0);
}

static int compare_groups(const void *a, const void *b)
{
	return strcmp(((const struct crash *)a)->group, ((const struct crash *)b)->group);
}

static void sort_crashes(struct planner *p)
{
	const struct plan_input *in = p->in;

	p->crashes = calloc(in->n_crashes + 1, sizeof(*p->crashes));
	p->failed = p->failed || !p->crashes;
	if (!p->crashes || in->n_crashes == 0)
		return;
	memcpy(p->crashes, in->crashes, in->n_crashes * sizeof(*p->crashes));
	qsort(p->crashes, in->n_crashes, sizeof(*p->crashes), compare_groups);
}

static int gather_pods(struct planner *p, struct err *err)
{
	const struct plan_input *in = p->in;
	const char *uid = json_str(in->cluster, "metadata.uid");

	p->pods = calloc(in->n_pods + 1, sizeof(*p->pods));
	p->pending = calloc(in->n_pods + 1, sizeof(*p->pending));
	p->leaving = calloc(in->n_pods + 1, sizeof(*p->leaving));
	if (!p->pods || !p->pending || !p->leaving)
		return err_set(err, ENOMEM, "plan");
	for (size_t i = 0; i < in->n_pods; i++) {
		if (!pod_is_owned(in->pods[i], uid)) {
			note_foreign(p, in->pods[i]);
			continue;
		}
		p->pods[p->n_pods] = in->pods[i];
		p->pending[p->n_pods] = in->evidence_pending && in->evidence_pending[i];
		p->leaving[p->n_pods] = pod_is_terminating(in->pods[i]);
		p->n_pods++;
	}
	p->view.pods_left = p->n_pods > 0;
	sort_crashes(p);
	p->failed = p->failed || pod_index_init(&p->index, p->pods, p->n_pods) < 0;
	return p->failed ? err_set(err, ENOMEM, "plan") : 0;
}

/* This comes before the pods are counted, because they are counted by these labels. */
static void plan_restore_labels(struct planner *p)
{
	const char *name = json_str_or(p->in->cluster, "metadata.name", "");

	for (size_t i = 0; i < p->n_pods; i++) {
		cJSON *patch = p->leaving[i] ? NULL : pod_labels_patch(p->pods[i], name);

		if (patch)
			planner_add(p, PLAN_MERGE, patch);
	}
}

/*
 * Returns whether the pod stays for a while. `ray start --block` never exits with 0 by itself. So
 * the command is most likely another one, and the next pod will end in the same way. This is no
 * failure to count, so the pod itself occupies its place for a while.
 */
static bool is_resting(const struct planner *p, size_t i, int64_t *ret_until_ns)
{
	int64_t completed_ns = pod_completed_ns(p->pods[i]);

	*ret_until_ns = MIN(completed_ns, p->in->now_ns) + REST_NS;
	return completed_ns && !p->leaving[i] && p->in->now_ns < *ret_until_ns;
}

static void delete_dead(struct planner *p)
{
	int64_t until_ns;

	for (size_t i = 0; i < p->n_pods; i++) {
		if (!pod_is_dead(p->pods[i]))
			continue;
		if (is_resting(p, i, &until_ns))
			planner_requeue(p, until_ns - p->in->now_ns);
		else
			planner_delete_or_hold(p, i);
	}
}

static void release_names(struct strmap *names)
{
	strmap_release(names, NULL);
}

/*
 * Handles pods of a group that the spec no longer has. KubeRay leaves them until the cluster is
 * deleted. Pods that KubeRay made stay, because a switch from KubeRay must not end anybody's work.
 */
static void delete_orphans(struct planner *p)
{
	_cleanup_(release_names) struct strmap names = STRMAP_INIT;

	json_each(group, json_get(p->in->cluster, "spec.workerGroupSpecs"))
		p->failed =
			p->failed || strmap_put(&names, group_name(RAY_WORKER, group), p, NULL) < 0;
	for (size_t i = 0; i < p->n_pods && !p->failed; i++)
		if (!pod_is_head(p->pods[i]) && upgrade_is_ours(p->pods[i]) &&
		    !strmap_get(&names, pod_group(p->pods[i])))
			planner_delete_or_hold(p, i);
}

/* Notes the reason of one of the pods, because as a rule all have the same reason. */
static void note_refused_sidecar(struct planner *p)
{
	for (size_t i = 0; i < p->n_pods; i++) {
		const char *why = object_annotation(p->pods[i], INJECT_REFUSED_ANNOTATION);

		if (!why || p->leaving[i])
			continue;
		notes_addf(
			p->notes, NOTE_RECORDING, "SidecarRefused",
			"pods run without the sidecar, because the API server refuses pods with it: %s",
			why);
		return;
	}
}

/* Plans the Event once: as long as the condition is not in the status yet. */
static void plan_events(struct planner *p)
{
	for (unsigned t = 0; t < NOTE_TOPIC_COUNT; t++) {
		_cleanup_free_ char *text = notes_text(p->notes, t);

		if (notes_have(p->notes, t) && text &&
		    !status_tells(p->in->cluster, note_topic_condition(t), "False", text))
			planner_add(p, PLAN_EVENT,
				    event_warning(p->in->cluster, notes_reason(p->notes, t),
						  "Reconcile", text, p->in->now_ns));
	}
}

static bool is_suspending(const struct planner *p)
{
	return object_condition_is_true(p->in->cluster, "RayClusterSuspending");
}

static void plan_status(struct planner *p, const struct status_view *view)
{
	cJSON *status = status_build(p->in->cluster, view, p->notes, p->in->now_ns), *body;

	if (!status)
		return;
	body = object_new("ray.io/v1", "RayCluster", json_str(p->in->cluster, "metadata.namespace"),
			  json_str(p->in->cluster, "metadata.name"));
	json_set(body, "status", status);
	/*
	 * An operation that keeps failing must not prevent the status from reporting it. And before
	 * the first pod of a suspended cluster is deleted, the status must say that all will be
	 * deleted, because the user may change the spec at any moment.
	 */
	if (p->in->failure_reason ||
	    (view && view->suspend && view->pods_left && !is_suspending(p)))
		planner_insert(p, PLAN_STATUS, body);
	else
		planner_add(p, PLAN_STATUS, body);
}

/*
 * The condition FailedCreateHeadPod is FailedToCreateHeadPod in an Event, as with KubeRay, because
 * tools rely on these words.
 */
static void plan_failure_event(struct planner *p)
{
	const char *reason = p->in->failure_reason, *message = p->in->failure_message;
	char event[64];

	if (!reason || !message || status_tells(p->in->cluster, "ReplicaFailure", "True", message))
		return;
	snprintf(event, sizeof(event), "FailedTo%s",
		 reason + (strncmp(reason, "Failed", 6) == 0 ? 6 : 0));
	planner_insert(p, PLAN_EVENT,
		       event_warning(p->in->cluster, event, "Reconcile", message, p->in->now_ns));
}

/*
 * Returns whether the head is not replaced. In a RayJob's cluster a new head would not know the
 * job, and the RayJob deletes the cluster.
 */
static bool keeps_its_loss(const struct planner *p)
{
	return !p->view.head && plan_head_is_final(p->in->cluster);
}

/* --- The whole plan -------------------------------------------------------------------------- */

static int plan_pods(struct planner *p, struct err *err)
{
	delete_dead(p);
	delete_orphans(p);
	int r = plan_head(p, err);
	if (r < 0)
		return r;
	if (keeps_its_loss(p))
		p->frozen = true;
	json_each(group, json_get(p->in->cluster, "spec.workerGroupSpecs")) {
		r = plan_workers(p, group, err);
		if (r < 0)
			return r;
	}
	p->view.all_ready = p->workers_ready && p->view.head && !pod_is_terminating(p->view.head) &&
			    pod_is_ready(p->view.head);
	return 0;
}

/* After this the pods are only counted. */
static void delete_all(struct planner *p)
{
	for (size_t i = 0; i < p->n_pods; i++)
		planner_delete_or_hold(p, i);
	p->frozen = true;
}

/*
	 * Returns whether pods of another spec still exist. Until they are gone, nothing new is
	 * created: old and new nodes are incompatible in one Ray cluster.
	 */
static bool must_recreate(struct planner *p)
{
	if (!upgrade_is_recreate(p->in->cluster))
		return false;
	for (size_t i = 0; i < p->n_pods; i++)
		if (upgrade_is_stale(p->pods[i], p->hash))
			return true;
	for (size_t i = 0; i < p->n_pods; i++)
		if (!p->leaving[i] && upgrade_is_unknown(p->pods[i]))
			planner_add(p, PLAN_MERGE, upgrade_adoption(p->pods[i], p->hash));
	return false;
}

/*
 * The labels that the plugins of KubeRay 1.7 read (controllers/ray/batchscheduler), if it was
 * started with a batch scheduler (Volcano, YuniKorn, KAI, scheduler-plugins). Here they have no
 * effect, so such a cluster waits in no queue and starts pod by pod. Kueue's label is not among
 * them, because Kueue suspends the cluster itself.
 */
static const char *const scheduling_labels[] = {
	"ray.io/gang-scheduling-enabled",
	"ray.io/priority-class-name",
	"volcano.sh/queue-name",
	"volcano.sh/network-topology-mode",
	"volcano.sh/network-topology-highest-tier-allowed",
	"yunikorn.apache.org/app-id",
	"yunikorn.apache.org/queue",
	"kai.scheduler/queue",
};

/*
 * Emits this once for each spec, and when a cluster is taken over, because its status has none of
 * our conditions then.
 */
static void tell_ignored_labels(struct planner *p)
{
	const cJSON *cluster = p->in->cluster;
	bool seen = json_find(json_get(cluster, "status.conditions"), "type",
			      note_topic_condition(NOTE_SPEC_VALID)) &&
		    json_int(cluster, "status.observedGeneration", -1) ==
			    json_int(cluster, "metadata.generation", 0);
	_cleanup_strbuf_ struct strbuf labels = STRBUF_INIT(1024);
	char note[1000];

	for (size_t i = 0; !seen && i < ARRAY_SIZE(scheduling_labels); i++)
		if (cJSON_GetObjectItemCaseSensitive(json_get(cluster, "metadata.labels"),
						     scheduling_labels[i]))
			strbuf_addf(&labels, "%s%s", labels.len ? ", " : "", scheduling_labels[i]);
	if (!labels.len)
		return;
	snprintf(
		note, sizeof(note),
		"These labels of the RayCluster have no effect, because Afterglow uses no batch scheduler: %s",
		strbuf_str(&labels));
	planner_add(p, PLAN_EVENT,
		    event_warning(cluster, "SchedulingLabelsIgnored", "Reconcile", note,
				  p->in->now_ns));
}

static int plan_valid(struct planner *p, struct err *err)
{
	int r = gather_pods(p, err);

	if (r < 0)
		return r;
	upgrade_hash(p->in->cluster, p->hash);
	p->resized = resized_groups_of(json_get(p->in->cluster, "metadata.annotations"));
	p->workers_ready = true;
	/*
	 * A deletion that has begun is completed: a part of an old cluster is of no use to a new
	 * one.
	 */
	p->view.suspend = json_bool(p->in->cluster, "spec.suspend", false) || is_suspending(p);
	p->view.failure_reason = p->in->failure_reason;
	p->view.failure_message = p->in->failure_message;
	p->view.growing = p->in->growing;
	p->view.growing_unheard = p->in->growing_unheard;
	/* The finalizer is set before there is anything in Redis. */
	if (redis_cleanup_wanted(p->in->cluster, p->in->policy) &&
	    !redis_cleanup_is_held(p->in->cluster))
		planner_add(p, PLAN_MERGE, redis_cleanup_finalizers(p->in->cluster, true));
	plan_objects(p);
	tell_ignored_labels(p);
	note_refused_sidecar(p);
	plan_restore_labels(p);
	p->pods_at = p->plan.n_ops;
	if (p->view.suspend || must_recreate(p))
		delete_all(p);
	r = plan_pods(p, err);
	if (r < 0)
		return r;
	plan_status(p, &p->view);
	plan_failure_event(p);
	plan_events(p);
	return 0;
}

int plan_cluster(const struct plan_input *in, struct plan *ret_plan, struct err *err)
{
	size_t lost = oom_count();
	_cleanup_(planner_release) struct planner p = { .in = in,
							.notes = cJSON_Duplicate(in->notes, true) };
	int r = 0;

	if (in->n_labelled > BOUND_LABELLED)
		notes_addf(
			p.notes, NOTE_SPEC_VALID, "RayClusterTooLarge",
			"metadata.name: %zu pods have the label ray.io/cluster with this name, at most %zu are allowed",
			in->n_labelled, BOUND_LABELLED);
	if (json_str(in->cluster, "metadata.deletionTimestamp")) {
		r = gather_pods(&p, err);
		if (r == 0)
			plan_farewell(&p);
	} else if (notes_have(p.notes, NOTE_SPEC_VALID)) {
		plan_status(&p, NULL);
		plan_events(&p);
	} else {
		r = plan_valid(&p, err);
	}
	if (r < 0)
		return r;
	if (p.failed || oom_count() != lost)
		return err_set(err, ENOMEM, "plan");
	*ret_plan = p.plan;
	p.plan = (struct plan){ 0 };
	return 0;
}
