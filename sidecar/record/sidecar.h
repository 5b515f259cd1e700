/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sidecar: listens for launchers, keeps a container object for each, and
 * passes their reports on. Sources of events, all in one libevent loop: the
 * listening socket, each container's connection, timer, cgroup events and pidfd,
 * and the signals of the program that owns it.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_SIDECAR_H
#define AFTERGLOW_SIDECAR_RECORD_SIDECAR_H

#include <event2/event.h>
#include <stdbool.h>

#include "lib/err.h"
#include "sidecar/record/journal.h"
#include "sidecar/record/keeper.h"
#include "sidecar/record/observer.h"
#include "sidecar/record/options.h"

struct sidecar;

/* Listens on options->socket_path at once. options must outlive the sidecar. */
int sidecar_new(struct event_base *base, const struct record_options *options, struct sidecar **ret_sidecar,
		struct err *err);
void sidecar_free(struct sidecar *r);

/* Called whenever a container is over, whenever nothing is left to ship, and when shipping failed. */
void sidecar_on_idle(struct sidecar *r, void (*fn)(void *arg), void *arg);

/* fn is called now and then while the event loop waits for an errand: for what has to go on meanwhile. It may not end r. */
void sidecar_while_waiting(struct sidecar *r, void (*fn)(void *arg), void *arg);

/* Whether a core is being unwound or compressed. */
bool sidecar_keeps_core(const struct sidecar *r);

/* What the last end means for options->leave_after. */
enum sidecar_leave { SIDECAR_STAYS, SIDECAR_LEAVES_WHEN_SHIPPED, SIDECAR_LEAVES };
/*
 * After a success there is next to nothing to ship, and the pod is done with its work: it must not wait for a store that is
 * down. After a failure the bundle is worth the wait.
 */
enum sidecar_leave sidecar_leave(const struct sidecar *r);

/* Whether any launcher has said hello. */
bool sidecar_was_greeted(const struct sidecar *r);

/* Containers that have not ended. */
unsigned int sidecar_active(const struct sidecar *r);

/* The pod is going away: what ends now ended with it. Says the digest. */
void sidecar_pod_terminating(struct sidecar *r);

/* Nothing more is waited for. Says the digest again if there is more to say. */
void sidecar_conclude(struct sidecar *r);

/* Ships what is in the spool until deadline (CLOCK_BOOTTIME), then stops trying. */
void sidecar_ship_until(struct sidecar *r, int64_t deadline_ns);
bool sidecar_is_shipping(const struct sidecar *r);

/* Who keeps the bundles. */
struct keeper *sidecar_keeper(const struct sidecar *r);

/* The failures of this pod so far. Valid until the next event. */
const struct journal *sidecar_journal(const struct sidecar *r);

/* Whether cores are looked at, and what became of them. */
bool sidecar_takes_cores(const struct sidecar *r);
const struct core_stats *sidecar_core_stats(const struct sidecar *r);

/* NULL outside Kubernetes. */
const char *sidecar_pod_uid(const struct sidecar *r);

/* Calls fn for each container that is watched. */
void sidecar_each(const struct sidecar *r, void (*fn)(const char *name, const struct observer *o, void *arg), void *arg);

/* Path of the latest bundle, "" while there is none. */
const char *sidecar_last_bundle(const struct sidecar *r);

#endif
