/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a live copy of one kind. */
#include "operator/cache/informer.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "lib/loop/timer.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/cache/intake.h"
#include "operator/cache/list_decoder.h"
#include "operator/cache/list_watch.h"
#include "operator/cache/recent_ends.h"
#include "operator/cache/watch_decoder.h"

#define LIST_DEADLINE_NS (60 * NS_PER_SEC)
/* A list that comes in one piece may contain all objects of a large cluster. */
#define UNLIMITED_DEADLINE_NS (300 * NS_PER_SEC)
/* The server should end the watch after timeoutSeconds. Our own time limit is a little longer. */
#define WATCH_GRACE_NS (5 * NS_PER_SEC)
#define PATH_MAX_BYTES 16384

struct informer {
	struct event *timer, *tidy;
	struct client *client;
	struct list_watch objects; /* which objects are followed; the informer owns the strings */
	struct intake intake; /* which of their fields are kept */
	store_change_fn on_change;
	void (*on_unreadable)(void *arg, struct informer *informer, const char *key,
			      const char *reason);
	void (*on_state)(void *arg, struct informer *informer);
	void *arg;

	struct reflector reflector;
	char list_rv[REFLECTOR_RV_MAX]; /* version of the last complete list or initial events */
	struct recent_ends ends; /* objects that ended after that */
	struct store store;
	struct store fresh; /* the objects of a list or stream that is not complete yet */
	struct watch_decoder decoder;
	struct list_decoder list_decoder;
	struct err list_trouble; /* the reason why the answer is not a list */
	uint64_t unknown_events;
	struct client_call *call; /* the list or watch that runs */
	bool stream_stopped; /* the next step has ended the stream */
	struct reflector_step after_stream;
	struct err trouble;
};

static void informer_obey(struct informer *informer, const struct reflector_step *step);

static struct reflector_step informer_tell(struct informer *informer,
					   const struct reflector_event *event)
{
	return reflector_step(&informer->reflector, event, now_boottime_ns());
}

static void tell_and_obey(struct informer *informer, const struct reflector_event *event)
{
	struct reflector_step step = informer_tell(informer, event);

	informer_obey(informer, &step);
}

/*
 * --- Lists
 * ------------------------------------------------------------------------------------------------
 */

static int on_list_item(void *arg, cJSON *item)
{
	struct informer *informer = arg;

	return intake_take(&informer->intake, &informer->fresh, item, NULL, NULL);
}

static int on_list_data(void *arg, const void *data, size_t len)
{
	struct informer *informer = arg;

	return list_decoder_feed(&informer->list_decoder, data, len, on_list_item, informer,
				 &informer->list_trouble);
}

static void on_list_done(void *arg, struct client_response *response)
{
	struct informer *informer = arg;
	struct reflector_event event = {
		.kind = REFLECTOR_LIST_FAILED,
		.status = response->status,
		.retry_after_ns = response->retry_after_ns,
	};
	const struct list_decoder *list = &informer->list_decoder;

	informer->call = NULL;
	if (response->status / 100 == 2 && response->err.code == 0)
		list_decoder_finish(list, &informer->list_trouble);
	informer->trouble = informer->list_trouble.code ? informer->list_trouble : response->err;
	if (informer->list_trouble.code)
		err_wrap(&informer->trouble, "list of %s", informer->objects.resource->plural);
	if (informer->trouble.code == 0) {
		event.kind = REFLECTOR_PAGE_READ;
		event.rv = json_str(list->metadata, "resourceVersion");
		event.token = json_str(list->metadata, "continue");
	}
	tell_and_obey(informer, &event);
}

static void start_failed(struct informer *informer, enum reflector_event_kind kind)
{
	struct reflector_event event = { .kind = kind };

	tell_and_obey(informer, &event);
}

/* If memory for a part of the path is missing, the path would ask for something else. */
static int start_call(struct informer *informer, struct client_request *request,
		      const struct strbuf *path, client_done_fn done)
{
	request->path = strbuf_str(path);
	if (strbuf_failed(path))
		return err_set(&informer->trouble, ENOMEM, "path of %s",
			       informer->objects.resource->plural);
	return client_start(informer->client, request, done, informer, &informer->call,
			    &informer->trouble);
}

