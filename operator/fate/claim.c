/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the component that says it deleted or evicted a pod. */
#include "operator/fate/claim.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "operator/failures/termination.h"

const char *const claim_event_fields[] = {
	"kind",
	"apiVersion",
	"items.reason",
	"items.message",
	"items.involvedObject.uid",
	"items.involvedObject.name",
	"items.involvedObject.fieldPath",
	"items.source.component",
	"items.reportingComponent",
	"items.firstTimestamp",
	"items.lastTimestamp",
	"items.eventTime",
	"items.series.lastObservedTime",
	NULL,
};

const char *const claim_job_fields[] = {
	"apiVersion",
	"kind",
	"metadata.name",
	"metadata.deletionTimestamp",
	"spec.shutdownAfterJobFinishes",
	"spec.ttlSecondsAfterFinished",
	"status.jobDeploymentStatus",
	"status.reason",
	"status.message",
	"status.rayClusterName",
	NULL,
};

/*
 * --- Events
 * ------------------------------------------------------------------------------------------------
 */

/*
 * Returns whether the Event was in time. A repeated Event has the times of its first and its last
 * occurrence, in other members in events.k8s.io/v1 than in core/v1.
 */
static bool is_in_time(const cJSON *event, const struct claim_pod *pod, int64_t *ret_at_ns)
{
	static const char *const members[] = { "firstTimestamp", "lastTimestamp", "eventTime",
					       "series.lastObservedTime" };

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (json_time(event, members[i], ret_at_ns) && *ret_at_ns >= pod->from_ns &&
		    *ret_at_ns <= pod->to_ns)
			return true;
	return false;
}

static void set_evidence(struct claim *claim, const char *source, const cJSON *event)
{
	const char *reason = json_str(event, "reason"), *message = json_str(event, "message");
	char text[300];

	claim->source = source;
	snprintf(text, sizeof(text), "%.60s: %.230s", reason ? reason : "?",
		 message ? message : "");
	text_tame(text, claim->evidence, sizeof(claim->evidence));
}

struct event_row {
	const char *reason; /* of the Event; NULL: any reason */
	const char *part; /* a part of the message */
	bool names_pod; /* the message must contain the pod as "namespace/name" */
	bool names_group; /* or the pod's worker group */
	enum ended_by_kind kind;
	const char *why; /* NULL: the message itself is the explanation */
};

/*
 * Returns whether the message contains "ns/pod" as a whole word: "Deleted pod ns/w-1" does not name
 * w-11, nor w-1.a.
 */
static bool names(const char *message, const char *namespace, const char *name)
{
	char word[330];
	size_t len = (size_t)snprintf(word, sizeof(word), "%.63s/%.253s", namespace, name);
	const char *at = message;

	while ((at = strstr(at, word))) {
		bool begins = at == message || at[-1] == ' ';

		/* A dot ends a sentence, or goes on with a name. */
		at += len + strspn(at + len, ".");
		if (begins && (!*at || strchr(" ;,:", *at)))
			return true;
	}
	return false;
}

static bool names_group(const char *message, const char *group)
{
	char word[330];

	snprintf(word, sizeof(word), " %.253s ", group ? group : "");
	return group && *group && strstr(message, word);
}

static bool row_fits(const struct event_row *row, const cJSON *event, const struct claim_pod *pod)
{
	const char *message = json_str(event, "message");

	return message && strstr(message, row->part) &&
	       (!row->reason || json_is(event, "reason", row->reason)) &&
	       (!row->names_pod || names(message, pod->namespace, pod->name)) &&
	       (!row->names_group || names_group(message, pod->group));
}

/*
 * A disruption budget may forbid the eviction: the descheduler's message begins like that of an
 * eviction, but continues.
 */
static bool is_of_pod(const cJSON *event, const struct claim_pod *pod)
{
	return json_is(event, "involvedObject.uid", pod->uid) &&
	       !json_is(event, "reason", "EvictionFailed");
}

/*
 * Finds the first row that any of the Events fits. of_pod: only Events about the pod itself count.
 */
