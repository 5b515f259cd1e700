/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sees to it that every death in a Ray pod becomes a RayFailure, whoever made
 * the pod. Names are derived from the container's ID: writing twice does no harm.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_FAILURE_WRITER_H
#define AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_FAILURE_WRITER_H

#include "operator/cache/informer.h"
#include "operator/failure_controller/failure_owners.h"
#include "operator/failure_controller/inquiry.h"
#include "operator/failures/earlier_end.h"
#include "operator/kube/client.h"
#include "operator/manager/metrics.h"

struct failure_writer;

struct failure_writer_options {
	struct event_base *base;
	struct client *client;
	struct informer *known; /* RayFailures that exist; learns of those that are written */
	const struct informer *pods;
	struct metrics *metrics;
	struct failure_owners *owners; /* whose each failure is */
	struct inquiries *inquiries; /* who ended it */
	/* A replica that is not the leader keeps nothing that a leader can derive again */
	bool (*is_leader)(void *arg);
	bool (*may_write)(void *arg); /* asked before each write */
	/* Whether it would be kept; else it is not written. Asked right before. */
	bool (*wanted)(void *arg, const struct ray_failure *failure, const char **ret_why /* not, for the log */);
	/*
	 * Called with the sealed object before it is written. Returns a copy that other known failures refined, which the
	 * caller owns, or NULL: the object is written as it is.
	 */
	cJSON *(*reconsider)(void *arg, const cJSON *object);
	/* The evidence of a pod of this cluster ("namespace/name") is written: it may be planned anew. */
	void (*on_written)(void *arg, const char *cluster_key);
	/*
	 * We wrote that RayFailure, or perhaps did: called again where only the answer to the first write was lost. Valid during the
	 * call only. NULL is allowed.
	 */
	void (*on_recorded)(void *arg, const cJSON *object);
	/* That failure is not recorded, for there is no room or the API server keeps refusing it. NULL is allowed. */
	void (*on_lost)(void *arg, const struct ray_failure *failure, const char *why);
	/* The API server does not know what ("class, evidence") of a RayFailure. Called once. NULL is allowed. */
	void (*on_older_crd)(void *arg, const char *what);
	void *arg;
};

int failure_writer_new(const struct failure_writer_options *options, struct failure_writer **ret_writer, struct err *err);
void failure_writer_free(struct failure_writer *writer);

/*
 * Looks at a pod, alive or (gone) in its last state. Starts nothing itself. A death that the pod's status may still
 * explain waits for that, for a while.
 */
void failure_writer_see(struct failure_writer *writer, const cJSON *pod, bool gone);
/* The ends of the pod's containers that wait to be written: so many, at most max. */
size_t failure_writer_ends(const struct failure_writer *writer, const cJSON *pod, struct told_end *ret_ends, size_t max);
/* Whether that RayFailure is written, or waits to be. */
bool failure_writer_knows(const struct failure_writer *writer, const struct ray_failure *failure);
/*
 * Takes failure, which somebody else made. False: there is no room or no memory for it; offer it again later.
 */
bool failure_writer_add(struct failure_writer *writer, struct ray_failure *failure);
/* To be called when writing may have become possible. */
void failure_writer_wake(struct failure_writer *writer);
/* The RayFailure of that key exists, whoever wrote it. */
void failure_writer_written(struct failure_writer *writer, const char *key);
/* The RayFailure of that key was removed: it is not written again while its pod tells of it. */
void failure_writer_removed(struct failure_writer *writer, const char *key);
/* We are the replica that acts from now on: all pods are looked at, and what is pending is held its full time. */
void failure_writer_begin(struct failure_writer *writer);
/* Whether the pod has a death that is still to be written, for at most a minute: then the pod may go. */
bool failure_writer_pending(const struct failure_writer *writer, const cJSON *pod);
/* Writes under way. */
size_t failure_writer_in_flight(const struct failure_writer *writer);
size_t failure_writer_n_pending(const struct failure_writer *writer);
/* Sets the metrics of what was written and of what waits. */
void failure_writer_metrics(const struct failure_writer *writer);

#endif
