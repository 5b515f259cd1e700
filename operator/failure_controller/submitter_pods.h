/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has the failure writer look at the pods of RayJobs' submitters. In K8sJobMode KubeRay makes a
 * Kubernetes Job whose pod runs `ray job submit`. The Job names its RayJob, but its pods have no
 * label of KubeRay's, so no selector of the watched pods finds them, and no sidecar, so only their
 * status shows how they ended. They are listed when their Job has one more failure, and from time
 * to time while one is not ready: an image that cannot be pulled changes nothing in the Job.
 * Namespaces take turns, a Job each, so that a tenant with thousands of Jobs holds up only its own.
 */
#pragma once

#include "operator/cache/watches.h"
#include "operator/failure_controller/failure_writer.h"
#include "operator/kube/workqueue.h"

/* Lists under way at once: whoever made the pods decides how large an answer is. */
#define SUBMITTER_LISTS_MAX 2

/* The user sets what stands before tick. */
struct submitter_pods {
	struct client *client;
	const struct watches *watches;
	struct failure_writer *writer;
	bool (*may_write)(void *arg); /* a replica that may not write asks nobody */
	void *arg;
	struct event *tick, *wake;
	struct strmap due; /* namespace -> struct strmap of its Jobs whose pods are to be listed */
	struct strmap
		waits; /* "namespace/name" of the Jobs of which a pod is not ready, and of some that are gone */
	struct workqueue turns; /* of these namespaces */
	bool behind; /* failures may have been missed, so all Jobs are looked at */
};

int submitter_pods_start(struct submitter_pods *pods, struct event_base *base, struct err *err);
void submitter_pods_stop(struct submitter_pods *pods);

/* Call this for each change of a Job; NULL: it is gone. */
void submitter_pods_see(struct submitter_pods *pods, const cJSON *job);
