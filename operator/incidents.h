/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins a cluster's failures into incidents (failures/incident.h), writes the incidents into their statuses and labels, and has the
 * herald emit one Event for each. Level-triggered: a change of a RayFailure only says which cluster to plan anew two seconds later.
 * Only the leader writes. The next leader finds what an earlier one left unwritten.
 */
#ifndef AFTERGLOW_OPERATOR_INCIDENTS_H
#define AFTERGLOW_OPERATOR_INCIDENTS_H

#include "operator/herald.h"
#include "operator/kube/client.h"
#include "operator/kube/informer.h"

struct incidents;

struct incidents_options {
	struct event_base *base;
	struct client *client;
	struct informer *failures; /* gets each object that is written; the owner passes its changes to incidents_see */
	struct herald *herald;
	bool (*may_write)(void *arg); /* asked before each write */
	void (*on_idle)(void *arg);   /* no write is under way any more */
	void *arg;
};

int incidents_new(const struct incidents_options *options, struct incidents **ret_incidents, struct err *err);
void incidents_free(struct incidents *incidents); /* NULL is allowed */

/* The informer's copy of the RayFailures changed. */
void incidents_see(struct incidents *incidents, enum store_change change, const cJSON *before, const cJSON *after);
/* A refined copy of a failure that is about to be written, if its head ended (failures/lost_head.h). NULL: write it as it is. */
cJSON *incidents_reconsider(const struct incidents *incidents, const cJSON *failure);
/* To be called when writing may have become possible. */
void incidents_wake(struct incidents *incidents);
/* The number of clusters with writes under way. */
size_t incidents_in_flight(const struct incidents *incidents);

#endif
