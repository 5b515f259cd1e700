/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the API server for the pods of one RayCluster of which it is not certain whether they exist
 * (expectations.h), each by its name. A pod that the cluster owns gets back the labels that it
 * lacks, and goes into the copies, so that the next plan sees it.
 */
#pragma once

#include "operator/cache/watches.h"
#include "operator/cluster_controller/expectations.h"
#include "operator/kube/client.h"

/*
 * The most pods of one lookup. Further pods are left to the next lookup, so that a cluster that has
 * lost the labels of all its pods does not keep other clusters waiting.
 */
#define POD_LOOKUP_MAX 64

/* Owned by the caller. It, and the objects that it points to, must stay until done is called. */
struct pod_lookup {
	struct client *client;
	struct watches *watches;
	struct expectations *expected;
	const char *namespace, *cluster; /* its name */
	const char *cluster_uid;
	bool (*may_write)(void *arg); /* asked before a label is put back */
	/*
	 * Called when all asked pods are certain (err NULL; expectations_next may have more), or
	 * when that cannot be found out now. The callee may release the lookup.
	 */
	void (*done)(void *arg, int64_t retry_after_ns, const struct err *err);
	void *arg;

	char name[254]; /* the pod that is being asked for */
	cJSON *pod; /* the pod that gets its labels back; owned */
	unsigned n; /* how many pods were asked for so far */
};

/* Asks for the pods that are not certain; calls done at once if there are none. */
void pod_lookup_start(struct pod_lookup *lookup);

/*
 * Does the same, but first lists the names of the cluster's pods, and also asks for those that the
 * copies lack. A replica that has just become the leader does this before it creates a pod, because
 * its watch may not show yet the pods that the previous leader created.
 */
void pod_lookup_start_with_list(struct pod_lookup *lookup);
