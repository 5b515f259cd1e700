/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sidecar: listens for launchers, has a container object for each, and passes on their reports.
 * All events come from one libevent loop. Its sources are the listening socket, each container's
 * connection, timer, cgroup events and pidfd, and the signals of the program.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>

#include "lib/err.h"
#include "lib/strbuf.h"
#include "sidecar/ending/options.h"
#include "sidecar/keeping/journal.h"
#include "sidecar/keeping/keeper.h"
#include "sidecar/watch/observer.h"

struct sidecar;

/* Listens on options->socket_path at once. options must outlive the sidecar. */
int sidecar_new(struct event_base *base, const struct record_options *options,
		struct sidecar **ret_sidecar, struct err *err);
void sidecar_free(struct sidecar *r);

/*
 * fn is called when a container is over, when there is nothing left to ship, and when shipping
 * failed.
 */
void sidecar_on_idle(struct sidecar *r, void (*fn)(void *arg), void *arg);

/* Whether a core is being unwound or compressed. */
bool sidecar_keeps_core(const struct sidecar *r);

/* Whether the sidecar exits after the end of the last container (options->leave_after). */
enum sidecar_leave { SIDECAR_STAYS, SIDECAR_LEAVES_WHEN_SHIPPED, SIDECAR_LEAVES };
/*
 * After a success it exits at once: the pod has done its work and must not wait for a store that is
 * down. After a failure it exits when the bundle is in the store.
 */
enum sidecar_leave sidecar_leave(const struct sidecar *r);

/* Whether any launcher has sent hello. */
bool sidecar_was_greeted(const struct sidecar *r);

/* Containers that have not ended. */
unsigned int sidecar_active(const struct sidecar *r);

/*
 * To be called when the pod terminates: containers that end now end for that reason. Logs the
 * digest of the pod's failures.
 */
void sidecar_pod_terminating(struct sidecar *r);

/*
 * To be called after the event loop has ended: turns the loop until no report is being written and
 * none waits for that. sidecar_free does so, too.
 */
void sidecar_finish_reports(struct sidecar *r);

/*
 * To be called when the sidecar waits for no container any more. Logs the digest again if it has
 * changed.
 */
void sidecar_conclude(struct sidecar *r);

/*
 * Appends what the containers have needed so far (lib/memory_needs.h), for the sidecar's own
 * termination message; nothing if no task ran.
 */
void sidecar_needs_message(struct sidecar *r, struct strbuf *out);

/* Ships the bundles of the spool until deadline_ns (CLOCK_BOOTTIME), then gives up. */
void sidecar_ship_until(struct sidecar *r, int64_t deadline_ns);
bool sidecar_is_shipping(const struct sidecar *r);

/* The keeper of the bundles; owned by r. */
struct keeper *sidecar_keeper(const struct sidecar *r);

/* The failures of this pod so far. Valid until the next event. */
const struct journal *sidecar_journal(const struct sidecar *r);

/* The counts of the outcomes of cores. */
const struct core_stats *sidecar_core_stats(const struct sidecar *r);

/* The ends of containers that the sidecar never met (node_words_to_json); the caller owns it. */
cJSON *sidecar_unmet_ends(const struct sidecar *r);

const struct record_options *sidecar_record_options(const struct sidecar *r);

/* Calls fn for each container that is watched. */
void sidecar_each(const struct sidecar *r,
		  void (*fn)(const char *name, const struct observer *o, void *arg), void *arg);

/* The path of the latest bundle; "" if there is none yet. */
const char *sidecar_last_bundle(const struct sidecar *r);
