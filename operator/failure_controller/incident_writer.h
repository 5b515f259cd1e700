/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins a cluster's failures into incidents (failures/incident.h), writes the incident into the
 * status and labels of each RayFailure, and has failure_events emit an Event for each incident. It
 * is level-triggered: after a change of a RayFailure, the whole cluster is planned anew two seconds
 * later. Only the leader writes, and a new leader writes what an earlier one left.
 */
#pragma once

#include "operator/cache/informer.h"
#include "operator/failure_controller/failure_events.h"
#include "operator/kube/client.h"

struct incident_writer;

struct incident_writer_options {
	struct event_base *base;
	struct client *client;
	/* gets each object that is written; the owner passes its changes to incident_writer_see */
	struct informer *failures;
	struct failure_events failure_events;
	bool (*may_write)(void *arg); /* asked before each write */
	void (*on_idle)(void *arg); /* called when no write is under way any more */
	void *arg;
};

int incident_writer_new(const struct incident_writer_options *options,
			struct incident_writer **ret_incidents, struct err *err);
void incident_writer_free(struct incident_writer *incidents); /* NULL is allowed */

/* Call this for each change of the informer's copy of the RayFailures. */
void incident_writer_see(struct incident_writer *incidents, enum store_change change,
			 const cJSON *before, const cJSON *after);
/*
 * Returns a refined copy of a failure that is about to be written, if its head ended
 * (failures/lost_head.h); otherwise NULL.
 */
cJSON *incident_writer_reconsider(const struct incident_writer *incidents, const cJSON *failure);
/* Call this when writing may have become possible. */
void incident_writer_wake(struct incident_writer *incidents);
/* The number of clusters with writes under way. */
size_t incident_writer_in_flight(const struct incident_writer *incidents);
