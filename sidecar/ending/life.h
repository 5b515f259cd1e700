/* SPDX-License-Identifier: Apache-2.0 */
/* Notes in a container's history, for the next sidecar, how far this sidecar has come with it. */
#pragma once

#include "sidecar/ending/ending.h"
#include "sidecar/ending/options.h"
#include "sidecar/watch/observer.h"

/*
 * Fills in the identity of a life: the launcher's name, start and PID, and this boot of the
 * machine.
 */
void life_begin(struct life *ret_life, const char *name, int64_t started_ns, pid_t launcher);
/* Whether both are the same start of the same container. */
bool life_same(const struct life *a, const struct life *b);

/*
 * Makes o use h from now on, and continue from the state in h: an OOM kill that came while no
 * sidecar was running shows as a rise over the baseline in h. Takes h.
 */
void life_adopt(struct observer *o, struct history *h);

/*
 * To be called after each sample: notes what has changed, in one write. Does nothing if the history
 * is in memory only.
 */
void life_note(const struct observer *o);

/* Notes how the container ended. */
void life_ended(const struct observer *o, const struct ending *e);
/* To be called before and after the bundle becomes visible at path (from the root directory). */
void life_reporting(const struct observer *o, const char *path);
void life_reported(const struct observer *o);

/*
 * Makes an observer from the history of a container that can no longer be seen. Takes h;
 * observer_close ends it.
 */
void life_revive(struct observer *o, struct history *h, const struct record_options *options);
/* Describes how the container ended, as far as the previous sidecar knew. */
void life_ending(const struct life *l, struct ending *ret_ending);
