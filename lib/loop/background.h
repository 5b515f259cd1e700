/* SPDX-License-Identifier: Apache-2.0 */
/* Runs an errand that nothing waits for: the event loop gets its messages and its end. */
#pragma once

#include <event2/event.h>

#include "lib/loop/errand.h"

struct background {
	struct errand errand; /* it keeps a PID after it was late, as long as it cannot be killed */
	struct event *event; /* exists until done is called; NULL: no errand is under way */
	errand_message_fn on_message;
	void (*done)(bool in_time, void *arg);
	void *arg;
	/* For an errand whose one message is a value, started without on_message: */
	void *answer;
	size_t size; /* of the answer */
	bool answered; /* since the last start: *answer is what it sent; or set by on_message */
};
#define BACKGROUND_NONE ((struct background){ .errand = ERRAND_NONE })
#define BACKGROUND_FOR(value) \
	((struct background){ .errand = ERRAND_NONE, .answer = &(value), .size = sizeof(value) })

/*
 * Like errand_start. The event loop, and never this call itself, calls on_message for each message
 * (NULL: a message of the answer's size is copied there), and then done, once:
 * the errand has ended, or within_ns has passed and it was killed; INT64_MAX: it has all the time
 * it needs. done may start the next errand.
 */
int background_start(struct background *b, struct event_base *base, errand_fn fn, void *work,
		     int64_t within_ns, errand_message_fn on_message,
		     void (*done)(bool in_time, void *arg), void *arg, struct err *err);

/* Gives the errand within_ns from now on; INT64_MAX: all the time it needs. */
void background_limit(struct background *b, int64_t within_ns);

/*
 * Waits for the errand after the event loop has ended (errand_wait_outside_loop). Returns whether
 * the errand has ended.
 */
bool background_await(struct background *b, int64_t within_ns);

/* Kills the errand without waiting; done is not called. */
void background_cancel(struct background *b);
