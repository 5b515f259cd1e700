/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brings the bundles of the spool to the store: one afterglow-ship at a time, as a
 * child process on the event loop. Whatever the store does, a file server that hangs
 * included, happens to the child. What was shipped, and does not wait for an
 * addition, leaves the spool; what could not be shipped stays there for another try,
 * by this sidecar or the next.
 */
#ifndef AFTERGLOW_SIDECAR_SPOOL_SHIPPER_H
#define AFTERGLOW_SIDECAR_SPOOL_SHIPPER_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "sidecar/spool/quota.h"
#include "sidecar/spool/ship_plan.h"

struct shipper;

struct shipper_options {
	const char *program; /* afterglow-ship, from the root */
	const char *spool; /* directory of the bundles */
	struct store_options store;
	struct quota retention; /* of a directory store, below `retain_below`; all 0: nothing is removed there */
	const char *retain_below; /* "ml/demo" */
	const char *pruner; /* afterglow-sidecar, from the root */
};

struct shipper_callbacks {
	/* path: below the spool. In the store now. */
	void (*shipped)(const char *path, void *arg);
	/* A run failed. */
	void (*failed)(const struct ship_result *result, void *arg);
	/* Nothing is left to do for now; with shipper_stop: nothing more will be done. */
	void (*idle)(void *arg);
	void *arg;
};

struct shipper_stats {
	uint64_t shipped;
	uint64_t failed[SHIP_KIND_COUNT];
	bool failing; /* the last run failed: then why */
	struct ship_result last;
};

/* Nothing happens before the first shipper_kick. What options point to must outlive the shipper. NULL without memory. */
struct shipper *shipper_new(struct event_base *base, const struct shipper_options *options,
			    const struct shipper_callbacks *callbacks);

/* Ends a child that runs. It may outlive us when it hangs in the kernel. */
void shipper_free(struct shipper *s);

/* There may be something to ship. */
void shipper_kick(struct shipper *s);

/* The pod is going away: goes on until deadline (CLOCK_BOOTTIME), with short pauses between tries, then gives up. Again: for longer. */
void shipper_stop(struct shipper *s, int64_t deadline_ns);

/* Whether it works, or waits for its next try. */
bool shipper_busy(const struct shipper *s);

const struct shipper_stats *shipper_stats(const struct shipper *s);

#endif
