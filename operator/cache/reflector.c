/* SPDX-License-Identifier: Apache-2.0 */
/* Implements list and watch as a state machine. */
#include "operator/cache/reflector.h"

#include <assert.h>
#include <string.h>

#include "lib/macros.h"
#include "lib/units.h"

/*
 * A watch that ends sooner than this without an event counts as failed, even if the server ended it
 * in order.
 */
#define SHORT_WATCH_NS NS_PER_SEC
/* After so many 5xx in a row within a stream the version is given up. */
#define STREAM_ERRORS_MAX 5
/*
 * After so many streams in a row that broke off before the end of their initial events, a list is
 * tried.
 */
#define CUT_STREAMS_MAX 2
/*
 * Where pages are preferred, a stream is tried after so many failed lists in a row. The server has
 * to admit a stream only once.
 */
#define FAILED_LISTS_MAX 2

void reflector_init(struct reflector *r, uint64_t seed)
{
	*r = (struct reflector){ .state = REFLECTOR_IDLE };
	backoff_init(&r->backoff, seed);
}

static struct reflector_step reflector_go_on(void)
{
	return (struct reflector_step){ .action = REFLECTOR_GO_ON };
}

static struct reflector_step reflector_list(struct reflector *r, bool unlimited)
{
	r->state = REFLECTOR_LISTING;
	r->token[0] = '\0';
	r->unlimited = unlimited;
	r->lists++;
	return (struct reflector_step){ .action = REFLECTOR_LIST, .unlimited = unlimited };
}

static void note_start(struct reflector *r, enum reflector_state state, int64_t now_ns)
{
	r->state = state;
	r->watch_started_ns = now_ns;
	r->watch_had_event = false;
}

static int timeout_s(struct reflector *r)
{
	return (int)random_between(&r->backoff.seed, 150, 221);
}

static bool may_stream(const struct reflector *r)
{
	if (r->prefers_pages && !r->expired && r->failed_lists < FAILED_LISTS_MAX)
		return false;
	return !r->no_streams && r->cut_streams < CUT_STREAMS_MAX;
}

/* Begins a fresh copy, in the cheapest way that works. */
static struct reflector_step reflector_begin(struct reflector *r, int64_t now_ns)
{
	if (!may_stream(r))
		return reflector_list(r, false);
	note_start(r, REFLECTOR_STREAMING, now_ns);
	r->token[0] = '\0';
	r->unlimited = false;
	r->lists++;
	return (struct reflector_step){ .action = REFLECTOR_STREAM, .timeout_s = timeout_s(r) };
}

static struct reflector_step reflector_watch(struct reflector *r, int64_t now_ns)
{
	/* Without a version, a watch would begin at a state of the server's choice. */
	if (!r->rv[0])
		return reflector_begin(r, now_ns);
	note_start(r, REFLECTOR_WATCHING, now_ns);
	r->watches++;
	return (struct reflector_step){ .action = REFLECTOR_WATCH, .timeout_s = timeout_s(r) };
}

static struct reflector_step reflector_wait_for(struct reflector *r, enum reflector_state next,
						int64_t least_ns, int64_t now_ns)
{
	int64_t delay_ns = backoff_next(&r->backoff, now_ns);

	r->state = next;
	return (struct reflector_step){ .action = REFLECTOR_WAIT,
					.delay_ns = MAX(delay_ns, least_ns) };
}

/*
 * The version is gone, after a compaction or because the API server was restarted. A list without
 * delay helps, whatever failed before. If the version is gone again before a watch has worked,
 * something is wrong.
 */
static struct reflector_step reflector_relist(struct reflector *r, int64_t now_ns)
{
	bool again = r->expired;

	r->expired = true;
	r->rv[0] = '\0';
	return again ? reflector_wait_for(r, REFLECTOR_WAIT_LIST, 0, now_ns) :
		       reflector_begin(r, now_ns);
}

static void reflector_remember(char *dst, size_t size, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	/* A version or token that was cut would have another meaning. */
	if (len >= size)
		len = 0;
	memmove(dst, len ? text : "", len);
	dst[len] = '\0';
}

static struct reflector_step page_read(struct reflector *r, const struct reflector_event *event,
				       int64_t now_ns)
{
	r->alive_ns = now_ns;
	r->last_status = 0;
	if (event->token && *event->token) {
		reflector_remember(r->token, sizeof(r->token), event->token);
		if (!r->token[0])
			return reflector_list(r, true);
		return (struct reflector_step){ .action = REFLECTOR_LIST };
	}
	reflector_remember(r->rv, sizeof(r->rv), event->rv);
	r->last_status = r->rv[0] ? 0 : 200;
	if (!r->rv[0]) /* Kubernetes never sends a list without a version, so a proxy sent this */
		return reflector_wait_for(r, REFLECTOR_WAIT_LIST, 0, now_ns);
	r->synced = true;
	r->cut_streams = r->failed_lists = 0;
	r->unlimited = false;
	struct reflector_step step = reflector_watch(r, now_ns);
	step.swap = true;
	return step;
}