static void start_list(struct informer *informer, bool unlimited)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(PATH_MAX_BYTES);
	const char *token = informer->reflector.token;

	if (!*token)
		store_release(&informer->fresh);
	list_decoder_release(&informer->list_decoder);
	informer->list_trouble = (struct err){ 0 };
	list_watch_list_path(&informer->objects, token, unlimited, &path);
	struct client_request request = {
		.method = "GET",
		.accept = list_watch_accept(&informer->objects, true),
		.deadline_ns = unlimited ? UNLIMITED_DEADLINE_NS : LIST_DEADLINE_NS,
		.data = on_list_data,
	};
	if (start_call(informer, &request, &path, on_list_done) < 0)
		start_failed(informer, REFLECTOR_LIST_FAILED);
}

/*
 * --- Watches and streams
 * ----------------------------------------------------------------------------------
 */

/*
 * Marks the stream as stopped. It cannot be ended from its own callback, so the callback returns an
 * error, and on_watch_done continues.
 */
static int stop_stream(struct informer *informer, const struct reflector_step *step)
{
	if (step->action == REFLECTOR_GO_ON)
		return 0;
	informer->stream_stopped = true;
	informer->after_stream = *step;
	return -ECANCELED;
}

static int on_error_event(struct informer *informer, const cJSON *status)
{
	struct reflector_event event = {
		.kind = REFLECTOR_WATCH_ERROR,
		.status = list_watch_code(status, 0),
		.retry_after_ns =
			MIN(MAX(json_int(status, "details.retryAfterSeconds", 0), 0), 3600) *
			NS_PER_SEC,
	};
	const char *message = json_str(status, "message");

	err_set(&informer->trouble, EPROTO, "watch of %s: %d %s",
		informer->objects.resource->plural, event.status, message ? message : "");
	struct reflector_step step = informer_tell(informer, &event);
	return stop_stream(informer, &step);
}

static void informer_swap(struct informer *informer)
{
	store_swap(&informer->store, &informer->fresh, informer->reflector.rv, informer->on_change,
		   informer->arg);
	snprintf(informer->list_rv, sizeof(informer->list_rv), "%s", informer->reflector.rv);
	malloc_trim(0); /* memory that reading the list took is not needed again for a long time */
}

/* Puts an event into the store that is served, or into the one that is being filled. */
static int take_event(struct informer *informer, struct watch_event *event, bool initial)
{
	struct store *store = initial ? &informer->fresh : &informer->store;
	store_change_fn on_change = initial ? NULL : informer->on_change;

	if (event->type == WATCH_BOOKMARK)
		return 0;
	if (event->type == WATCH_DELETED) {
		_cleanup_free_ char *key = object_key(event->object);
		intake_prepare(&informer->intake, event->object);
		if (store->shorten)
			store->shorten(event->object, false);
		recent_ends_add(&informer->ends, json_str(event->object, "metadata.uid"),
				json_str(event->object, "metadata.resourceVersion"));
		if (key)
			store_remove(store, key, event->object, on_change, informer->arg);
		return 0;
	}
	/* -ENOMEM is treated like an unreadable event: the objects are listed again later. */
	return intake_take(&informer->intake, store, TAKE_PTR(event->object), on_change,
			   informer->arg);
}

static void trouble_is_over(struct informer *informer)
{
	if (!informer->trouble.code)
		return;
	informer->trouble = (struct err){ 0 };
	if (informer->on_state)
		informer->on_state(informer->arg, informer);
}

static void initial_events_end(struct informer *informer, const struct reflector_step *step)
{
	if (!step->swap)
		return;
	informer->trouble = (struct err){ 0 };
	informer_swap(informer);
	if (informer->on_state)
		informer->on_state(informer->arg, informer);
}

static int on_watch_event(void *arg, struct watch_event *watch_event)
{
	struct informer *informer = arg;
	bool initial = informer->reflector.state == REFLECTOR_STREAMING;
	struct reflector_event event = { .kind = REFLECTOR_OBJECT };

	if (watch_event->type == WATCH_ERROR)
		return on_error_event(informer, watch_event->object);
	if (watch_event->type == WATCH_UNKNOWN) {
		informer->unknown_events++;
		return 0;
	}
	if (initial && watch_event->type == WATCH_BOOKMARK &&
	    list_watch_ends_initial(watch_event->object))
		event.kind = REFLECTOR_INITIAL_END;
	event.rv = json_str(watch_event->object, "metadata.resourceVersion");
	struct reflector_step step = informer_tell(informer, &event);
	if (event.kind == REFLECTOR_INITIAL_END)
		initial_events_end(informer, &step);
	else if (!initial)
		trouble_is_over(informer);
	int r = take_event(informer, watch_event, initial);
	return r < 0 ? r : stop_stream(informer, &step);
}

