/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides what to ask the API server next, to keep a copy of a kind: the state
 * machine of list and watch, without any I/O. The informer passes it each event
 * and carries out its decision.
 *
 *	start -> STREAM (or LIST: prefers_pages) --- end of the initial events: SWAP, then as WATCH
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
 * Lists and streams are quorum reads (no resourceVersion). After a restart, an old
 * answer from a lagging server would make us delete live pods; and a given version
 * can be too old or too new for the server. The watch is resumed from the last
 * version seen; only the server's 410 makes us list again. Initial events are not
 * ordered by version, so no version is noted before their end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "operator/kube/backoff.h"

#define REFLECTOR_RV_MAX 64
#define REFLECTOR_CONTINUE_MAX 4096

enum reflector_event_kind {
	REFLECTOR_START, /* at the beginning, and to ask for a fresh list at any time */
	REFLECTOR_TIMER, /* the wait is over */
	REFLECTOR_POKE, /* the server answers other requests again, so a wait for it can end */
	REFLECTOR_PAGE_READ, /* rv, token (NULL: the last page) */
	REFLECTOR_LIST_FAILED, /* status (0: no answer), retry_after_ns */
	REFLECTOR_OBJECT, /* an object or bookmark of the watch: rv */
	REFLECTOR_INITIAL_END, /* the bookmark that ends the initial events of a stream: rv */
	/* the watch was answered with an error: status (0: no connection), retry_after_ns */
	REFLECTOR_WATCH_REFUSED,
	REFLECTOR_WATCH_ERROR, /* an ERROR event in the stream: status is its code */
	/* the rest of the stream cannot be read: a line is too long, or not JSON */
	REFLECTOR_WATCH_GARBAGE,
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
	/*
	 * drop the present request; use a new store, and start a watch that begins with all
	 * objects, for timeout_s
	 */
	REFLECTOR_STREAM,
	REFLECTOR_LIST, /* drop the present request; ask for a page: token "" starts a new store */
	REFLECTOR_WATCH, /* watch from rv for timeout_s */
	REFLECTOR_WAIT, /* drop the present request; send REFLECTOR_TIMER after delay_ns */
};

struct reflector_step {
	enum reflector_action action;
	/*
	 * before the action: everything read so far is the whole list of version rv, so swap the
	 * stores
	 */
	bool swap;
	int64_t delay_ns;
	/* 150..220: below the 240 s after which some load balancers drop idle flows */
	int timeout_s;
	bool unlimited; /* list without a limit, because the pages expired during the list */
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
	char rv[REFLECTOR_RV_MAX]; /* the version of the list, then of the last event */
	char token[REFLECTOR_CONTINUE_MAX]; /* the continue token of the next page */
	bool unlimited;
	/*
	 * Set after init, for a kind with many objects: the copy is read in pages, which cost the
	 * server half of what a stream does, unless the last version was gone or lists fail again
	 * and again. A list that takes long could lose its version again before its watch begins; a
	 * stream cannot.
	 */
	bool prefers_pages;
	bool no_streams; /* the server does not support streams */
	unsigned failed_lists; /* lists in a row that failed */
	unsigned cut_streams; /* streams in a row that were cut during their initial events */
	/*
	 * A whole list was read, and since then no list was asked for by REFLECTOR_START or refused
	 * (403, 404).
	 */
	bool synced;
	/* the status of the last failure; 0: none, or no answer; 404: the kind does not exist */
	int last_status;
	int64_t watch_started_ns;
	bool watch_had_event;
	bool expired; /* the version was gone, and no watch has worked since */
	unsigned stream_errors; /* ERROR events with 5xx in a row */
	uint64_t lists, watches; /* started, for metrics */
	int64_t alive_ns; /* last page, event, bookmark or end of a watch that had been open */
	struct backoff backoff;
};

void reflector_init(struct reflector *r, uint64_t seed);

struct reflector_step reflector_step(struct reflector *r, const struct reflector_event *event,
				     int64_t now_ns);
