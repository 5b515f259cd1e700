/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans the head pod. A head that fails again and again is replaced more and more slowly: somebody
 * has to look at it, and each new pod uses resources of the cluster and causes reports. The kubelet
 * does the same for containers that it restarts by itself (restartPolicy Always); then only the
 * condition shows it.
 */
#include "operator/raycluster/plan_internal.h"

#include <errno.h>
#include <inttypes.h>

#include "lib/json.h"
#include "operator/kube/object.h"
#include "operator/podspec/notes.h"
#include "operator/raycluster/autoscaler.h"
#include "operator/raycluster/gcs_ft.h"
#include "operator/raycluster/pod_state.h"

/* The time after the end of the grace period. */
#define STRANDED_NS (60 * NS_PER_SEC)

static void note_crashes(struct planner *p, const struct crash_loop *loop)
{
	char last[TIME_TEXT_MAX], next[TIME_TEXT_MAX];
	int64_t last_ns = MIN(loop->last->at_ns, p->in->now_ns);

	time_format(last_ns, last);
	time_format(loop->next_ns, next);
	if (p->view.head && !pod_is_dead(p->view.head) && !pod_is_terminating(p->view.head))
		notes_addf(
			p->notes, NOTE_HEAD_STABLE, "HeadCrashLoop",
			"the head died %u times within an hour, the last time at %s: see kubectl get rayfailures",
			loop->n, last);
	else
		notes_addf(
			p->notes, NOTE_HEAD_STABLE, "HeadCrashLoop",
			"the head died %u times within an hour, the last time at %s: the next is made %s later, at %s; see "
			"`kubectl get rayfailures`",
			loop->n, last, DURATION_TEXT(loop->next_ns - last_ns), next);
}

/*
 * Handles a head on a lost node, which stays "terminating" until somebody removes the node. A
 * second head can do no harm to it, unless the GCS's state is in an external store: two heads must
 * not use the same store.
 */
static void plan_stranded(struct planner *p, size_t i)
{
	int64_t over_ns = pod_termination_ns(p->pods[i]) + STRANDED_NS;

	if (!pod_is_stranded(p->pods[i]))
		return;
	if (gcs_ft_enabled(p->in->cluster))
		notes_addf(
			p->notes, NOTE_HEAD_STABLE, "HeadOnLostNode",
			"the node of head %s is lost; its state is kept outside, so no second head is started beside it: make "
			"sure that the node is down, then delete the node, or the pod with --force",
			json_str(p->pods[i], "metadata.name"));
	else if (p->in->now_ns < over_ns)
		planner_requeue(p, over_ns - p->in->now_ns);
	else if (!p->pending[i])
		planner_forget_pod(p, i);
	else
		planner_requeue(p, PLAN_RETRY_NS);
}

/*
 * Version 2 requires restartPolicy Never, so nobody would restart the autoscaler, and the cluster
 * would silently stay at its size.
 */
static void note_autoscaler(struct planner *p)
{
	const cJSON *status = json_find(json_get(p->view.head, "status.containerStatuses"), "name",
					AUTOSCALER_CONTAINER);
	const cJSON *ended = json_get(status, "state.terminated");
	const char *reason = json_str(ended, "reason");

	if (cJSON_IsObject(ended) && autoscaler_is_v2(p->in->cluster) && !pod_is_dead(p->view.head))
		notes_addf(p->notes, NOTE_HEAD_STABLE, "AutoscalerEnded",
			   "the autoscaler beside head %s ended with exit code %" PRId64
			   " (%s) and is not restarted: the cluster stays "
			   "at its size until the head pod is deleted",
			   json_str(p->view.head, "metadata.name"), json_int(ended, "exitCode", -1),
			   reason ? reason : "?");
}

bool plan_head_is_final(const cJSON *cluster)
{
	const char *disabled =
		object_annotation(cluster, "ray.io/disable-provisioned-head-restart");

	return TEXT_IS_ONE_OF(disabled, "true") &&
	       object_condition_is_true(cluster, "RayClusterProvisioned");
}

static void create_head(struct planner *p, const cJSON *template)
{
	struct crash_loop loop =
		crash_loop_of_head(p->in->crashes, p->in->n_crashes, p->in->now_ns);

	if (crash_loop_is(&loop))
		note_crashes(p, &loop);
	if (p->view.head || plan_head_is_final(p->in->cluster))
		return;
	if (p->in->now_ns < loop.next_ns)
		planner_requeue(p, loop.next_ns - p->in->now_ns);
	else
		planner_create_head(p, template);
}

int plan_head(struct planner *p, struct err *err)
{
	_cleanup_json_ cJSON *template = NULL;
	size_t heads = 0;
	int r = planner_build(p, RAY_HEAD, json_get(p->in->cluster, "spec.headGroupSpec"),
			      &template, err);

	if (r < 0)
		return r;
	status_add_resources(&p->view, template, 1);
	for (size_t i = 0; i < p->n_pods; i++) {
		if (!planner_in_group(p, i, RAY_HEAD, NULL))
			continue;
		heads++;
		plan_stranded(p, i);
		if (!p->leaving[i] || !p->view.head)
			p->view.head = p->pods[i];
	}
	if (heads > 1)
		return err_set(err, EEXIST, "cluster %s has %zu head pods: delete all but one",
			       json_str(p->in->cluster, "metadata.name"), heads);
	note_autoscaler(p);
	create_head(p, template);
	return 0;
}
