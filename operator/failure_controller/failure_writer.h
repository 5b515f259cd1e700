/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a RayFailure for every death in a Ray pod, also in pods that KubeRay made. The names of
 * RayFailures are derived from the container's ID, so a second write of the same death does no
 * harm.
 */
#pragma once

#include "operator/cache/informer.h"
#include "operator/failure_controller/failure_owners.h"
#include "operator/failure_controller/inquiry.h"
#include "operator/failures/earlier_end.h"
#include "operator/failures/unmet_end.h"
#include "operator/kube/client.h"
#include "operator/kube/metrics.h"

struct failure_writer;

struct failure_writer_options {
	struct event_base *base;
	struct client *client;
	struct informer *known; /* the RayFailures that exist; each one that is written is added */
	const struct informer *pods;
	struct metrics *metrics;
	bool quote_verdicts; /* as in failure_counts.h */
	struct failure_owners *owners; /* finds the owner of a failure */
	struct inquiries *inquiries; /* finds the component that ended a container */
	/* A replica that is not the leader keeps nothing that a leader can derive again. */
	bool (*is_leader)(void *arg);
	bool (*may_write)(void *arg); /* asked before each write */
	/*
	 * Asked right before a write: returns whether the RayFailure would be kept. If not,
	 * *ret_why is the reason for the log, and it is not written.
	 */
	bool (*wanted)(void *arg, const struct ray_failure *failure, const char **ret_why);
	/*
	 * Called with the complete object before it is written. Returns a copy that was refined
	 * with the help of other failures, which the caller owns; NULL if the object is written as
	 * it is.
	 */
	cJSON *(*reconsider)(void *arg, const cJSON *object);
	/*
	 * Called when a death in a pod of this cluster ("namespace/name") was written: the cluster
	 * may be planned anew.
	 */
	void (*on_written)(void *arg, const char *cluster_key);
	/*
	 * Called when the failure is not recorded: there is no room, or the API server keeps
	 * refusing it. May be NULL.
	 */
	void (*on_lost)(void *arg, const struct ray_failure *failure, const char *why);
	/*
	 * Called once when the cluster's CRD is older and does not have these members of a
	 * RayFailure ("class, evidence"). May be NULL.
	 */
	void (*on_older_crd)(void *arg, const char *what);
	void *arg;
};

int failure_writer_new(const struct failure_writer_options *options,
		       struct failure_writer **ret_writer, struct err *err);
void failure_writer_free(struct failure_writer *writer);

/*
 * Looks for deaths in the state of a pod. If gone is true, the pod was deleted, and this is its
 * last state. A death waits for a while if the pod's status may still explain it. Writes nothing
 * itself.
 */
void failure_writer_see(struct failure_writer *writer, const cJSON *pod, bool gone);
/*
 * Returns whether a death in the pod waits for what its sidecar got from the node agent
 * (failures/unmet_end.h).
 */
bool failure_writer_awaits_sidecar(const struct failure_writer *writer, const cJSON *pod);
/* Takes what the pod's sidecar says of such deaths. */
void failure_writer_hear(struct failure_writer *writer, const cJSON *pod,
			 const struct unmet_ends *unmet);
/* Lists the ends of the pod's containers that wait to be written, at most max. Returns how many. */
size_t failure_writer_ends(const struct failure_writer *writer, const cJSON *pod,
			   struct known_end *ret_ends, size_t max);
/* Returns whether that RayFailure is written, or waits to be. */
bool failure_writer_knows(const struct failure_writer *writer, const struct ray_failure *failure);
/*
 * Takes failure, which the caller made, to write it. Returns false if there is no room or no memory
 * for it; the caller may offer the same death again later. failure is taken in both cases.
 */
bool failure_writer_add(struct failure_writer *writer, struct ray_failure *failure);
/* Call this when writing may have become possible. */
void failure_writer_wake(struct failure_writer *writer);
/* Call this when the RayFailure of that key exists, also if another replica wrote it. */
void failure_writer_written(struct failure_writer *writer, const char *key);
/*
 * Call this when the RayFailure of that key was deleted: it is not written again while its pod
 * shows the death.
 */
void failure_writer_removed(struct failure_writer *writer, const char *key);
/*
 * Call this when this replica becomes the leader: it walks through all pods, and the times of
 * pending failures begin anew.
 */
void failure_writer_begin(struct failure_writer *writer);
/*
 * Returns whether the pod has a death that waits to be written. It returns false after a minute, so
 * that the pod can be deleted.
 */
bool failure_writer_pending(const struct failure_writer *writer, const cJSON *pod);
/* Return the number of writes under way, and of RayFailures that wait. */
size_t failure_writer_in_flight(const struct failure_writer *writer);
size_t failure_writer_n_pending(const struct failure_writer *writer);
/* Sets the metrics of written and of waiting RayFailures. */
void failure_writer_metrics(const struct failure_writer *writer);
