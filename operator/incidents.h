/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins the failures of a cluster that hang together (failures/incident.h), writes it into their status and labels, and has
 * the herald tell each incident once. Level-triggered: a change of a RayFailure only says which cluster to look at, two
 * seconds later. Only the replica that acts writes; what it has not written by its end, the next one finds.
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
	struct informer *failures; /* learns of what is written; its changes are to be given to incidents_see */
	struct herald *herald;
	bool (*may_write)(void *arg); /* asked before each write */
	void (*on_idle)(void *arg);   /* no write is under way any more */
	void *arg;
};

int incidents_new(const struct incidents_options *options, struct incidents **ret_incidents, struct err *err);
void incidents_free(struct incidents *incidents); /* NULL is allowed */

/* A change of the copy of RayFailures. */
void incidents_see(struct incidents *incidents, enum store_change change, const cJSON *before, const cJSON *after);
/* A failure that is about to be written, in the light of its head's ends (failures/lost_head.h). NULL: as it is. */
cJSON *incidents_reconsider(const struct incidents *incidents, const cJSON *failure);
/* To be called when writing may have become possible. */
void incidents_wake(struct incidents *incidents);
/* Clusters that are worked on. */
size_t incidents_in_flight(const struct incidents *incidents);

#endif
