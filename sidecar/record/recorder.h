/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder: listens for launchers, keeps a container object for each, and
 * passes their reports on. Sources of events, all in one libevent loop: the
 * listening socket, each container's connection, timer, cgroup events and pidfd,
 * and the signals of the program that owns it.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_RECORDER_H
#define AFTERGLOW_SIDECAR_RECORD_RECORDER_H

#include <event2/event.h>
#include <stdbool.h>

#include "lib/err.h"
#include "sidecar/record/journal.h"
#include "sidecar/record/keeper.h"
#include "sidecar/record/observer.h"
#include "sidecar/record/options.h"

struct recorder;

/* Listens on options->socket_path at once. options must outlive the recorder. */
int recorder_new(struct event_base *base, const struct recorder_options *options, struct recorder **ret_recorder,
		 struct err *err);
void recorder_free(struct recorder *r);

/* Called whenever a container is over, whenever nothing is left to ship, and when shipping failed. */
void recorder_on_idle(struct recorder *r, void (*fn)(void *arg), void *arg);

/* Whether a core is being unwound or compressed. */
bool recorder_keeps_core(const struct recorder *r);

/* What the last end means for options->leave_after. */
enum recorder_leave { RECORDER_STAYS, RECORDER_LEAVES_WHEN_SHIPPED, RECORDER_LEAVES };
/*
 * After a success there is next to nothing to ship, and the pod is done with its work: it must not wait for a store that is
 * down. After a failure the bundle is worth the wait.
 */
enum recorder_leave recorder_leave(const struct recorder *r);

/* Whether any launcher has said hello. */
bool recorder_was_greeted(const struct recorder *r);

/* Containers that have not ended. */
unsigned int recorder_active(const struct recorder *r);

/* The pod is going away: what ends now ended with it. Says the digest. */
void recorder_pod_terminating(struct recorder *r);

/* Nothing more is waited for. Says the digest again if there is more to say. */
void recorder_conclude(struct recorder *r);

/* Ships what is in the spool until deadline (CLOCK_BOOTTIME), then stops trying. */
void recorder_ship_until(struct recorder *r, int64_t deadline_ns);
bool recorder_is_shipping(const struct recorder *r);

/* Who keeps the bundles. */
struct keeper *recorder_keeper(const struct recorder *r);

/* The failures of this pod so far. Valid until the next event. */
const struct journal *recorder_journal(const struct recorder *r);

/* Whether cores are looked at, and what became of them. */
bool recorder_takes_cores(const struct recorder *r);
const struct core_stats *recorder_core_stats(const struct recorder *r);

/* NULL outside Kubernetes. */
const char *recorder_pod_uid(const struct recorder *r);

/* Calls fn for each container that is watched. */
void recorder_each(const struct recorder *r, void (*fn)(const char *name, const struct observer *o, void *arg), void *arg);

/* Path of the latest bundle, "" while there is none. */
const char *recorder_last_bundle(const struct recorder *r);

#endif
