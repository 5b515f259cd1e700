/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the API server for the pods of one RayCluster of which it is not certain whether they exist
 * (expectations.h), each by its name. A pod that the cluster owns gets back the labels that it
 * lacks, and goes into the copies, so that the next plan sees it.
 */
#ifndef AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_POD_LOOKUP_H
#define AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_POD_LOOKUP_H

#include "operator/cluster_controller/expectations.h"
#include "operator/kube/client.h"
#include "operator/manager/watches.h"

/*
 * Of one lookup. What is more is for the next, so that a cluster whose pods all lost their labels
 * keeps no other waiting.
 */
#define POD_LOOKUP_MAX 64

/* The caller's, until done was called. What it points to must last as long. */
struct pod_lookup {
	struct client *client;
	struct watches *watches;
	struct expectations *expected;
	const char *namespace, *cluster; /* its name */
	const char *cluster_uid;
	bool (*may_write)(void *arg); /* asked before a label is put back */
	/*
	 * All is certain (err NULL), unless expectations_next has more; or it cannot be found out
	 * now. The lookup may be gone afterwards.
	 */
	void (*done)(void *arg, int64_t retry_after_ns, const struct err *err);
	void *arg;

	char name[254]; /* of the pod that is asked for */
	cJSON *pod; /* whose labels are being put back; owned */
	unsigned n; /* asked for so far */
};

/* Asks for what is not certain; calls done at once if that is nothing. */
void pod_lookup_start(struct pod_lookup *lookup);

/*
 * Before that, lists the names of the cluster's pods: what the copies lack is asked for as well. A
 * replica that has just become the leader does so before it creates a pod, for its watch may be
 * behind what the leader before it created.
 */
void pod_lookup_start_with_list(struct pod_lookup *lookup);

#endif
