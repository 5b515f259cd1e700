/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits all Events of the operator: one queue, one rate, one memory of what was emitted lately. Ten a second are written, so
 * that they take a tenth of the API server's attention at most, and nothing waits for them. Warnings go first. In a namespace
 * 500 may wait, and 2000 in all; what is more is left out, and the log says so: one tenant's Events must not displace another's.
 */
#ifndef AFTERGLOW_OPERATOR_KUBE_EVENT_RECORDER_H
#define AFTERGLOW_OPERATOR_KUBE_EVENT_RECORDER_H

#include <cjson/cJSON.h>
#include <event2/event.h>

#include "operator/kube/client.h"

/* So many may wait. Sixty RayClusters that are made at once have some 400 Events. */
#define EVENT_RECORDER_NAMESPACE_MAX 500
#define EVENT_RECORDER_MAX 2000

/* What becomes of an Event that is there already, by its name. */
enum event_again {
	EVENT_COUNTED, /* its series is counted */
	EVENT_ONCE, /* it stays as it is: perhaps another replica emitted it */
};

struct event_recorder;

struct event_recorder_options {
	struct event_base *base;
	struct client *client;
	bool (*may_write)(void *arg); /* what waits when this is false is left out */
	void *arg;
	unsigned interval_ms; /* from one to the next; 0: 100 */
};

int event_recorder_new(const struct event_recorder_options *options, struct event_recorder **ret_recorder, struct err *err);
void event_recorder_free(struct event_recorder *recorder); /* NULL is allowed */

/* Takes event. NULL counts as an Event for which there was no memory. */
void event_recorder_emit(struct event_recorder *recorder, cJSON *event, enum event_again again);

/*
 * Whether it is time to emit what key stands for, as event_filter_is_time() has it, by the boottime clock. Keys are shared by
 * all callers: each begins with the Event's reason.
 */
bool event_recorder_is_time(struct event_recorder *recorder, const char *key, int64_t again_ns);

#endif
