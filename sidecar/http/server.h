/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves HTTP on the pod: /metrics for Prometheus, /healthz, /failures and /memory (live_memory.h).
 * Anybody in the cluster may connect, so the server answers only GET and HEAD, no request changes
 * anything, and the number of connections and their time are bounded.
 *
 * /failures lists the failures of this pod since its start, the oldest first:
 *	{"podUID": "...", "tag": "...", "forgotten": N, "failures": [{"id", "container", "endedAt",
 *	"class", "confidence",
 *	 "exitCode", "signal", "containerLives", "sentence", "bundle", "bundleIn", "heldUntil",
 *	 "summary"}], "store": {"waiting", "failing", "kind", "error"}, "spool": {"failing",
 *	 "error"}, "warnings": [{"kind": "MemoryGrowing", "container", "sentence", "process",
 *	 "pid", "bytes", "growthBytesPerHour", "grewSeconds", "limitBytes", "secondsLeft"},
 *	 {"kind": "RequestInfeasible", "container", "request"}, {"kind": "DriverWaits",
 *	 "container", "sentence"}], "unmetEnds": {"settled", "ends": [{"containerID", "endedAt",
 *	 "class", "confidence", "cause", "memory", "evidence", "missing"}]}}
 * - warnings predict failures, of at most eight containers. store and spool are null if there is
 *   none.
 * - id identifies a failure among those of its container; it stays the same when the sidecar
 *   restarts. summary is the last line of a termination message; only failures that their container
 *   outlived have it. forgotten counts older failures that the list no longer has.
 * - unmetEnds are the ends of containers that the kernel killed before this sidecar met them, as
 *   the node agent saw them, at most UNMET_ENDS_MAX. settled is false while the agent may still
 *   bring more.
 * - If the pod has a key, the last member is "mac", a signature (lib/digest/report_mac.h): the Ray
 *   container could answer at this port in place of the sidecar.
 * - tag is also the ETag, and changes whenever the rest of the answer does. If-None-Match is
 *   honoured.
 * - Cache-Control says how soon to ask again: max-age is 10 s if the memory of a container is
 *   nearly full or grows towards its limit, a request of Ray's is infeasible, or something ended
 *   within the last ten minutes; otherwise 300 s.
 *
 * /healthz answers 503 while the spool cannot be written; failures are still recorded then.
 */
#pragma once

#include <event2/event.h>
#include <stdint.h>

#include "lib/err.h"
#include "sidecar/record/sidecar.h"

#define POD_CONNECTIONS_MAX 16
#define POD_IDLE_S 5 /* seconds after which a connection without traffic is closed */

/* A turn of the loop goes on for so long, and to the end of the event that runs then. */
#define POD_TURN_MS 2

struct pod_server;

/*
 * Makes an event loop that looks for what else is due after each turn. A client that always has one
 * more request would otherwise keep it from that. NULL: there is no memory.
 */
struct event_base *pod_server_loop(void);

/*
 * Listens on address (lib/listen_address.h) at once; port 0 takes a free port. sidecar and spool,
 * the path of the spool (NULL: there is none), must outlive the server. base is one of
 * pod_server_loop, or a flood of requests may keep others waiting.
 */
int pod_server_new(struct event_base *base, const char *address, const struct sidecar *sidecar,
		   const char *spool, struct pod_server **ret_server, struct err *err);
void pod_server_free(struct pod_server *s); /* NULL is allowed */
