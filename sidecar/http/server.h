/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP on the pod: /metrics for Prometheus, /healthz, /failures, /memory (live_memory.h). Anybody in the
 * cluster may connect: only GET, nothing that a request says changes anything,
 * few connections at a time and none for long.
 *
 * /failures, of this pod since its start, oldest first:
 *	{"podUID": "...", "tag": "...", "forgotten": N, "failures": [{"id", "container", "endedAt", "class", "confidence",
 *	 "exitCode", "signal", "containerLives", "sentence", "bundle", "bundleIn", "heldUntil", "summary"}],
 *	 "store": {"waiting", "failing", "kind", "error"}, "spool": {"failing", "error"},
 *	 "warnings": [{"kind": "MemoryGrowing", "container", "sentence", "process", "pid", "bytes", "growthBytesPerHour", "grewSeconds",
 *	 "limitBytes", "secondsLeft"}]}
 * warnings: what has not happened yet, of at most eight containers. store, spool: null where there is none. /healthz says 503 while the spool cannot be written: failures are told of all
 * the same.
 * id names a failure among those of its container, whichever sidecar reports it. summary is what a termination
 * message ends with; only those have it that left their container alive. tag is the ETag, and changes with whatever
 * else the answer says; If-None-Match is honoured. Cache-Control says how soon to ask again: max-age is 10 where a container's
 * memory is nearly full or grows, or something ended within ten minutes, else 300.
 */
#ifndef AFTERGLOW_SIDECAR_HTTP_SERVER_H
#define AFTERGLOW_SIDECAR_HTTP_SERVER_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "sidecar/record/sidecar.h"

#define HTTP_CONNECTIONS_MAX 16 /* more wait in the socket's queue */
#define HTTP_IDLE_S 5

struct http_server;

/* "HOST:PORT", HOST an IPv4 address or an IPv6 one in brackets; ":PORT": all addresses of both kinds. */
bool http_address_valid(const char *address);

/* Port 0 (":0") takes a free one. sidecar and spool (NULL: none) must outlive the server. */
int http_server_new(struct event_base *base, const char *address, const struct sidecar *sidecar, const char *spool,
		    struct http_server **ret_server, struct err *err);
void http_server_free(struct http_server *s); /* NULL is allowed */

/* Answers what was asked meanwhile: for whoever keeps the event loop waiting. arg is the server. */
void http_server_turn(void *arg);

uint16_t http_server_port(const struct http_server *s);

#endif
