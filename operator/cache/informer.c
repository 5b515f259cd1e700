/* SPDX-License-Identifier: Apache-2.0 */
/* A live copy of one kind. */
#include "operator/cache/informer.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/cache/list_decoder.h"
#include "operator/cache/watch_decoder.h"
#include "operator/kube/projection.h"
#include "operator/kube/salvage.h"

#define LIST_DEADLINE_NS (60 * NS_PER_SEC)
/* In one piece it may be all of a large cluster. */
#define UNLIMITED_DEADLINE_NS (300 * NS_PER_SEC)
#define INITIAL_EVENTS_END "k8s.io/initial-events-end"
/* timeoutSeconds is the server's promise; ours comes a little later. */
#define WATCH_GRACE_NS (5 * NS_PER_SEC)
#define PATH_MAX_BYTES 16384

struct informer {
	struct event *timer, *tidy;
	struct client *client;
	const struct resource *resource;
	char *namespace, *label_selector;
	bool metadata_only;
	const char *const *fields;
	store_change_fn on_change;
	bool keep_remnants;
	void (*on_unreadable)(void *arg, struct informer *informer, const char *key, const char *reason);
	void (*on_state)(void *arg, struct informer *informer);
	void *arg;

	struct reflector reflector;
	struct store store;
	struct store fresh; /* what was read of a list or stream that is not complete yet */
	struct watch_decoder decoder;
	struct list_decoder list_decoder;
	struct err list_trouble; /* why the list is no list */
	uint64_t unknown_events, unreadable;
	struct client_call *call; /* the list or watch that runs */
	bool stream_stopped; /* the stream said what to do next: */
	struct reflector_step after_stream;
	struct err trouble;
};

static void obey(struct informer *informer, const struct reflector_step *step);

static struct reflector_step tell(struct informer *informer, const struct reflector_event *event)
{
	return reflector_step(&informer->reflector, event, now_boottime_ns());
}

static void tell_and_obey(struct informer *informer, const struct reflector_event *event)
{
	struct reflector_step step = tell(informer, event);

	obey(informer, &step);
}

static const char *accept_of(const struct informer *informer, bool list)
{
	if (!informer->metadata_only)
		return NULL;
	return list ? "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" :
		      "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
}

static void add_query(struct strbuf *path, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	strbuf_addf(path, "&%s=", name);
	url_encode(value, path);
}

/* Objects in lists do not say what they are, those in watches do: readers should not have to care. */
static void prepare(const struct informer *informer, cJSON *object)
{
	json_set_str(object, "apiVersion", informer->resource->api_version);
	json_set_str(object, "kind", informer->resource->kind);
	cJSON_DeleteItemFromObjectCaseSensitive(json_get(object, "metadata"), "managedFields");
	if (informer->fields)
		project(object, informer->fields);
	if (!informer->metadata_only)
		return;
	cJSON_DeleteItemFromObjectCaseSensitive(object, "spec");
	cJSON_DeleteItemFromObjectCaseSensitive(object, "status");
}

/*
 * What cannot be read must not keep anybody from the rest. Takes object. An older copy would not be true any more. Returns
 * -ENOMEM, or 0.
 */
static int take_remnant(struct informer *informer, struct store *store, cJSON *object, store_change_fn on_change)
{
	_cleanup_json_ cJSON *remnant = object;
	_cleanup_free_ char *key = object_key(object);

	informer->unreadable++;
	if (!key)
		return 0;
	if (informer->on_unreadable)
		informer->on_unreadable(informer->arg, informer, key, salvage_reason(remnant));
	if (informer->keep_remnants && salvage_has_status(remnant))
		return store_put(store, TAKE_PTR(remnant), false, on_change, informer->arg) == -ENOMEM ? -ENOMEM : 0;
	store_remove(store, key, NULL, on_change, informer->arg);
	return 0;
}

/* Takes object. -ENOMEM, or 0: an item without a name is none of an API server's, the others are good. */
static int take_object(struct informer *informer, struct store *store, cJSON *object, store_change_fn on_change)
{
	bool remnant = salvage_reason(object) != NULL;

	if (remnant) {
		json_set_str(object, "apiVersion", informer->resource->api_version);
		json_set_str(object, "kind", informer->resource->kind);
		return take_remnant(informer, store, object, on_change);
	}
	prepare(informer, object);
	return store_put(store, object, false, on_change, informer->arg) == -ENOMEM ? -ENOMEM : 0;
}

/* --- Lists ------------------------------------------------------------------------------------------------ */

static int on_list_item(void *arg, cJSON *item)
{
	struct informer *informer = arg;

	return take_object(informer, &informer->fresh, item, NULL);
}

