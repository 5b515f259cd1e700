/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the port of the pod that a liveness probe asks, every five seconds, because the kubelet tells
 * nobody in the pod that a probe has failed. Nothing is made of answers but whether they are good.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#define PROBE_EVERY_NS (5 * NS_PER_SEC)
#define PROBE_WITHIN_S 5 /* for the connection, and for each part of an answer */

struct bufferevent;

struct probe_watch {
	struct bufferevent *asking; /* NULL: no answer is awaited */
	int64_t asked_ns; /* 0: never */
	bool was_well; /* the last answer was good: status 2xx or 3xx */
	bool failed; /* none came, or a bad one, after a good one; a good one ends it, and the owner may */
	int64_t told_ns; /* kept by the owner */
};

/* Asks if it is time. target: "PORT/PATH" of the loopback address. w may not move until the release. */
void probe_watch_ask(struct probe_watch *w, struct event_base *base, const char *target,
		     int64_t now_ns);
void probe_watch_release(struct probe_watch *w);