static const struct event_row *row_find(const cJSON *events, const struct event_row *rows, size_t n,
					const struct claim_pod *pod, bool of_pod,
					const cJSON **ret_event, int64_t *ret_at_ns)
{
	for (size_t i = 0; i < n; i++) {
		json_each(event, json_get(events, "items"))
			if ((!of_pod || is_of_pod(event, pod)) && row_fits(&rows[i], event, pod) &&
			    is_in_time(event, pod, ret_at_ns)) {
				*ret_event = event;
				return &rows[i];
			}
	}
	return NULL;
}

/*
 * Makes a claim of the first row that any of the Events fits. source NULL: only Events about the
 * pod itself count.
 */
static bool claim_by_rows(const cJSON *events, const struct event_row *rows, size_t n,
			  const struct claim_pod *pod, const char *source, const char *of_kind,
			  const char *of, struct claim *ret_claim)
{
	struct claim claim = { 0 };
	const cJSON *event;
	const struct event_row *row =
		row_find(events, rows, n, pod, !source, &event, &claim.by.at_ns);

	if (!row)
		return false;
	ended_by_init(&claim.by, row->kind, of_kind, of,
		      row->why ? row->why : json_str(event, "message"));
	set_evidence(&claim, source ? source : "pod event", event);
	*ret_claim = claim;
	return true;
}

bool claim_by_pod_events(const cJSON *events, const struct claim_pod *pod, struct claim *ret_claim)
{
	/* clang-format off */
	static const struct event_row rows[] = {
		{ "Preempted", "Preempted by", false, false, ENDED_BY_SCHEDULER, NULL },
		{ "Preempting", "critical pod", false, false, ENDED_BY_KUBELET, NULL },
		{ "ScaleDown", "node scale down", false, false, ENDED_BY_CLUSTER_AUTOSCALER, "it removes the node" },
		{ "Evicted", "Evicted pod", false, false, ENDED_BY_KARPENTER, NULL },
		{ "Disrupted", "terminationTime", false, false, ENDED_BY_KARPENTER, "it removes the node" },
		{ "PodEviction", "node drain", false, false, ENDED_BY_AWS_TERMINATION, "it drained the node" },
		{ NULL, "sigs.k8s.io/descheduler", false, false, ENDED_BY_DESCHEDULER, NULL },
		{ "TaintManagerEviction", "Marking for deletion", false, false, ENDED_BY_TAINT_EVICTION, NULL },
	};
	/* clang-format on */

	return claim_by_rows(events, rows, ARRAY_SIZE(rows), pod, NULL, NULL, NULL, ret_claim);
}

/*
 * Returns what follows the pod's group in "Deleted worker Pod ns/name for group g: autoscaler
 * scale-down request".
 */
static const char *words_after_group(const char *message)
{
	const char *at = strstr(message, " for group "), *words = at ? strstr(at, ": ") : NULL;

	return words ? words + 2 : NULL;
}

bool claim_by_cluster_events(const cJSON *events, const struct claim_pod *pod, bool autoscaled,
			     struct claim *ret_claim)
{
	/* clang-format off */
	static const struct event_row rows[] = {
		{ "DeletedWorkerPod", "autoscaler scale-down request", true, false, ENDED_BY_RAY_AUTOSCALER, "it scaled the group down" },
		{ "DeletedWorkerPod", " for group ", true, false, ENDED_BY_KUBERAY, NULL },
		{ "DeletedWorkerPod", "; Pod status", true, false, ENDED_BY_KUBERAY, "it replaces a pod after the end of its Ray container" },
		{ "DeletedHeadPod", "; Pod status", true, false, ENDED_BY_KUBERAY, "it replaces a pod after the end of its Ray container" },
		{ "DeletedWorkerPod", "Deleted pod ", true, false, ENDED_BY_RAY_AUTOSCALER, "it scaled the group down" },
		{ "DeletedWorkerPod", "Deleted Pod ", true, false, ENDED_BY_KUBERAY, "the group was given fewer replicas" },
		{ NULL, "Deleted ", true, false, ENDED_BY_AFTERGLOW, "the RayCluster asks for fewer pods, or for another" },
		{ "DeletedWorkerPod", "suspended worker group", false, true, ENDED_BY_KUBERAY, "the worker group was suspended" },
		{ "DeletedPod", "due to suspension", false, false, ENDED_BY_KUBERAY, "the RayCluster was suspended" },
		{ "DeletedPod", "Recreate upgradeStrategy", false, false, ENDED_BY_KUBERAY,
		  "the RayCluster's spec changed, and its upgradeStrategy is Recreate" },
	};
	/* clang-format on */
	struct claim claim = { 0 };
	const cJSON *event;
	const struct event_row *row =
		row_find(events, rows, ARRAY_SIZE(rows), pod, false, &event, &claim.by.at_ns);
	enum ended_by_kind kind = row ? row->kind : ENDED_BY_NOBODY;
	const char *why = row ? row->why : NULL;

