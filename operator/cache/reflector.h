/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to ask the API server next, to keep a copy of one kind: the state
 * machine of list and watch, without any I/O. The informer feeds it what
 * happened and does what it says.
 *
 *	start -> STREAM --- end of the initial events: SWAP, then as WATCH
 *	         |    ^
 *	         |    +--- cut, 429, no connection: wait, then STREAM; the second time LIST
 *	         v
 *	         +- refused: LIST, and if the server does not know streams, LIST from then on
 *
 *	          page(continue)                    clean end, cut stream
 *	         +----+                                 +-----+
 *	         v    |                                 v     |
 *	         LIST +--- last page: SWAP, then -----> WATCH +--- refused, 429, 5xx: wait, same version
 *	         ^    |                                       |
 *	         |    +--- failed: wait, then start           |
 *	   start +--- 410, garbage, other 4xx <---------------+
 *
 * Lists and streams are quorum reads (no resourceVersion): after a restart an old
 * answer from a lagging server would have us delete live pods, and a version can
 * be too old or too new for the server, none cannot. The watch is resumed from
 * the last version seen; only the server's 410 makes us list again. Initial
 * events come in no order of versions: none is noted before their end.
 */
#ifndef AFTERGLOW_OPERATOR_CACHE_REFLECTOR_H
#define AFTERGLOW_OPERATOR_CACHE_REFLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "operator/kube/backoff.h"

#define REFLECTOR_RV_MAX 64
#define REFLECTOR_CONTINUE_MAX 4096

enum reflector_event_kind {
	REFLECTOR_START, /* at the beginning, and to ask for a fresh list at any time */
	REFLECTOR_TIMER, /* the wait is over */
	REFLECTOR_POKE, /* the server answers others again: who waits for it to come back need not wait longer */
	REFLECTOR_PAGE_READ, /* rv, token (NULL: the last page) */
	REFLECTOR_LIST_FAILED, /* status (0: no answer), retry_after_ns */
	REFLECTOR_OBJECT, /* an object or bookmark of the watch: rv */
	REFLECTOR_INITIAL_END, /* the bookmark that ends the initial events of a stream: rv */
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
	REFLECTOR_STREAM, /* drop what runs; a new store, and a watch that begins with all objects, for timeout_s */
	REFLECTOR_LIST, /* drop what runs; ask for a page: token "" starts a new store */
	REFLECTOR_WATCH, /* watch from rv for timeout_s */
	REFLECTOR_WAIT, /* drop what runs; REFLECTOR_TIMER after delay_ns */
};

struct reflector_step {
	enum reflector_action action;
	bool swap; /* first: what was read so far is the whole list of version rv: swap stores */
	int64_t delay_ns;
	int timeout_s; /* 150..220: below the 240 s after which some load balancers drop idle flows */
	bool unlimited; /* list without a limit: the pages expired under us */
};

enum reflector_state {
	REFLECTOR_IDLE,
	REFLECTOR_STREAMING,
	REFLECTOR_LISTING,
	REFLECTOR_WATCHING,
	REFLECTOR_WAIT_LIST,
	REFLECTOR_WAIT_WATCH
};

struct reflector {
	enum reflector_state state;
	char rv[REFLECTOR_RV_MAX]; /* of the list, then of the last event */
	char token[REFLECTOR_CONTINUE_MAX]; /* of the next page */
	bool unlimited;
	bool no_streams; /* the server does not know them */
	unsigned cut_streams; /* in a row before their initial events were over */
	/* A list has been read to its end, and since then none was asked for by REFLECTOR_START or refused (403, 404). */
	bool synced;
	int last_status; /* of the last failure; 0 none or no answer: 404 means that the kind does not exist */
	int64_t watch_started_ns;
	bool watch_had_event;
	bool expired; /* the version was gone, and no watch has worked since */
	unsigned stream_errors; /* ERROR events with 5xx in a row */
	uint64_t lists, watches; /* started, for metrics */
	int64_t alive_ns; /* last page, event, bookmark or end of a watch that had been open */
	struct backoff backoff;
};

void reflector_init(struct reflector *r, uint64_t seed);

struct reflector_step reflector_step(struct reflector *r, const struct reflector_event *event, int64_t now_ns);

#endif
