/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Events of what went well, when there is time: ten a second, so that they take a tenth of the API server's
 * attention at most, and no pod waits for them. A thousand may wait; what is more is not told.
 */
#ifndef AFTERGLOW_OPERATOR_CRIER_H
#define AFTERGLOW_OPERATOR_CRIER_H

#include <event2/event.h>

#include "operator/kube/client.h"

struct crier;

struct crier_options {
	struct event_base *base;
	struct client *client;
	bool (*may_write)(void *arg); /* what waits when this is false is not told */
	void *arg;
};

int crier_new(const struct crier_options *options, struct crier **ret_crier, struct err *err);
void crier_free(struct crier *crier); /* NULL is allowed */

/* Takes event. */
void crier_tell(struct crier *crier, cJSON *event);

#endif