	if (!row || (kind == ENDED_BY_AFTERGLOW &&
		     !json_is(event, "reportingComponent", "afterglow.dev/operator")))
		return false;
	if (kind == ENDED_BY_RAY_AUTOSCALER && !autoscaled) {
		kind = ENDED_BY_KUBERAY;
		why = "the pod's name stood in scaleStrategy.workersToDelete";
	}
	ended_by_init(&claim.by, kind, "RayCluster", pod->cluster,
		      why ? why : words_after_group(json_str(event, "message")));
	set_evidence(&claim, "event of the RayCluster", event);
	*ret_claim = claim;
	return true;
}

bool claim_by_owner_events(const cJSON *events, const struct claim_pod *pod, const char *owner_kind,
			   const char *owner, struct claim *ret_claim)
{
	static const struct event_row rows[] = {
		{ "DeletedRayCluster", "Deleted", true, false, ENDED_BY_KUBERAY,
		  "it deleted the RayCluster, which was no longer needed" },
	};
	const struct claim_pod cluster = { .namespace = pod->namespace,
					   .name = pod->cluster,
					   .from_ns = pod->from_ns,
					   .to_ns = pod->to_ns };

	return pod->cluster &&
	       claim_by_rows(events, rows, ARRAY_SIZE(rows), &cluster,
			     "event of what made the RayCluster", owner_kind, owner, ret_claim);
}

bool claim_by_node_events(const cJSON *events, const struct claim_pod *pod, const char *node,
			  struct claim *ret_claim)
{
	/* clang-format off */
	static const struct event_row rows[] = {
		{ "SpotInterruption", "", false, false, ENDED_BY_AWS_TERMINATION, "its spot instance was interrupted" },
		{ "ScheduledEvent", "", false, false, ENDED_BY_AWS_TERMINATION, "maintenance of its instance was scheduled" },
		{ "ASGLifecycle", "", false, false, ENDED_BY_AWS_TERMINATION, "its auto scaling group ended the instance" },
		{ "StateChange", "", false, false, ENDED_BY_AWS_TERMINATION, "its instance was stopped or ended" },
		{ "PreemptScheduled", "", false, false, ENDED_BY_AKS_EVENT, "its spot virtual machine was reclaimed" },
		{ "TerminateScheduled", "", false, false, ENDED_BY_AKS_EVENT, "its virtual machine was to be deleted" },
		{ "ScaleDown", "node", false, false, ENDED_BY_CLUSTER_AUTOSCALER, "it removes the node" },
		{ "DisruptionTerminating", "Disrupting Node", false, false, ENDED_BY_KARPENTER, "it removes the node" },
		{ "Shutdown", "shutdown", false, false, ENDED_BY_NODE_SHUTDOWN, "the kubelet says that the node shuts down" },
		{ "DeletingNode", "does not exist in the cloud provider", false, false, ENDED_BY_CLOUD_PROVIDER, "the node's machine is gone" },
	};
	/* clang-format on */

	return claim_by_rows(events, rows, ARRAY_SIZE(rows), pod, "event of the node", "Node", node,
			     ret_claim);
}

/*
 * --- Objects
 * -----------------------------------------------------------------------------------------------
 */