static int on_watch_data(void *arg, const void *data, size_t len)
{
	struct informer *informer = arg;
	struct reflector_event garbage = { .kind = REFLECTOR_WATCH_GARBAGE };
	struct err err = { 0 };
	int r = watch_decoder_feed(&informer->decoder, data, len, on_watch_event, informer, &err);

	if (r == 0 || informer->stream_stopped)
		return r;
	informer->trouble = err;
	err_wrap(&informer->trouble, "watch of %s", informer->objects.resource->plural);
	struct reflector_step step = informer_tell(informer, &garbage);
	stop_stream(informer, &step);
	return r;
}

static void on_watch_done(void *arg, struct client_response *response)
{
	struct informer *informer = arg;
	struct reflector_event event = {
		.kind = REFLECTOR_WATCH_ENDED,
		.status = response->status,
		.retry_after_ns = response->retry_after_ns,
	};
	struct reflector_step step = informer->after_stream;

	informer->call = NULL;
	if (!informer->stream_stopped) {
		if (response->status / 100 != 2) {
			event.kind = REFLECTOR_WATCH_REFUSED;
			event.status = list_watch_code(response->object, response->status);
		}
		step = informer_tell(informer, &event);
		/*
		 * A server without support for streams is healthy. If it is not, the list will fail
		 * as well.
		 */
		if (event.kind == REFLECTOR_WATCH_REFUSED && step.action != REFLECTOR_LIST)
			informer->trouble = response->err;
	}
	informer->stream_stopped = false;
	informer_obey(informer, &step);
}

static void informer_start_watch(struct informer *informer, const struct reflector_step *step)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(PATH_MAX_BYTES);
	bool stream = step->action == REFLECTOR_STREAM;

	watch_decoder_release(&informer->decoder);
	watch_decoder_init(&informer->decoder);
	informer->decoder.fields = informer->intake.fields;
	if (stream)
		store_release(&informer->fresh);
	list_watch_watch_path(&informer->objects, stream ? NULL : informer->reflector.rv,
			      step->timeout_s, &path);
	struct client_request request = {
		.method = "GET",
		.accept = list_watch_accept(&informer->objects, false),
		.deadline_ns = step->timeout_s * NS_PER_SEC + WATCH_GRACE_NS,
		.data = on_watch_data,
	};
	if (start_call(informer, &request, &path, on_watch_done) < 0)
		start_failed(informer, REFLECTOR_WATCH_REFUSED);
}

static void drop_call(struct informer *informer)
{
	client_cancel(TAKE_PTR(informer->call));
	informer->stream_stopped = false;
	evtimer_del(informer->timer);
}

static void informer_obey(struct informer *informer, const struct reflector_step *step)
{
	if (step->action == REFLECTOR_GO_ON)
		return;
	drop_call(informer);
	if (step->swap)
		informer_swap(informer);
	if (step->action == REFLECTOR_LIST)
		start_list(informer, step->unlimited);
	else if (step->action == REFLECTOR_WATCH || step->action == REFLECTOR_STREAM)
		informer_start_watch(informer, step);
	else
		timer_after(informer->timer, step->delay_ns);
	if (informer->on_state)
		informer->on_state(informer->arg, informer);
}

static void informer_on_timer(evutil_socket_t, short, void *arg)
{
	struct reflector_event event = { .kind = REFLECTOR_TIMER };

	tell_and_obey(arg, &event);
}

static void on_tidy(evutil_socket_t, short, void *arg)
{
	struct informer *informer = arg;

	store_drop_views(&informer->store);
}

void informer_resync(struct informer *informer)
{
	struct reflector_event event = { .kind = REFLECTOR_START };

	tell_and_obey(informer, &event);
}

void informer_poke(struct informer *informer)
{
	struct reflector_event event = { .kind = REFLECTOR_POKE };

	tell_and_obey(informer, &event);
}

static int informer_copy(const char *text, const char **ret_copy, struct err *err)
{
	*ret_copy = text ? strdup(text) : NULL;
	return text && !*ret_copy ? err_set(err, ENOMEM, "informer") : 0;
}

static void informer_on_unreadable(void *arg, const char *key, const char *reason)
{
	struct informer *informer = arg;

	if (informer->on_unreadable)
		informer->on_unreadable(informer->arg, informer, key, reason);
}

