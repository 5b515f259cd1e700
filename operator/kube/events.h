/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Events (events.k8s.io/v1). If an Event of the same name exists already, it
 * becomes a series: it is counted instead of written again. So the name must be derived
 * from the content of the Event.
 */
#pragma once

#include "operator/kube/client.h"

/* Calls done once, with the answer to the last request. */
int client_event(struct client *client, const cJSON *event, client_done_fn done, void *arg, struct err *err);
/*
 * Does the same, but leaves an existing Event of that name as it is: another replica may have
 * emitted it. Then done gets the 409.
 */
int client_event_once(struct client *client, const cJSON *event, client_done_fn done, void *arg, struct err *err);
