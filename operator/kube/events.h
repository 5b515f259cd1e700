/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Events (events.k8s.io/v1). If an Event of the same name exists already, it
 * becomes a series: it is counted instead of written again. So the name must be derived
 * from the content of the Event.
 */
#pragma once

#include "operator/kube/client.h"

/*
 * Calls done once, with the answer to the last request. once: an existing Event of that name stays
 * as it is, because another replica may have emitted it, and done gets the 409.
 */
int client_event(struct client *client, const cJSON *event, bool once, client_done_fn done,
		 void *arg, struct err *err);