static int set_objects(struct informer *informer, const struct informer_options *options,
		       struct err *err)
{
	informer->objects = (struct list_watch){ .resource = options->resource,
						 .metadata_only = options->metadata_only };
	informer->intake = (struct intake){
		.resource = options->resource,
		.metadata_only = options->metadata_only,
		.fields = options->fields,
		.keep_remnants = options->keep_remnants,
		.on_unreadable = informer_on_unreadable,
		.arg = informer,
	};
	int r = informer_copy(options->namespace, &informer->objects.namespace, err);
	return r < 0 ? r :
		       informer_copy(options->label_selector, &informer->objects.label_selector,
				     err);
}

int informer_new(struct event_base *base, struct client *client,
		 const struct informer_options *options, struct informer **ret_informer,
		 struct err *err)
{
	struct informer *informer = calloc(1, sizeof(*informer));

	if (!informer)
		return err_set(err, ENOMEM, "informer");
	store_init(&informer->store, options->index_fn);
	informer->store.bytes_max = options->bytes_max;
	informer->store.bytes_free = options->bytes_free;
	informer->store.shorten = options->shorten;
	informer->store.keeps_remnants = options->keep_remnants;
	informer->fresh = informer->store;
	watch_decoder_init(&informer->decoder);
	list_decoder_init(&informer->list_decoder);
	informer->list_decoder.fields = options->fields;
	reflector_init(&informer->reflector, (uint64_t)now_boottime_ns() ^ (uintptr_t)informer);
	informer->reflector.prefers_pages = options->prefers_pages;
	informer->client = client;
	informer->on_change = options->on_change;
	informer->on_unreadable = options->on_unreadable;
	informer->on_state = options->on_state;
	informer->arg = options->arg;
	informer->timer = evtimer_new(base, informer_on_timer, informer);
	informer->tidy = event_new(base, -1, 0, on_tidy, informer);
	int r = informer->timer && informer->tidy ? 0 : err_set(err, ENOMEM, "informer");
	if (r == 0)
		r = set_objects(informer, options, err);
	if (r < 0) {
		informer_free(informer);
		return r;
	}
	*ret_informer = informer;
	return 0;
}

void informer_free(struct informer *informer)
{
	if (!informer)
		return;
	client_cancel(informer->call);
	event_drop(informer->timer);
	event_drop(informer->tidy);
	store_release(&informer->store);
	store_release(&informer->fresh);
	watch_decoder_release(&informer->decoder);
	list_decoder_release(&informer->list_decoder);
	free((char *)informer->objects.namespace);
	free((char *)informer->objects.label_selector);
	free(informer);
}

bool informer_synced(const struct informer *informer)
{
	return informer->reflector.synced;
}

const struct store *informer_store(const struct informer *informer)
{
	/* The caller reads from the store now. The event frees what that leaves behind. */
	event_active(informer->tidy, 0, 0);
	return &informer->store;
}

void informer_drop_views(struct informer *informer)
{
	store_drop_views(&informer->store);
}

/*
 * Returns whether the informer does not know the object yet. If the watch or a list is past this
 * version, it has shown the object, and perhaps its end; if it has shown neither, the object was
 * lost on the way.
 */
static bool is_news(const struct informer *informer, const cJSON *object)
{
	const char *rv = json_str(object, "metadata.resourceVersion");
	_cleanup_free_ char *key = object_key(object);

	if (rv_compare(rv, informer->reflector.rv) > 0)
		return true;
	return key && rv_compare(rv, informer->list_rv) > 0 && !store_has(&informer->store, key) &&
	       !recent_ends_may_have(&informer->ends, json_str(object, "metadata.uid"), rv);
}

void informer_learn(struct informer *informer, cJSON *object)
{
	if (resource_of(object) == informer->objects.resource && is_news(informer, object))
		intake_learn(&informer->intake, &informer->store, object, informer->on_change,
			     informer->arg);
	else
		cJSON_Delete(object);
}

void informer_learn_gone(struct informer *informer, const char *key, const char *uid)
{
	const char *ours = json_str(store_get(&informer->store, key), "metadata.uid");

	if (ours && uid && strcmp(ours, uid) == 0)
		store_remove(&informer->store, key, NULL, informer->on_change, informer->arg);
}

const struct resource *informer_resource(const struct informer *informer)
{
	return informer->objects.resource;
}

const struct reflector *informer_reflector(const struct informer *informer)
{
	return &informer->reflector;
}

uint64_t informer_unknown_events(const struct informer *informer)
{
	return informer->unknown_events;
}

uint64_t informer_unreadable(const struct informer *informer)
{
	return informer->intake.unreadable;
}

const char *informer_trouble(const struct informer *informer)
{
	return informer->trouble.code ? informer->trouble.text : "";
}
