/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps bundles: writes them to the spool, within its limits, and has them shipped to the store.
 * Owns the spool and its shipper. If the spool cannot be written (it is read-only, belongs to
 * another user, or its disk is broken), bundles go through a directory in memory instead, if there
 * is one.
 */
#pragma once

#include <event2/event.h>

#include "sidecar/ending/postmortem.h"
#include "sidecar/keeping/journal.h"
#include "sidecar/keeping/keeping.h"
#include "sidecar/spool/shipper.h"
#include "sidecar/spool/spool.h"

struct keeper;

/*
 * state_fd: a directory for what must survive the sidecar, -1: none. The keeper notes in journal,
 * which may be NULL, where each bundle is. options and journal must outlive the keeper.
 */
int keeper_new(struct event_base *base, const struct record_options *options, int state_fd,
	       struct journal *journal, struct keeper **ret_keeper, struct err *err);
void keeper_free(struct keeper *k);

/*
 * Writes a bundle, like postmortem_keep, when those before it are written. The event loop calls
 * kept->done, within some seconds for each. The limits are enforced and the bundle is shipped
 * later.
 */
void keeper_keep(struct keeper *k, struct kept *kept);
/* To be called when the first report of those that are to be kept may be made by now. */
void keeper_go_on(struct keeper *k);

/* Whether a bundle is being written; and whether one is of a container of that name. */
bool keeper_is_keeping(const struct keeper *k);
bool keeper_is_keeping_of(const struct keeper *k, const char *container);

/*
 * To be called when a bundle in the spool has changed, or when the spool has bundles of an earlier
 * sidecar.
 */
void keeper_changed(struct keeper *k);

/*
 * Bytes that may be added to the spool now, for example by a core. Asks its disk, so it is for
 * errands.
 */
int64_t keeper_room(const struct keeper *k);

/* To be called when the pod terminates: ships until deadline_ns (CLOCK_BOOTTIME). */
void keeper_stop(struct keeper *k, int64_t deadline_ns);

/*
 * Whether it is writing or shipping, or waits to ship again. fn of keeper_on_idle is called when
 * that is over, when a bundle was written, and when a bundle could not be shipped.
 */
bool keeper_busy(const struct keeper *k);
void keeper_on_idle(struct keeper *k, void (*fn)(void *arg), void *arg);

/*
 * The reason why the spool cannot be written, as a look found that the call before this one began.
 * NULL: there is no spool, or no reason is known.
 */
const char *keeper_spool_error(struct keeper *k);

/*
 * Return the figures of the spool and of shipping; NULL if bundles are not kept, or not shipped.
 * Valid until the next call.
 */
const struct spool_stats *keeper_spool_stats(struct keeper *k);
const struct shipper_stats *keeper_ship_stats(struct keeper *k);
