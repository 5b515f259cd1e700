/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What survives the sidecar, and what the next one does with it.
 *
 * Each start of a container has a history file in the state directory (state_dir.h) while it
 * runs. Of those found at start, one whose report was not finished is finished
 * at once when its end is known, and otherwise kept until its launcher comes
 * back: then the new sidecar goes on with it. When a later start of the same
 * container connects instead, or nobody in time, it has ended while no sidecar
 * ran, and its report says so.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_RECOVERY_H
#define AFTERGLOW_SIDECAR_RECORD_RECOVERY_H

#include "sidecar/record/journal.h"
#include "sidecar/record/keeper.h"
#include "sidecar/record/options.h"
#include "sidecar/sample/history.h"

struct recovery;

/* A report was finished: its short form, and the whole of report.txt. */
typedef void (*recovery_reported_fn)(const struct failure *f, const char *text, void *arg);

/*
 * Opens the spool of options, which may have none, or one that is not writable:
 * then nothing survives, and a log line says so. NULL only without memory.
 * options must outlive it.
 */
struct recovery *recovery_new(const struct record_options *options, recovery_reported_fn reported, void *arg);
/* Who keeps the reports; before recovery_start. */
void recovery_set_keeper(struct recovery *r, struct keeper *keeper);
/* Removes half-written bundles, finishes the reports that can be. */
void recovery_start(struct recovery *r);
void recovery_free(struct recovery *r);

/* The directory for what else has to survive, -1: none. */
int recovery_dirfd(const struct recovery *r);

/* Now and then: where that is in memory, a child copies it to the spool's disk, for after the node's next start. */
void recovery_copy_state(struct recovery *r);

/* How many still wait for their launcher. */
size_t recovery_waiting(const struct recovery *r);

/*
 * The history for a launcher that has just said hello: the one of its life so far, or a new one. Finishes
 * the reports of earlier lives of that container. NULL: none can be kept, use one in memory.
 */
struct history *recovery_history(struct recovery *r, const struct life *life);

/* Nobody comes any more: finishes all that wait. */
void recovery_give_up(struct recovery *r);

/* Nobody watches that life any more, but its launcher may come back: of such histories a few are kept. */
void recovery_park(struct recovery *r, const struct life *life);

/* That life is reported: its file is not needed any more. */
void recovery_forget(struct recovery *r, const struct life *life);

#endif
