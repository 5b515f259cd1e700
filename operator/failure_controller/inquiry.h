/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the objects that show which component ended a container (failures/fate.h): the pod's
 * Events, its Node, the Events of its RayCluster and of the RayCluster's owner. Deaths share an
 * answer for some seconds, as when a node is drained or a cluster is scaled down. No inquiry
 * takes longer than five seconds; an answer that comes later is not used.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "operator/failures/ray_failure.h"
#include "operator/kube/client.h"

struct inquiries;

struct inquiries_options {
	struct client *client;
	/*
	 * Returns the informer's copy of the RayCluster "namespace/name", or NULL. It is not kept
	 * after the call.
	 */
	const cJSON *(*find_cluster)(void *arg, const char *key);
	/* Returns whether that RayCluster was deleted a short time ago. */
	bool (*cluster_is_gone)(void *arg, const char *key);
	void *arg;
};

int inquiries_new(const struct inquiries_options *options, struct inquiries **ret_inquiries,
		  struct err *err);
/* NULL is allowed; an answer must not come afterwards */
void inquiries_free(struct inquiries *inquiries);

/*
 * Finds out which component ended the container of failure, and refines failure, which must live
 * until done is called. If wanted is true, the failure is recorded in any case; otherwise its Node
 * is read first, and more only if the Node shows more than a deletion. If it returns true, done is
 * called once, unless the client is freed before. If it returns false, there was nothing to read,
 * failure is refined, and done is not called.
 */
bool inquiries_start(struct inquiries *inquiries, struct ray_failure *failure, bool wanted,
		     void (*done)(void *arg), void *arg);
