/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps what must survive the sidecar, and finishes what a previous sidecar left.
 *
 * Each start of a container has a history file in the state directory (state_dir.h) while it runs.
 * A sidecar that starts and finds such a file finishes its report at once if the container's end is
 * known. Otherwise it waits for the launcher to reconnect, and then continues the history. If a
 * later start of the same container connects instead, or the launcher does not reconnect in time,
 * the container ended while no sidecar ran, and its report says so.
 *
 * The same holds for a node that loses its power (e2e/kernel/power_loss_test.sh): before a bundle
 * becomes visible, the child that writes it waits until the disk has the history, so the sidecar
 * after the restart knows of it. With the state in memory, a death right before the loss may be
 * reported twice or not at all until its copy is on the disk; each death is copied at once.
 */
#pragma once

#include "sidecar/ending/options.h"
#include "sidecar/keeping/journal.h"
#include "sidecar/keeping/keeper.h"
#include "sidecar/sample/history.h"

struct recovery;

/* Called when a report was finished. f is its short form, text the whole report.txt. */
typedef void (*recovery_reported_fn)(const struct failure *f, const char *text, void *arg);

/*
 * Opens the spool that options name. If there is none, or it cannot be written, nothing survives
 * the sidecar; the latter is logged. Returns NULL only if there is no memory. options must outlive
 * it.
 */
struct recovery *recovery_new(const struct record_options *options, recovery_reported_fn reported,
			      void *arg);
/*
 * Sets the keeper that writes the reports. To be called before recovery_start; keeper must outlive
 * r.
 */
void recovery_set_keeper(struct recovery *r, struct keeper *keeper);
/*
 * Removes half-written bundles, and begins to finish the reports of containers that are known to
 * have ended. The event loop goes on with them, one after the other.
 */
void recovery_start(struct recovery *r);
void recovery_free(struct recovery *r);

/* The state directory; owned by r. -1: there is none. */
int recovery_dirfd(const struct recovery *r);

/*
 * To be called every STATE_COPY_S seconds: if the state directory is in memory, a child copies it
 * to the spool's disk, so that it survives a restart of the node.
 */
void recovery_copy_state(struct recovery *r);

/* The number of histories that still wait for their launcher. */
size_t recovery_waiting(const struct recovery *r);

/*
 * Returns the history for a launcher that has sent hello: that of its life so far, or a new one.
 * The caller owns it. Finishes the reports of earlier lives of the container. NULL: no file can be
 * made, and the caller keeps a history in memory.
 */
struct history *recovery_history(struct recovery *r, const struct life *life);

/* Begins to finish the reports of earlier lives of that container, as recovery_history does. */
void recovery_finish_older(struct recovery *r, const char *name, int64_t started_ns);

/* To be called when the time to reconnect is over: finishes the reports of all that still wait. */
void recovery_give_up(struct recovery *r);

/*
 * Parks the history of a life that is no longer watched, because its launcher may reconnect. Only a
 * few are kept (parking.h).
 */
void recovery_park(struct recovery *r, const struct life *life);

/* Removes the history of a life that was reported. */
void recovery_forget(struct recovery *r, const struct life *life);
