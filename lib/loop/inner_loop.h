/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event loop inside another. The outer loop runs the events of the inner loop like its own.
 * While a callback of the outer loop waits for something, it may run the inner loop's events
 * itself, which libevent does not allow for the outer loop.
 */
#pragma once

#include <event2/event.h>

#include "lib/err.h"

struct inner_loop;

#define INNER_LOOP_TURN_MS 2 /* a turn ends after so long, and after the event that runs then */

int inner_loop_new(struct event_base *outer, struct inner_loop **ret_loop, struct err *err);

/* Everything with events on its base must be freed before. NULL is allowed. */
void inner_loop_free(struct inner_loop *l);

/*
 * Returns the base to which its events are added. Call inner_loop_turn afterwards, which notes
 * their timeouts.
 */
struct event_base *inner_loop_base(const struct inner_loop *l);

/*
 * Runs the events that are due, without waiting, and for INNER_LOOP_TURN_MS at most; the outer loop
 * soon runs the rest. From an event of the inner loop it does nothing: libevent would complain.
 */
void inner_loop_turn(struct inner_loop *l);