static int on_list_data(void *arg, const void *data, size_t len)
{
	struct informer *informer = arg;

	return list_decoder_feed(&informer->list_decoder, data, len, on_list_item, informer, &informer->list_trouble);
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
		err_wrap(&informer->trouble, "list of %s", informer->resource->plural);
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

/* What of the path is missing for want of memory would make it another question. */
static int start_call(struct informer *informer, struct client_request *request, const struct strbuf *path,
		      client_done_fn done)
{
	request->path = strbuf_str(path);
	if (strbuf_failed(path))
		return err_set(&informer->trouble, ENOMEM, "path of %s", informer->resource->plural);
	return client_start(informer->client, request, done, informer, &informer->call, &informer->trouble);
}

static void start_list(struct informer *informer, bool unlimited)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(PATH_MAX_BYTES);
	const char *token = informer->reflector.token;

	if (!*token)
		store_release(&informer->fresh);
	list_decoder_release(&informer->list_decoder);
	informer->list_trouble = (struct err){ 0 };
	resource_path(informer->resource, informer->namespace, NULL, NULL, &path);
	strbuf_adds(&path, unlimited ? "?limit=0" : "?limit=500");
	add_query(&path, "labelSelector", informer->label_selector);
	add_query(&path, "continue", token);
	struct client_request request = {
		.method = "GET",
		.accept = accept_of(informer, true),
		.deadline_ns = unlimited ? UNLIMITED_DEADLINE_NS : LIST_DEADLINE_NS,
		.data = on_list_data,
	};
	if (start_call(informer, &request, &path, on_list_done) < 0)
		start_failed(informer, REFLECTOR_LIST_FAILED);
}

/* --- Watches and streams ---------------------------------------------------------------------------------- */

/* The stream cannot be left from inside: it is refused, and on_watch_done goes on. */
static int stop_stream(struct informer *informer, const struct reflector_step *step)
{
	if (step->action == REFLECTOR_GO_ON)
		return 0;
	informer->stream_stopped = true;
	informer->after_stream = *step;
	return -ECANCELED;
}

/*
 * What a Status says, as a code. Old servers sent the reason Expired with
 * another code; and a version that is too new for the server, after it was
 * restored from a copy, is as useless as one that is too old.
 */
static int code_of(const cJSON *status, int fallback)
{
	const char *reason = json_str(status, "reason");
	const cJSON *causes = json_get(status, "details.causes");

	if (json_find(causes, "reason", "ResourceVersionTooLarge"))
		return 410;
	if (reason && (strcmp(reason, "Expired") == 0 || strcmp(reason, "Gone") == 0))
		return 410;
	return (int)json_int(status, "code", fallback);
}

static int on_error_event(struct informer *informer, const cJSON *status)
{
	struct reflector_event event = {
		.kind = REFLECTOR_WATCH_ERROR,
		.status = code_of(status, 0),
		.retry_after_ns = MIN(MAX(json_int(status, "details.retryAfterSeconds", 0), 0), 3600) * NS_PER_SEC,
	};
	const char *message = json_str(status, "message");

	err_set(&informer->trouble, EPROTO, "watch of %s: %d %s", informer->resource->plural, event.status,
		message ? message : "");
	struct reflector_step step = tell(informer, &event);
	return stop_stream(informer, &step);
}

static void swap(struct informer *informer)
{
	store_swap(&informer->store, &informer->fresh, informer->reflector.rv, informer->on_change, informer->arg);
	malloc_trim(0); /* what reading the list took is not needed again for long */
}

static bool ends_initial_events(const struct watch_event *event)
{
	const cJSON *annotations = json_get(event->object, "metadata.annotations");
	const char *value =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(annotations, INITIAL_EVENTS_END));

	return event->type == WATCH_BOOKMARK && value && strcmp(value, "true") == 0;
}

/* Into the copy that is served, or the one that is being read. */
static int take_event(struct informer *informer, struct watch_event *event, bool initial)
{
	struct store *store = initial ? &informer->fresh : &informer->store;
	store_change_fn on_change = initial ? NULL : informer->on_change;

	if (event->type == WATCH_BOOKMARK)
		return 0;
	if (event->type == WATCH_DELETED) {
		_cleanup_free_ char *key = object_key(event->object);
		prepare(informer, event->object);
		if (key)
			store_remove(store, key, event->object, on_change, informer->arg);
		return 0;
	}
	/* -ENOMEM counts as garbage: list again, later. */
	return take_object(informer, store, TAKE_PTR(event->object), on_change);
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
	swap(informer);
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
	if (initial && ends_initial_events(watch_event))
		event.kind = REFLECTOR_INITIAL_END;
	event.rv = json_str(watch_event->object, "metadata.resourceVersion");
	struct reflector_step step = tell(informer, &event);
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
	err_wrap(&informer->trouble, "watch of %s", informer->resource->plural);
	struct reflector_step step = tell(informer, &garbage);
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
			event.status = code_of(response->object, response->status);
		}
		step = tell(informer, &event);
		/* A server that knows no streams is in order: the list says what is not. */
		if (event.kind == REFLECTOR_WATCH_REFUSED && step.action != REFLECTOR_LIST)
			informer->trouble = response->err;
	}
	informer->stream_stopped = false;
	obey(informer, &step);
}

