/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ships the bundles of the spool to the store. It runs one afterglow-ship at a time, as a child
 * process, so a store that hangs blocks the child and never the event loop. A bundle that was
 * shipped leaves the spool, unless an addition to it is still being written. A bundle that could
 * not be shipped stays in the spool, and this sidecar or the next tries again.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "sidecar/spool/quota.h"
#include "sidecar/spool/ship_plan.h"

struct shipper;

struct shipper_options {
	const char *program; /* the absolute path of afterglow-ship */
	const char *spool; /* the directory of the bundles */
	struct store_options store;
	/* the limits of a directory store, below retain_below; all 0: none */
	struct quota retention;
	const char *retain_below; /* a directory of the store, such as "ml/demo" */
	const char *pruner; /* the absolute path of afterglow-sidecar */
};

/* They are called from the event loop. */
struct shipper_callbacks {
	/* The bundle path (below the spool) is in the store now. */
	void (*shipped)(const char *path, void *arg);
	/* A run failed. */
	void (*failed)(const struct ship_result *result, void *arg);
	/*
	 * There is nothing to do until the next shipper_kick. After shipper_stop: nothing more will
	 * be done.
	 */
	void (*idle)(void *arg);
	/*
	 * Whether no shipped bundle may leave the spool now, because an addition to one is being
	 * begun. NULL: it never is.
	 */
	bool (*held)(void);
	void *arg;
};

struct shipper_stats {
	uint64_t shipped; /* runs that shipped a bundle, since the start */
	uint64_t failed[SHIP_KIND_COUNT]; /* runs that failed, by kind */
	bool failing; /* the last run failed */
	struct ship_result last; /* with failing: its result */
};

/*
 * Does nothing before the first shipper_kick. Copies options and callbacks; what they point to must
 * outlive the shipper. Returns NULL if there is no memory.
 */
struct shipper *shipper_new(struct event_base *base, const struct shipper_options *options,
			    const struct shipper_callbacks *callbacks);

/*
 * Kills the child that runs. A child that hangs in the kernel may outlive the sidecar. s may be
 * NULL.
 */
void shipper_free(struct shipper *s);

/* To be called when there may be a bundle to ship. s may be NULL. */
void shipper_kick(struct shipper *s);

/*
 * To be called when the pod terminates: the shipper goes on until deadline_ns (CLOCK_BOOTTIME),
 * with short waits between runs, and then gives up. A later call may only extend the deadline. s
 * may be NULL.
 */
void shipper_stop(struct shipper *s, int64_t deadline_ns);

/* Whether it is working, or waiting for its next run. False if s is NULL. */
bool shipper_busy(const struct shipper *s);

/* Owned by the shipper. */
const struct shipper_stats *shipper_stats(const struct shipper *s);
