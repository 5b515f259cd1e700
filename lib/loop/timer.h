/* SPDX-License-Identifier: Apache-2.0 */
/* Events of libevent, as most of their users want them. */
#pragma once

#include <event2/event.h>
#include <stdint.h>

#include "lib/macros.h"
#include "lib/units.h"

/* Frees the event, which may be NULL. */
static inline void event_drop(struct event *event)
{
	if (event)
		event_free(event);
}

/*
 * Lets the timer go off after that time, not earlier; a millisecond is the least, so that the loop
 * turns in between.
 */
static inline int timer_after(struct event *timer, int64_t ns)
{
	ns = MAX(ns + 999, NS_PER_MS);
	return event_add(timer, &(struct timeval){ ns / NS_PER_SEC, ns % NS_PER_SEC / 1000 });
}
