/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits all Events of the operator, with one queue, one rate and one list of recent Events. It
 * writes ten a second, so that Events are only a small load for the API server, and nothing waits
 * for them. Warnings go first, but for each fourth Event, and the namespaces take turns. At most
 * 500 may wait in a namespace, and 2000 in all, so that a tenant's Events do not displace others'.
 * Further Events are left out, which the log reports.
 */
#pragma once

#include <cjson/cJSON.h>
#include <event2/event.h>

#include "operator/kube/client.h"

/*
 * The most Events that may wait. Sixty RayClusters that are created at once have about 400 Events.
 */
#define EVENT_RECORDER_NAMESPACE_MAX 500
#define EVENT_RECORDER_MAX 2000

/* Decides what to do if an Event of that name exists already. */
enum event_again {
	EVENT_COUNTED, /* its series is counted */
	EVENT_ONCE, /* it stays as it is: perhaps another replica emitted it */
};

struct event_recorder;

struct event_recorder_options {
	struct event_base *base;
	struct client *client;
	bool (*may_write)(void *arg); /* Events that wait while this is false are left out */
	void *arg;
	unsigned interval_ms; /* from one Event to the next; 0: 100 */
};

int event_recorder_new(const struct event_recorder_options *options,
		       struct event_recorder **ret_recorder, struct err *err);
void event_recorder_free(struct event_recorder *recorder); /* NULL is allowed */

/* Queues event and takes it. NULL counts as an Event for which there was no memory. */
void event_recorder_emit(struct event_recorder *recorder, cJSON *event, enum event_again again);

/*
 * Returns whether an Event with that key may be emitted now, as event_filter_is_time() decides, by
 * the boottime clock. All callers share the keys, so a key is "namespace/name REASON".
 */
bool event_recorder_is_time(struct event_recorder *recorder, const char *key, int64_t again_ns);
