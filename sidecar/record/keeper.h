/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps what is reported: into the spool first, within its bounds, and from there
 * to the store. Owns the spool and whoever ships it. What the spool does not take (it is
 * read-only, belongs to others, its disk is broken) goes by a place in memory, if there is one.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_KEEPER_H
#define AFTERGLOW_SIDECAR_RECORD_KEEPER_H

#include <event2/event.h>

#include "sidecar/record/journal.h"
#include "sidecar/record/postmortem.h"
#include "sidecar/spool/shipper.h"
#include "sidecar/spool/spool.h"

struct keeper;

/*
 * state_fd: for what has to survive, -1: none. journal hears what becomes of bundles, NULL: nobody. options and journal must
 * outlive it.
 */
int keeper_new(struct event_base *base, const struct record_options *options, int state_fd, struct journal *journal,
	       struct keeper **ret_keeper, struct err *err);
void keeper_free(struct keeper *k);

/* As postmortem_keep; what follows from it comes with the event loop. */
int keeper_keep(struct keeper *k, struct report *r, const struct observer *o, struct err *err);

/* A bundle in the spool has changed, or one is there from before. */
void keeper_changed(struct keeper *k);

/* Bytes that may be added to the spool now, by a core for one; 0 where its disk does not answer within 10 s. */
int64_t keeper_room(struct keeper *k);

/* The pod is going away: ships until deadline (CLOCK_BOOTTIME). */
void keeper_stop(struct keeper *k, int64_t deadline_ns);

/* Whether it ships, or will without being asked. on_idle is called when that is over, and when a try failed. */
bool keeper_busy(const struct keeper *k);
void keeper_on_idle(struct keeper *k, void (*fn)(void *arg), void *arg);

/* Why the spool cannot be written, as it was within the last second; NULL: it can, as far as is known without trying, or there is none. */
const char *keeper_spool_error(struct keeper *k);

/* NULL: bundles go nowhere, or stay where they were written. Valid until the next call. */
const struct spool_stats *keeper_spool_stats(struct keeper *k);
const struct shipper_stats *keeper_ship_stats(struct keeper *k);

#endif
