/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads from a Node's taints and conditions that the node is drained, reclaimed, scaled down or
 * shut down, and by which component. A tenant cannot write them. The projects themselves use these
 * names:
 *
 *   kubectl drain          node.kubernetes.io/unschedulable        kubernetes v1.34
 *   api/core/v1/well_known_taints.go out of service         node.kubernetes.io/out-of-service
 *   the same cloud provider         node.cloudprovider.kubernetes.io/shutdown  kubernetes v1.34
 *   cloud-provider/api/well_known_taints.go graceful shutdown      condition Ready, "node is
 *   shutting down"   kubernetes v1.34 pkg/kubelet/nodeshutdown cluster autoscaler
 *   ToBeDeletedByClusterAutoscaler          kubernetes/autoscaler
 *   cluster-autoscaler/utils/taints/taints.go
 *                          (DeletionCandidateOfClusterAutoscaler is a node that may stay, and no
 *                          mark)
 *   Karpenter              karpenter.sh/disrupted                  kubernetes-sigs/karpenter
 *   pkg/apis/v1/taints.go
 *                          karpenter.sh/disruption                 the same, v1beta1 (before 1.0)
 *   AWS                    aws-node-termination-handler/...        aws/aws-node-termination-handler
 *   pkg/node/node.go GKE                    cloud.google.com/impending-node-termination
 *   cluster-autoscaler/utils/taints/taints.go, and the
 *                          arguments of GKE's own maintenance-handler
 *   AKS                    remediator.kubernetes.azure.com/unschedulable
 *   learn.microsoft.com/azure/aks/node-auto-drain; before
 *                          it remediator.aks.microsoft.com/unschedulable (AKS release notes)
 *                          cloudprovider.azure.microsoft.com/draining
 *                          kubernetes-sigs/cloud-provider-azure condition VMEventScheduled
 *                          learn.microsoft.com/azure/aks/node-problem-detector; its message begins
 *                          with the event: "Preempt Scheduled: ..."; Freeze ends nothing conditions
 *                          PreemptScheduled ...         node-problem-detectors of others on Azure
 *
 * Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "operator/failures/ended_by.h"

/* The members of a Node that are read here, for a projection (kube/projection.h). */
extern const char *const node_mark_fields[];

struct node_mark {
	struct ended_by by; /* its name is the node, its reason the meaning of the mark */
	/* the machine itself goes away; false: perhaps only its pods were removed */
	bool reclaimed;
	char evidence[300]; /* "taint ToBeDeletedByClusterAutoscaler=1763715600:NoSchedule" */
};

/* Finds the node's mark that explains most. Returns false if the node has none. */
bool node_mark_find(const cJSON *node, struct node_mark *ret_mark);

/*
 * Writes the first taint for which the taint controller deletes pods, unreachable and not-ready
 * among them, in the form of evidence above. *ret_lost is set if the taint means that the node does
 * not answer. Returns false if the node has no such taint.
 */
bool node_mark_no_execute(const cJSON *node, char buf[static 300], bool *ret_lost);
