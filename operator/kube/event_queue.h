/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Events of what went well, when there is time: ten a second, so that they take a tenth of the API server's
 * attention at most, and no pod waits for them. A thousand may wait; what is more is not told.
 */
#ifndef AFTERGLOW_OPERATOR_KUBE_EVENT_QUEUE_H
#define AFTERGLOW_OPERATOR_KUBE_EVENT_QUEUE_H

#include <event2/event.h>

#include "operator/kube/client.h"

struct event_queue;

struct event_queue_options {
	struct event_base *base;
	struct client *client;
	bool (*may_write)(void *arg); /* what waits when this is false is not told */
	void *arg;
};

int event_queue_new(const struct event_queue_options *options, struct event_queue **ret_crier, struct err *err);
void event_queue_free(struct event_queue *event_queue); /* NULL is allowed */

/* Takes event. */
void event_queue_tell(struct event_queue *event_queue, cJSON *event);

#endif
