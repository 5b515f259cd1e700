/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to ask the API server next, to keep a copy of one kind: the state
 * machine of list and watch, without any I/O. The informer feeds it what
 * happened and does what it says.
 *
 *	          page(continue)                    clean end, cut stream
 *	         +----+                                 +-----+
 *	         v    |                                 v     |
 *	start -> LIST +--- last page: SWAP, then -----> WATCH +--- refused, 429, 5xx: wait, same version
 *	         ^    |                                       |
 *	         |    +--- failed: wait, then LIST            |
 *	         +--- 410, garbage, other 4xx <---------------+
 *
 * Lists are quorum reads (no resourceVersion): after a restart an old answer
 * from a lagging server would have us delete live pods. The watch is resumed
 * from the last version seen; only the server's 410 makes us list again.
 *
 * A streaming list (sendInitialEvents) would be a third request beside LIST and
 * WATCH: REFLECTOR_LIST is the one place that starts a copy, and SWAP the one
 * that ends it.
 */
#ifndef AFTERGLOW_OPERATOR_KUBE_REFLECTOR_H
#define AFTERGLOW_OPERATOR_KUBE_REFLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "operator/kube/backoff.h"

#define REFLECTOR_PAGE 500 /* objects per page of a list */
#define REFLECTOR_RV_MAX 64
#define REFLECTOR_CONTINUE_MAX 4096

enum reflector_event_kind {
	REFLECTOR_START, /* at the beginning, and to ask for a fresh list at any time */
	REFLECTOR_TIMER, /* the wait is over */
	REFLECTOR_POKE, /* the server answers others again: who waits for it to come back need not wait longer */
	REFLECTOR_PAGE_READ, /* rv, token (NULL: the last page) */
	REFLECTOR_LIST_FAILED, /* status (0: no answer), retry_after_ns */
	REFLECTOR_OBJECT, /* an object or bookmark of the watch: rv */
	REFLECTOR_WATCH_REFUSED, /* the watch was answered with an error: status (0: no connection), retry_after_ns */
	REFLECTOR_WATCH_ERROR, /* an ERROR event in the stream: status is its code */
	REFLECTOR_WATCH_GARBAGE, /* the stream cannot be read on: too long, no JSON */
	REFLECTOR_WATCH_ENDED, /* the stream ended or was cut */
};

struct reflector_event {
	enum reflector_event_kind kind;
	int status;
	int64_t retry_after_ns;
	const char *rv;
	const char *token;
};

enum reflector_action {
	REFLECTOR_GO_ON, /* nothing to do */
	REFLECTOR_LIST, /* drop what runs; ask for a page: token "" starts a new store */
	REFLECTOR_WATCH, /* watch from rv for timeout_s */
	REFLECTOR_WAIT, /* drop what runs; REFLECTOR_TIMER after delay_ns */
};

struct reflector_step {
	enum reflector_action action;
	bool swap; /* first: the pages read so far are the whole list of version rv: swap stores */
	int64_t delay_ns;
	int timeout_s; /* 150..220: below the 240 s after which some load balancers drop idle flows */
	bool unlimited; /* list without a limit: the pages expired under us */
};

enum reflector_state { REFLECTOR_IDLE, REFLECTOR_LISTING, REFLECTOR_WATCHING, REFLECTOR_WAIT_LIST, REFLECTOR_WAIT_WATCH };

struct reflector {
	enum reflector_state state;
	char rv[REFLECTOR_RV_MAX]; /* of the list, then of the last event */
	char token[REFLECTOR_CONTINUE_MAX]; /* of the next page */
	bool unlimited;
	/* A list has been read to its end, and since then none was asked for by REFLECTOR_START or refused (403, 404). */
	bool synced;
	int last_status; /* of the last failure; 0 none or no answer: 404 means that the kind does not exist */
	int64_t watch_started_ns;
	bool watch_had_event;
	bool expired; /* the version was gone, and no watch has worked since */
	unsigned stream_errors; /* ERROR events with 5xx in a row */
	uint64_t lists, watches; /* started, for metrics */
	int64_t alive_ns; /* last page, event or bookmark */
	struct backoff backoff;
};

void reflector_init(struct reflector *r, uint64_t seed);

struct reflector_step reflector_step(struct reflector *r, const struct reflector_event *event, int64_t now_ns);

#endif
