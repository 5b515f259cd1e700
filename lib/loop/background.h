/* SPDX-License-Identifier: Apache-2.0 */
/* An errand that the event loop hears of when it has something to say, and nobody waits for. */
#ifndef AFTERGLOW_LIB_LOOP_BACKGROUND_H
#define AFTERGLOW_LIB_LOOP_BACKGROUND_H

#include <event2/event.h>

#include "lib/loop/errand.h"

struct background {
	struct errand errand; /* it has a PID also when it was late, as long as it cannot die */
	struct event *event; /* until done was called; NULL: nothing is under way */
	errand_message_fn on_message;
	void (*done)(bool in_time, void *arg);
	void *arg;
};
#define BACKGROUND_NONE ((struct background){ .errand = ERRAND_NONE })

/*
 * As errand_start. From the event loop, never from within this call, on_message is called for each message (what it returns does
 * not matter), and then done, once: the errand has ended, or within_ns has passed. Then it is killed. done may start the next one.
 */
int background_start(struct background *b, struct event_base *base, errand_fn fn, void *work, int64_t within_ns,
		     errand_message_fn on_message, void (*done)(bool in_time, void *arg), void *arg, struct err *err);

/* It has within_ns from now on. */
void background_limit(struct background *b, int64_t within_ns);

/* Kills it without waiting; done is not called. */
void background_cancel(struct background *b);

#endif
