/* SPDX-License-Identifier: Apache-2.0 */
/* The state that the parts of planning share while a plan is made. For plan*.c only. */
#pragma once

#include "lib/units.h"
#include "operator/raycluster/names.h"
#include "operator/raycluster/own_sizing.h"
#include "operator/raycluster/plan.h"
#include "operator/raycluster/pod_index.h"
#include "operator/raycluster/status.h"
#include "operator/raycluster/upgrade.h"

#define PLAN_RETRY_NS NS_PER_SEC
/* from 0; the index of a lost replica is used again */
#define REPLICA_INDEX_LABEL "ray.io/worker-group-replica-index"
#define REPLICA_NAME_LABEL "ray.io/worker-group-replica-name"
#define HOST_INDEX_LABEL "ray.io/replica-host-index"

/* What a new pod is in its group. */
struct pod_place {
	const char *replica; /* the name of a replica of several hosts, or NULL */
	int64_t index, host; /* of the replica, -1 for a head; of the host in its replica */
};

struct planner {
	const struct plan_input *in;
	struct plan plan;
	size_t capacity;
	cJSON *notes;
	const cJSON **pods; /* of in->pods, those that this cluster controls */
	bool *pending; /* their evidence is still to be written */
	bool *leaving; /* terminating, or deleted by this plan */
	size_t n_pods;
	struct pod_index index; /* of pods */
	/*
	 * the names of in->pods that others control, and of pods that this plan creates -> non-NULL
	 */
	struct strmap taken;
	char hash[UPGRADE_HASH_MAX]; /* of the spec */
	struct resized_groups resized;
	struct crash *crashes; /* in->crashes by the names of their groups */
	unsigned creates;
	unsigned n_names; /* how many names were made so far, so that the next name differs */
	const cJSON *template; /* of the pod that was created last */
	cJSON *copy; /* the plan's copy of that template */
	struct status_view view;
	bool workers_ready; /* no group lacks a ready worker */
	bool frozen; /* pods are counted, not created or deleted */
	/* the time before which no pod of the planned group is created; 0: no limit */
	int64_t hold_ns;
	size_t pods_at; /* no operation before this index concerns a pod */
	bool failed; /* no memory: checked once, at the end */
};

/* Takes body. */
void planner_add(struct planner *p, enum plan_op_kind kind, cJSON *body);
/* Before all that is done to pods. */
void planner_insert(struct planner *p, enum plan_op_kind kind, cJSON *body);
void planner_requeue(struct planner *p, int64_t ns);
void planner_release(struct planner *p);

/*
 * Deletes the pod of that index; a dead pod with evidence that is still to be written is kept for
 * now.
 */
void planner_delete_pod(struct planner *p, size_t i);
void planner_delete_or_hold(struct planner *p, size_t i);

/* Deletes a pod that is terminating already, without waiting for its node. */
void planner_forget_pod(struct planner *p, size_t i);

/* Returns the crashes of one group, unsorted. */
const struct crash *planner_crashes(const struct planner *p, const char *group, size_t *ret_n);

/* Returns whether the pod of that index is of the head, or of the worker group. */
bool planner_in_group(const struct planner *p, size_t i, enum ray_node node, const char *group);
int planner_build(struct planner *p, enum ray_node node, const cJSON *group, cJSON **ret_pod,
		  struct err *err);

/* Returns whether one more pod may be created in this plan; if not, another plan follows soon. */
bool planner_may_create(struct planner *p);
/*
 * Sets a name for a new pod of the group: the name of a creation that got no answer, or otherwise a
 * name that no pod has.
 */
void planner_next_name(struct planner *p, enum ray_node node, const char *group,
		       char ret_name[static POD_NAME_MAX]);
/* Create the head, and n replicas of a group that are one pod each. */
void planner_create_head(struct planner *p, const cJSON *template);
void planner_create_replicas(struct planner *p, const cJSON *template, const char *group,
			     int64_t n);
/* Creates one pod of that name, with the labels of its place. */
void planner_create_pod(struct planner *p, const cJSON *template, const char *name,
			const struct pod_place *place);

/* plan_objects.c: what stands around the pods. */
void plan_objects(struct planner *p);
/* plan_head.c */
/*
 * Returns whether a lost head is not replaced (annotation ray.io/disable-provisioned-head-restart).
 */
bool plan_head_is_final(const cJSON *cluster);
int plan_head(struct planner *p, struct err *err);
/* plan_workers.c: plans one group; each replica is one pod. */
int plan_workers(struct planner *p, const cJSON *group, struct err *err);
/* plan_farewell.c: a cluster that is being deleted. */
void plan_farewell(struct planner *p);
/*
 * plan_hosts.c: plans one group in which each replica is several pods (numOfHosts > 1). desired
 * counts replicas.
 */
void plan_hosts(struct planner *p, const cJSON *group, const cJSON *template, int64_t desired,
		int64_t hosts);
