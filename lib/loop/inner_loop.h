/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event loop inside another one. The outer loop runs the inner one's events as it runs its own. While a callback of the outer
 * loop waits for something, it may run the inner one's events itself: libevent does not allow that with its own loop.
 */
#ifndef AFTERGLOW_LIB_LOOP_INNER_LOOP_H
#define AFTERGLOW_LIB_LOOP_INNER_LOOP_H

#include <event2/event.h>

#include "lib/err.h"

struct inner_loop;

int inner_loop_new(struct event_base *outer, struct inner_loop **ret_loop, struct err *err);

/* What has events on the base is to be freed before. NULL is allowed. */
void inner_loop_free(struct inner_loop *l);

/* Where its events are added; after that, inner_loop_turn takes note of their timeouts. */
struct event_base *inner_loop_base(const struct inner_loop *l);

/* Runs what is due, without waiting. From an event of the inner loop it does nothing: libevent would complain. */
void inner_loop_turn(struct inner_loop *l);

#endif
