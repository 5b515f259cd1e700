/* SPDX-License-Identifier: Apache-2.0 */
/* Writes Events of what went well. */
#include "operator/kube/event_queue.h"

#include <errno.h>

#include "lib/log.h"
#include "operator/kube/events.h"

#define INTERVAL_MS 100
#define WAITING_MAX 1000

struct message {
	struct message *next;
	cJSON *event;
};

struct event_queue {
	struct event_queue_options o;
	struct event *tick; /* pending while one was told a moment ago */
	struct message *first, *last;
	size_t n;
};

static void on_tick(evutil_socket_t fd, short what, void *arg);

int event_queue_new(const struct event_queue_options *options, struct event_queue **ret_crier, struct err *err)
{
	struct event_queue *event_queue = calloc(1, sizeof(*event_queue));

	if (!event_queue)
		return err_set(err, ENOMEM, "event queue");
	event_queue->o = *options;
	event_queue->tick = evtimer_new(options->base, on_tick, event_queue);
	if (!event_queue->tick) {
		free(event_queue);
		return err_set(err, ENOMEM, "event queue");
	}
	*ret_crier = event_queue;
	return 0;
}

/* The longest waiting; NULL: none. The caller owns it. */
static cJSON *take(struct event_queue *event_queue)
{
	struct message *m = event_queue->first;
	cJSON *event;

	if (!m)
		return NULL;
	event = m->event;
	event_queue->first = m->next;
	if (!event_queue->first)
		event_queue->last = NULL;
	event_queue->n--;
	free(m);
	return event;
}

void event_queue_free(struct event_queue *event_queue)
{
	cJSON *event;

	if (!event_queue)
		return;
	while ((event = take(event_queue)))
		cJSON_Delete(event);
	event_free(event_queue->tick);
	free(event_queue);
}

static void on_written(void *arg, struct client_response *response)
{
	(void)arg;
	/* A namespace that is going takes no news. */
	if (response->status / 100 != 2 && response->status != 403 && response->status != 404)
		log_warning_limited("an Event was not written: %s", err_text(&response->err));
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct event_queue *event_queue = arg;
	_cleanup_json_ cJSON *event = take(event_queue);
	struct err err = { 0 };

	(void)fd;
	(void)what;
	if (!event)
		return;
	event_add(event_queue->tick, &(struct timeval){ .tv_usec = INTERVAL_MS * 1000 });
	if (event_queue->o.may_write(event_queue->o.arg) && client_event(event_queue->o.client, event, on_written, NULL, &err) < 0)
		log_warning_limited("an Event was not written: %s", err_text(&err));
}

void event_queue_tell(struct event_queue *event_queue, cJSON *event)
{
	struct message *m = event_queue->n < WAITING_MAX ? calloc(1, sizeof(*m)) : NULL;

	if (!m || !event) {
		log_warning_limited("Events of what went well are left out: %zu wait already", event_queue->n);
		cJSON_Delete(event);
		free(m);
		return;
	}
	m->event = event;
	if (event_queue->last)
		event_queue->last->next = m;
	else
		event_queue->first = m;
	event_queue->last = m;
	event_queue->n++;
	if (!event_pending(event_queue->tick, EV_TIMEOUT, NULL))
		event_active(event_queue->tick, 0, 0);
}