static struct reflector_step list_failed(struct reflector *r, const struct reflector_event *event,
					 int64_t now_ns)
{
	r->last_status = event->status;
	/* The kind does not exist any more, or we may not read it, so our copy proves nothing. */
	if (event->status == 404 || event->status == 403)
		r->synced = false;
	r->failed_lists++;
	/*
	 * The server compacted the snapshot between two pages, so the objects are read as one
	 * stream, or as one list in one piece.
	 */
	if (event->status == 410 && r->token[0] && !r->unlimited) {
		r->expired = true;
		return may_stream(r) ? reflector_begin(r, now_ns) : reflector_list(r, true);
	}
	return reflector_wait_for(r, REFLECTOR_WAIT_LIST, event->retry_after_ns, now_ns);
}

static struct reflector_step watch_refused(struct reflector *r, const struct reflector_event *event,
					   int64_t now_ns)
{
	r->last_status = event->status;
	if (event->status == 410)
		return reflector_relist(r, now_ns);
	/* On 401 the credentials are renewed, and the version stays valid. */
	if (event->status == 0 || event->status == 401 || event->status == 429 ||
	    event->status >= 500)
		return reflector_wait_for(r, REFLECTOR_WAIT_WATCH, event->retry_after_ns, now_ns);
	r->rv[0] = '\0';
	return reflector_wait_for(r, REFLECTOR_WAIT_LIST, event->retry_after_ns, now_ns);
}

static struct reflector_step watch_error(struct reflector *r, const struct reflector_event *event,
					 int64_t now_ns)
{
	r->last_status = event->status;
	if (event->status == 429 ||
	    (event->status >= 500 && ++r->stream_errors < STREAM_ERRORS_MAX))
		return reflector_wait_for(r, REFLECTOR_WAIT_WATCH, event->retry_after_ns, now_ns);
	r->stream_errors = 0;
	r->rv[0] = '\0';
	return event->status == 410 ? reflector_relist(r, now_ns) :
				      reflector_wait_for(r, REFLECTOR_WAIT_LIST, 0, now_ns);
}

static struct reflector_step watch_ended(struct reflector *r, int64_t now_ns)
{
	/* Why the stream ended is not known. The reason of the earlier failure does not apply. */
	r->last_status = 0;
	if (!r->watch_had_event && now_ns - r->watch_started_ns < SHORT_WATCH_NS)
		return reflector_wait_for(r, REFLECTOR_WAIT_WATCH, 0, now_ns);
	r->expired = false;
	r->alive_ns = now_ns; /* it was open until now */
	return reflector_watch(r, now_ns);
}

/*
 * --- Streams
 * ----------------------------------------------------------------------------------------------
 */

/*
 * Returns whether the server does not know streams. Servers before 1.32, or with the feature
 * switched off (422), will give the same answer next time.
 */
static bool knows_no_streams(int status)
{
	return status == 400 || status == 405 || status == 406 || status == 415 || status == 422;
}

static struct reflector_step stream_refused(struct reflector *r,
					    const struct reflector_event *event, int64_t now_ns)
{
	r->last_status = event->status;
	r->no_streams = r->no_streams || knows_no_streams(event->status);
	if (event->status == 0 || event->status == 401 || event->status == 429)
		return reflector_wait_for(r, REFLECTOR_WAIT_LIST, event->retry_after_ns, now_ns);
	/*
	 * The next list may succeed, or its answer shows what is wrong. The copy still counts as
	 * synced.
	 */
	r->lists--;
	return reflector_list(r, false);
}

static struct reflector_step stream_cut(struct reflector *r, const struct reflector_event *event,
					int64_t now_ns)
{
	r->last_status = event->kind == REFLECTOR_WATCH_ERROR ? event->status : 0;
	r->cut_streams++;
	return reflector_wait_for(r, REFLECTOR_WAIT_LIST, event->retry_after_ns, now_ns);
}

