/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from a Node's taints and conditions why the node is going away. */
#include "operator/fate/node_mark.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/units.h"
#include "operator/failures/termination.h"

const char *const node_mark_fields[] = {
	"apiVersion",
	"kind",
	"metadata.name",
	"metadata.uid",
	"metadata.creationTimestamp",
	"metadata.deletionTimestamp",
	"spec.taints",
	"spec.unschedulable",
	"status.conditions.type",
	"status.conditions.status",
	"status.conditions.reason",
	"status.conditions.message",
	"status.conditions.lastTransitionTime",
	NULL,
};

enum mark_place { TAINT, CONDITION };

/*
 * The most specific mark comes first, because a node that is reclaimed is also cordoned. part: a
 * part of the taint's value or of the condition's message.
 */
static const struct mark_row {
	enum mark_place place;
	const char *key, *status, *part;
	enum ended_by_kind kind;
	bool reclaimed;
	const char *reason;
	/* clang-format off */
} rows[] = {
	{ TAINT, "aws-node-termination-handler/spot-itn", NULL, NULL, ENDED_BY_AWS_TERMINATION, true,
	  "its spot instance was interrupted" },
	{ TAINT, "aws-node-termination-handler/scheduled-maintenance", NULL, NULL, ENDED_BY_AWS_TERMINATION, true,
	  "maintenance of its instance was scheduled" },
	{ TAINT, "aws-node-termination-handler/asg-lifecycle-termination", NULL, NULL, ENDED_BY_AWS_TERMINATION, true,
	  "its auto scaling group ended the instance" },
	{ TAINT, "aws-node-termination-handler/rebalance-recommendation", NULL, NULL, ENDED_BY_AWS_TERMINATION, false,
	  "its spot instance was recommended for rebalancing" },
	{ TAINT, "cloud.google.com/impending-node-termination", NULL, NULL, ENDED_BY_GKE_TERMINATION, true,
	  "its virtual machine was about to be reclaimed" },
	{ TAINT, "cloudprovider.azure.microsoft.com/draining", NULL, "spot-eviction", ENDED_BY_AKS_EVENT, true,
	  "its spot virtual machine was reclaimed" },
	{ CONDITION, "VMEventScheduled", "True", "Preempt", ENDED_BY_AKS_EVENT, true, "its spot virtual machine was reclaimed" },
	{ CONDITION, "VMEventScheduled", "True", "Terminate", ENDED_BY_AKS_EVENT, true, "its virtual machine was to be deleted" },
	{ CONDITION, "VMEventScheduled", "True", "Redeploy", ENDED_BY_AKS_EVENT, true, "its virtual machine was to be redeployed" },
	{ CONDITION, "VMEventScheduled", "True", "Reboot", ENDED_BY_AKS_EVENT, true, "its virtual machine was to be rebooted" },
	{ CONDITION, "PreemptScheduled", "True", NULL, ENDED_BY_AKS_EVENT, true, "its spot virtual machine was reclaimed" },
	{ CONDITION, "TerminateScheduled", "True", NULL, ENDED_BY_AKS_EVENT, true, "its virtual machine was to be deleted" },
	{ CONDITION, "RedeployScheduled", "True", NULL, ENDED_BY_AKS_EVENT, true, "its virtual machine was to be redeployed" },
	{ CONDITION, "RebootScheduled", "True", NULL, ENDED_BY_AKS_EVENT, true, "its virtual machine was to be rebooted" },
	{ TAINT, "ToBeDeletedByClusterAutoscaler", NULL, NULL, ENDED_BY_CLUSTER_AUTOSCALER, true, "it removes the node" },
	{ TAINT, "karpenter.sh/disrupted", NULL, NULL, ENDED_BY_KARPENTER, true, "it removes the node" },
	{ TAINT, "karpenter.sh/disruption", NULL, NULL, ENDED_BY_KARPENTER, true, "it removes the node" },
	{ TAINT, "node.cloudprovider.kubernetes.io/shutdown", NULL, NULL, ENDED_BY_CLOUD_PROVIDER, true,
	  "the node's machine is shut down" },
	{ TAINT, "node.kubernetes.io/out-of-service", NULL, NULL, ENDED_BY_NODE_SHUTDOWN, true,
	  "somebody marked the node as out of service" },
	{ CONDITION, "Ready", "False", "node is shutting down", ENDED_BY_NODE_SHUTDOWN, true, "the kubelet says that the node shuts down" },
	{ TAINT, "remediator.kubernetes.azure.com/unschedulable", NULL, NULL, ENDED_BY_AKS_EVENT, false, "AKS drains or repairs the node" },
	{ TAINT, "remediator.aks.microsoft.com/unschedulable", NULL, NULL, ENDED_BY_AKS_EVENT, false, "AKS drains or repairs the node" },
	{ TAINT, "node.kubernetes.io/unschedulable", NULL, NULL, ENDED_BY_DRAIN, false, "the node is cordoned" },
};
/* clang-format on */