static bool claim_set(struct claim *ret_claim, enum ended_by_kind kind, const char *of_kind,
		      const char *name, const char *why, const char *evidence)
{
	struct claim claim = { .source = of_kind };

	ended_by_init(&claim.by, kind, of_kind, name, why);
	text_tame(evidence, claim.evidence, sizeof(claim.evidence));
	*ret_claim = claim;
	return true;
}

bool claim_is_autoscaled(const cJSON *cluster)
{
	return json_bool(cluster, "spec.enableInTreeAutoscaling", false);
}

static bool is_to_be_deleted(const cJSON *group, const char *pod)
{
	json_each(name, json_get(group, "scaleStrategy.workersToDelete"))
		if (cJSON_IsString(name) && strcmp(name->valuestring, pod) == 0)
			return true;
	return false;
}

bool claim_by_cluster(const cJSON *cluster, const struct claim_pod *pod, struct claim *ret_claim)
{
	const cJSON *group =
		json_find(json_get(cluster, "spec.workerGroupSpecs"), "groupName", pod->group);
	enum ended_by_kind by =
		claim_is_autoscaled(cluster) ? ENDED_BY_RAY_AUTOSCALER : ENDED_BY_CLIENT;

	if (is_to_be_deleted(group, pod->name))
		return claim_set(ret_claim, by, "RayCluster", pod->cluster,
				 "it scaled the group down",
				 "the pod's name stands in scaleStrategy.workersToDelete");
	if (json_bool(group, "suspend", false))
		return claim_set(ret_claim, ENDED_BY_CLIENT, "RayCluster", pod->cluster,
				 "it suspended the worker group",
				 "the worker group has suspend: true");
	if (json_bool(cluster, "spec.suspend", false))
		return claim_set(ret_claim, ENDED_BY_CLIENT, "RayCluster", pod->cluster,
				 "it suspended the RayCluster", "spec.suspend is true");
	return false;
}

bool claim_by_job(const cJSON *job, const struct claim_pod *pod, struct claim *ret_claim)
{
	const char *status = json_str(job, "status.jobDeploymentStatus"),
		   *now = json_str(job, "status.rayClusterName");
	const char *name = json_str(job, "metadata.name");
	char why[200], evidence[300];

	if (!name)
		return false;
	const char *reason = json_str(job, "status.reason"),
		   *message = json_str(job, "status.message");
	/* Of a submitter's pod that failed, KubeRay's words are all there is: it is no Ray node. */
	snprintf(evidence, sizeof(evidence), "jobDeploymentStatus %.40s%s%.40s%s%.140s",
		 status ? status : "?", reason ? ", " : "", reason ? reason : "",
		 message ? ": " : "", message ? message : "");
	if (json_str(job, "metadata.deletionTimestamp"))
		return claim_set(ret_claim, ENDED_BY_CLIENT, "RayJob", name,
				 "it deleted the RayJob, and with it the cluster",
				 "it is being deleted");
	if ((now && *now && pod->cluster && strcmp(now, pod->cluster) != 0) ||
	    TEXT_IS_ONE_OF(status, "Retrying", "Waiting"))
		return claim_set(ret_claim, ENDED_BY_KUBERAY, "RayJob", name,
				 "the RayJob tries again with another cluster", evidence);
	if (TEXT_IS_ONE_OF(status, "Suspending", "Suspended"))
		return claim_set(ret_claim, ENDED_BY_KUBERAY, "RayJob", name,
				 "the RayJob was suspended", evidence);
	if (!TEXT_IS_ONE_OF(status, "Complete", "Failed"))
		return false;
	snprintf(why, sizeof(why),
		 "the RayJob %s, and KubeRay deletes its cluster (ttlSecondsAfterFinished %d)",
		 strcmp(status, "Failed") == 0 ? "failed" : "finished",
		 (int)MIN(MAX(json_int(job, "spec.ttlSecondsAfterFinished", 0), (int64_t)0),
			  (int64_t)1 << 30));
	return claim_set(ret_claim, ENDED_BY_KUBERAY, "RayJob", name, why, evidence);
}