static void start_watch(struct informer *informer, const struct reflector_step *step)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(PATH_MAX_BYTES);
	bool stream = step->action == REFLECTOR_STREAM;

	watch_decoder_release(&informer->decoder);
	watch_decoder_init(&informer->decoder);
	informer->decoder.fields = informer->fields;
	if (stream)
		store_release(&informer->fresh);
	resource_path(informer->resource, informer->namespace, NULL, NULL, &path);
	strbuf_addf(&path, "?watch=1&allowWatchBookmarks=true&timeoutSeconds=%d", step->timeout_s);
	add_query(&path, "labelSelector", informer->label_selector);
	if (stream)
		strbuf_adds(&path, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=");
	else
		add_query(&path, "resourceVersion", informer->reflector.rv);
	struct client_request request = {
		.method = "GET",
		.accept = accept_of(informer, false),
		.deadline_ns = step->timeout_s * NS_PER_SEC + WATCH_GRACE_NS,
		.exempt = true,
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

static void obey(struct informer *informer, const struct reflector_step *step)
{
	struct timeval tv = { .tv_sec = step->delay_ns / NS_PER_SEC, .tv_usec = step->delay_ns % NS_PER_SEC / 1000 };

	if (step->action == REFLECTOR_GO_ON)
		return;
	drop_call(informer);
	if (step->swap)
		swap(informer);
	if (step->action == REFLECTOR_LIST)
		start_list(informer, step->unlimited);
	else if (step->action == REFLECTOR_WATCH || step->action == REFLECTOR_STREAM)
		start_watch(informer, step);
	else
		evtimer_add(informer->timer, &tv);
	if (informer->on_state)
		informer->on_state(informer->arg, informer);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct reflector_event event = { .kind = REFLECTOR_TIMER };

	(void)fd;
	(void)what;
	tell_and_obey(arg, &event);
}

static void on_tidy(evutil_socket_t fd, short what, void *arg)
{
	struct informer *informer = arg;

	(void)fd;
	(void)what;
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

static int copy(const char *text, char **ret_copy, struct err *err)
{
	*ret_copy = text ? strdup(text) : NULL;
	return text && !*ret_copy ? err_set(err, ENOMEM, "informer") : 0;
}

int informer_new(struct event_base *base, struct client *client, const struct informer_options *options,
		 struct informer **ret_informer, struct err *err)
{
	struct informer *informer = calloc(1, sizeof(*informer));

	if (!informer)
		return err_set(err, ENOMEM, "informer");
	store_init(&informer->store, options->index_fn);
	store_init(&informer->fresh, options->index_fn);
	watch_decoder_init(&informer->decoder);
	list_decoder_init(&informer->list_decoder);
	informer->list_decoder.fields = options->fields;
	reflector_init(&informer->reflector, (uint64_t)now_boottime_ns() ^ (uintptr_t)informer);
	informer->client = client;
	informer->resource = options->resource;
	informer->metadata_only = options->metadata_only;
	informer->fields = options->fields;
	informer->on_change = options->on_change;
	informer->keep_remnants = options->keep_remnants;
	informer->on_unreadable = options->on_unreadable;
	informer->on_state = options->on_state;
	informer->arg = options->arg;
	informer->timer = evtimer_new(base, on_timer, informer);
	informer->tidy = event_new(base, -1, 0, on_tidy, informer);
	int r = informer->timer && informer->tidy ? 0 : err_set(err, ENOMEM, "informer");
	if (r == 0)
		r = copy(options->namespace, &informer->namespace, err);
	if (r == 0)
		r = copy(options->label_selector, &informer->label_selector, err);
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
	if (informer->timer)
		event_free(informer->timer);
	if (informer->tidy)
		event_free(informer->tidy);
	store_release(&informer->store);
	store_release(&informer->fresh);
	watch_decoder_release(&informer->decoder);
	list_decoder_release(&informer->list_decoder);
	free(informer->namespace);
	free(informer->label_selector);
	free(informer);
}

bool informer_synced(const struct informer *informer)
{
	return informer->reflector.synced;
}

const struct store *informer_store(const struct informer *informer)
{
	/* Whoever asks is about to look. */
	event_active(informer->tidy, 0, 0);
	return &informer->store;
}

void informer_drop_views(struct informer *informer)
{
	store_drop_views(&informer->store);
}

void informer_learn(struct informer *informer, cJSON *object)
{
	/* What the watch has passed already it has told, and maybe the object's end after it. */
	if (resource_of(object) != informer->resource ||
	    rv_compare(json_str(object, "metadata.resourceVersion"), informer->reflector.rv) <= 0) {
		cJSON_Delete(object);
		return;
	}
	if (salvage_reason(object) && !(informer->keep_remnants && salvage_has_status(object))) {
		cJSON_Delete(object);
		return;
	}
	prepare(informer, object);
	store_put(&informer->store, object, true, informer->on_change, informer->arg);
}

void informer_learn_gone(struct informer *informer, const char *key, const char *uid)
{
	const char *ours = json_str(store_get(&informer->store, key), "metadata.uid");

	if (ours && uid && strcmp(ours, uid) == 0)
		store_remove(&informer->store, key, NULL, informer->on_change, informer->arg);
}

const struct resource *informer_resource(const struct informer *informer)
{
	return informer->resource;
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
	return informer->unreadable;
}

const char *informer_trouble(const struct informer *informer)
{
	return informer->trouble.code ? informer->trouble.text : "";
}
