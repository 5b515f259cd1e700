/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the component that says it deleted or evicted a pod. It looks at the pod's Events, at the
 * Events of its RayCluster and of the RayCluster's owner, and at these objects themselves. Anybody
 * who may create Events in the namespace can forge one, and the RayCluster belongs to a tenant: so
 * a claim makes a verdict likely, never certain. The projects really emit these texts:
 *
 *   scheduler            Preempted "Preempted by pod UID on node N"      kubernetes v1.34
 *   pkg/scheduler/framework/preemption kubelet              Preempting "Preempted in order to admit
 *   critical pod"   pkg/kubelet/preemption controller of taints TaintManagerEviction "Marking for
 *   deletion Pod ns/name" pkg/controller/tainteviction cluster autoscaler   ScaleDown "deleting pod
 *   for node scale down"   kubernetes/autoscaler core/scaledown/actuation/drain.go Karpenter
 *   Evicted "Evicted pod: ...", Disrupted           karpenter
 *   pkg/controllers/node/termination/terminator AWS                  PodEviction "Pod evicted due
 *   to node drain (node N)"  aws-node-termination-handler pkg/node/node.go descheduler
 *   "pod evicted from N node by sigs.k8s.io/descheduler"  kubernetes-sigs/descheduler
 *   pkg/descheduler/evictions about a Node         ScaleDown, DisruptionTerminating,
 *   SpotInterruption and others of AWS, Shutdown (kubelet), DeletingNode
 *                        (kubernetes cloud-provider/controllers/nodelifecycle), PreemptScheduled
 *                        (AKS)
 *   KubeRay 1.5 to 1.7   DeletedWorkerPod, DeletedHeadPod, DeletedPod about the RayCluster,
 *   DeletedRayCluster about the RayJob or
 *                        RayService
 *                        ray-operator/controllers/ray
 *   Afterglow            DeletedWorkerPod, DeletedHeadPod                operator/raycluster/news.c
 *
 * Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "operator/failures/ended_by.h"

/*
 * The members of Events that are read here and in probe_kill.h, for a projection
 * (kube/projection.h) of an EventList.
 */
extern const char *const claim_event_fields[];
/* The members of a RayJob that are read here. */
extern const char *const claim_job_fields[];

/* The pod that ended. The caller owns the texts; group may be NULL. */
struct claim_pod {
	const char *namespace, *name, *uid, *cluster, *group;
	int64_t from_ns, to_ns; /* only claims made between these times count, since 1970 */
};

struct claim {
	struct ended_by by;
	const char *source; /* static: the source that the evidence names */
	char evidence[300];
};

/*
 * Each function looks at one source and returns whether it holds a claim. The lists are EventLists;
 * each object may be NULL.
 */
bool claim_by_pod_events(const cJSON *events, const struct claim_pod *pod, struct claim *ret_claim);
/* autoscaled: Ray's autoscaler runs in the cluster, so the autoscaler filled workersToDelete. */
bool claim_by_cluster_events(const cJSON *events, const struct claim_pod *pod, bool autoscaled,
			     struct claim *ret_claim);
bool claim_by_owner_events(const cJSON *events, const struct claim_pod *pod, const char *owner_kind,
			   const char *owner, struct claim *ret_claim);
/* events are the Events about the Node, which Kubernetes keeps in the namespace "default". */
bool claim_by_node_events(const cJSON *events, const struct claim_pod *pod, const char *node,
			  struct claim *ret_claim);
/*
 * Finds that the RayCluster is suspended, or that its scaleStrategy.workersToDelete names the pod.
 */
bool claim_by_cluster(const cJSON *cluster, const struct claim_pod *pod, struct claim *ret_claim);
/* job is the RayJob that owns a RayCluster which is being deleted. */
bool claim_by_job(const cJSON *job, const struct claim_pod *pod, struct claim *ret_claim);

/* Returns whether Ray's autoscaler runs in that RayCluster. */
bool claim_is_autoscaled(const cJSON *cluster);
