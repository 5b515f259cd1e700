/* SPDX-License-Identifier: Apache-2.0 */
/* How far the sidecar has come with a container, kept in its history for the next sidecar. */
#ifndef AFTERGLOW_SIDECAR_RECORD_LIFE_H
#define AFTERGLOW_SIDECAR_RECORD_LIFE_H

#include "sidecar/record/observer.h"
#include "sidecar/record/postmortem.h"

/* Says which life: of this boot, that launcher's. */
void life_begin(struct life *ret_life, const char *name, int64_t started_ns, pid_t launcher);
/* Whether both are the same start of the same container. */
bool life_same(const struct life *a, const struct life *b);

/*
 * o uses h from now on, and goes on from what h tells: an OOM kill that came while nobody looked
 * is a rise over the baseline of then. Takes h.
 */
void life_adopt(struct observer *o, struct history *h);

/* Notes what has changed, in one write; nothing when the history is in memory only. After each sample. */
void life_note(const struct observer *o);

void life_ended(const struct observer *o, const struct ending *e);
/* Before the bundle becomes visible at path (from the root directory), and after. */
void life_reporting(const struct observer *o, const char *path);
void life_reported(const struct observer *o);

/* An observer of a container that nobody can see any more. Takes h; observer_close ends it. */
void life_revive(struct observer *o, struct history *h, const struct record_options *options);
/* How it ended, as far as the sidecar before us knew. */
void life_ending(const struct life *l, struct ending *ret_ending);

#endif