/* The initial events are complete, and the stream continues as a watch. */
static struct reflector_step stream_whole(struct reflector *r, const struct reflector_event *event,
					  int64_t now_ns)
{
	reflector_remember(r->rv, sizeof(r->rv), event->rv);
	if (!r->rv[0])
		return stream_cut(r, event, now_ns);
	r->state = REFLECTOR_WATCHING;
	r->synced = true;
	r->cut_streams = r->failed_lists = 0;
	r->last_status = 0;
	r->alive_ns = now_ns;
	return (struct reflector_step){ .action = REFLECTOR_GO_ON, .swap = true };
}

static struct reflector_step stream_step(struct reflector *r, const struct reflector_event *event,
					 int64_t now_ns)
{
	switch (event->kind) {
	case REFLECTOR_OBJECT:
		r->alive_ns = now_ns;
		r->watch_had_event = true;
		return reflector_go_on();
	case REFLECTOR_INITIAL_END:
		return stream_whole(r, event, now_ns);
	case REFLECTOR_WATCH_REFUSED:
		return stream_refused(r, event, now_ns);
	default:
		return stream_cut(r, event, now_ns);
	}
}

/*
 * ----------------------------------------------------------------------------------------------------------
 */

static struct reflector_step object_seen(struct reflector *r, const struct reflector_event *event,
					 int64_t now_ns)
{
	r->watch_had_event = true;
	r->expired = false;
	r->stream_errors = 0;
	r->last_status = 0;
	r->alive_ns = now_ns;
	if (event->rv && *event->rv)
		reflector_remember(r->rv, sizeof(r->rv), event->rv);
	return reflector_go_on();
}

/* Returns whether the state expects the event. Other events are late and are ignored. */
static bool reflector_expected(const struct reflector *r, enum reflector_event_kind kind)
{
	switch (kind) {
	case REFLECTOR_START:
		return true;
	case REFLECTOR_TIMER:
		return r->state == REFLECTOR_WAIT_LIST || r->state == REFLECTOR_WAIT_WATCH;
	case REFLECTOR_POKE:
		return (r->state == REFLECTOR_WAIT_LIST || r->state == REFLECTOR_WAIT_WATCH) &&
		       (r->last_status == 0 || r->last_status == 503);
	case REFLECTOR_PAGE_READ:
	case REFLECTOR_LIST_FAILED:
		return r->state == REFLECTOR_LISTING;
	case REFLECTOR_INITIAL_END: /* later it is an ordinary bookmark */
	default:
		return r->state == REFLECTOR_WATCHING || r->state == REFLECTOR_STREAMING;
	}
}

static struct reflector_step wait_over(struct reflector *r, int64_t now_ns)
{
	if (r->state == REFLECTOR_WAIT_WATCH)
		return reflector_watch(r, now_ns);
	return r->unlimited ? reflector_list(r, true) : reflector_begin(r, now_ns);
}

static struct reflector_step reflector_step_for(struct reflector *r,
						const struct reflector_event *event, int64_t now_ns)
{
	if (!reflector_expected(r, event->kind))
		return reflector_go_on();
	if (r->state == REFLECTOR_STREAMING && event->kind != REFLECTOR_START)
		return stream_step(r, event, now_ns);
	switch (event->kind) {
	case REFLECTOR_START:
		r->synced = false;
		/* If failures delay us, the next list is fresh anyway. */
		return r->state == REFLECTOR_WAIT_LIST ? reflector_go_on() :
							 reflector_begin(r, now_ns);
	case REFLECTOR_TIMER:
	case REFLECTOR_POKE:
		return wait_over(r, now_ns);
	case REFLECTOR_PAGE_READ:
		return page_read(r, event, now_ns);
	case REFLECTOR_LIST_FAILED:
		return list_failed(r, event, now_ns);
	case REFLECTOR_OBJECT:
	case REFLECTOR_INITIAL_END:
		return object_seen(r, event, now_ns);
	case REFLECTOR_WATCH_REFUSED:
		return watch_refused(r, event, now_ns);
	case REFLECTOR_WATCH_ERROR:
		return watch_error(r, event, now_ns);
	case REFLECTOR_WATCH_GARBAGE:
		r->last_status = 200;
		r->rv[0] = '\0';
		return reflector_wait_for(r, REFLECTOR_WAIT_LIST, 0, now_ns);
	case REFLECTOR_WATCH_ENDED:
		return watch_ended(r, now_ns);
	}
	return reflector_go_on();
}

struct reflector_step reflector_step(struct reflector *r, const struct reflector_event *event,
				     int64_t now_ns)
{
	struct reflector_step step = reflector_step_for(r, event, now_ns);

	/* Only a complete copy is swapped in, and the watch begins where that copy ends. */
	assert(!step.swap || r->synced);
	assert(step.action != REFLECTOR_WATCH || *r->rv);
	assert(step.delay_ns >= 0);
	return step;
}
