/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sees to it that every death in a Ray pod becomes a RayFailure, whoever made
 * the pod. Names are derived from the container's ID: writing twice does no harm.
 */
#ifndef AFTERGLOW_OPERATOR_RECORDER_H
#define AFTERGLOW_OPERATOR_RECORDER_H

#include "operator/kube/client.h"
#include "operator/kube/informer.h"
#include "operator/failures/earlier_end.h"
#include "operator/inquiry.h"
#include "operator/metrics.h"
#include "operator/owners.h"

struct recorder;

struct recorder_options {
	struct event_base *base;
	struct client *client;
	struct informer *known; /* RayFailures that exist; learns of those that are written */
	struct metrics *metrics;
	struct owners *owners; /* whose each failure is */
	struct inquiries *inquiries; /* who ended it */
	bool (*may_write)(void *arg); /* asked before each write */
	/* Whether it would be kept; else it is not written. Asked right before. */
	bool (*wanted)(void *arg, const cJSON *failure, const char **ret_why /* not, for the log */);
	/*
	 * Called with the sealed failure before it is written. Returns a copy that other known failures refined, which the
	 * caller owns, or NULL: the failure is written as it is.
	 */
	cJSON *(*reconsider)(void *arg, const cJSON *failure);
	/* The evidence of a pod of this cluster ("namespace/name") is written: it may be planned anew. */
	void (*on_written)(void *arg, const char *cluster_key);
	void *arg;
};

int recorder_new(const struct recorder_options *options, struct recorder **ret_recorder, struct err *err);
void recorder_free(struct recorder *recorder);

/*
 * Looks at a pod, alive or (gone) in its last state. Starts nothing itself. A death that the pod's status may still
 * explain waits for that, for a while.
 */
void recorder_see(struct recorder *recorder, const cJSON *pod, bool gone);
/* The ends of the pod's containers that wait to be written: so many, at most max. */
size_t recorder_ends(const struct recorder *recorder, const cJSON *pod, struct told_end *ret_ends, size_t max);
/* Whether that RayFailure is written, or waits to be. */
bool recorder_knows(const struct recorder *recorder, const cJSON *failure);
/* Takes failure, a whole RayFailure that somebody else made. */
void recorder_add(struct recorder *recorder, cJSON *failure);
/* To be called when writing may have become possible. */
void recorder_wake(struct recorder *recorder);
/* The RayFailure of that key exists, whoever wrote it. */
void recorder_written(struct recorder *recorder, const char *key);
/* We are the replica that acts from now on: what is pending is held its full time. */
void recorder_begin(struct recorder *recorder);
/* Whether the pod has a death that is still to be written, for at most a minute: then the pod may go. */
bool recorder_pending(const struct recorder *recorder, const cJSON *pod);
/* Writes under way. */
size_t recorder_in_flight(const struct recorder *recorder);
size_t recorder_n_pending(const struct recorder *recorder);

#endif