static void taint_text(const cJSON *taint, char *buf, size_t size)
{
	const char *key = json_str(taint, "key"), *value = json_str(taint, "value"),
		   *effect = json_str(taint, "effect");
	char text[300];

	snprintf(text, sizeof(text), "taint %.120s%s%.80s:%.30s", key ? key : "?",
		 value && *value ? "=" : "", value ? value : "", effect ? effect : "?");
	text_tame(text, buf, size);
}

static void condition_text(const cJSON *condition, char *buf, size_t size)
{
	const char *message = json_str(condition, "message"),
		   *status = json_str(condition, "status");
	char text[300];

	snprintf(text, sizeof(text), "condition %.60s %.10s: %.180s", json_str(condition, "type"),
		 status ? status : "?", message ? message : "");
	text_tame(text, buf, size);
}

/* The time of a taint. Where it has none, the cluster autoscaler writes the time as its value. */
static int64_t time_of(const struct mark_row *row, const cJSON *found)
{
	const char *value = json_str(found, "value");
	long long seconds;
	int64_t ns;

	if (json_time(found, row->place == TAINT ? "timeAdded" : "lastTransitionTime", &ns))
		return ns;
	if (row->kind == ENDED_BY_CLUSTER_AUTOSCALER && value &&
	    sscanf(value, "%11lld", &seconds) == 1 && seconds > 0 && seconds < 4102444800)
		return seconds * NS_PER_SEC;
	return 0;
}

static const cJSON *find(const cJSON *node, const struct mark_row *row)
{
	const cJSON *found =
		row->place == TAINT ?
			json_find(json_get(node, "spec.taints"), "key", row->key) :
			json_find(json_get(node, "status.conditions"), "type", row->key);
	const char *status = json_str(found, "status"),
		   *text = json_str(found, row->place == TAINT ? "value" : "message");

	if (!found || (row->status && (!status || strcmp(status, row->status) != 0)) ||
	    (row->part && (!text || !strstr(text, row->part))))
		return NULL;
	return found;
}

bool node_mark_find(const cJSON *node, struct node_mark *ret_mark)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const cJSON *found = find(node, &rows[i]);
		struct node_mark mark = { .reclaimed = rows[i].reclaimed };

		if (!found)
			continue;
		ended_by_init(&mark.by, rows[i].kind, "Node", json_str(node, "metadata.name"),
			      rows[i].reason);
		mark.by.at_ns = time_of(&rows[i], found);
		if (rows[i].place == TAINT)
			taint_text(found, mark.evidence, sizeof(mark.evidence));
		else
			condition_text(found, mark.evidence, sizeof(mark.evidence));
		*ret_mark = mark;
		return true;
	}
	return false;
}

bool node_mark_no_execute(const cJSON *node, char buf[static 300], bool *ret_lost)
{
	static const char *const lost[] = { "node.kubernetes.io/unreachable",
					    "node.kubernetes.io/not-ready" };

	json_each(taint, json_get(node, "spec.taints")) {
		const char *effect = json_str(taint, "effect"), *key = json_str(taint, "key");

		if (!effect || !key || strcmp(effect, "NoExecute") != 0)
			continue;
		taint_text(taint, buf, 300);
		*ret_lost = strcmp(key, lost[0]) == 0 || strcmp(key, lost[1]) == 0;
		return true;
	}
	return false;
}
