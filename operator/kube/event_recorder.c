/* SPDX-License-Identifier: Apache-2.0 */
/* Emits Events: two queues, those of warnings first, and a tick for each Event. */
#include "operator/kube/event_recorder.h"

#include <errno.h>
#include <string.h>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/units.h"
#include "operator/kube/event_filter.h"
#include "operator/kube/events.h"
#include "operator/kube/namespace_share.h"

#define INTERVAL_MS 100
/* Each so many Events one that is no warning has its turn, whatever warnings wait. */
#define OTHERS_EACH 4

struct message {
	struct message *next;
	const char *namespace; /* the event's */
	uint64_t turn;
	cJSON *event;
	enum event_again again;
};

/* The namespaces take turns, as in operator/kube/workqueue.h. */
struct queue {
	struct message *first; /* by turn, then in the order they came */
	uint64_t turn; /* that of the message that was taken last */
};

struct event_recorder {
	struct event_recorder_options o;
	struct event *tick; /* pending if an Event was written a moment ago */
	struct queue warnings, others;
	unsigned int n_taken;
	struct namespace_share share; /* counts the waiting Events by namespace */
	struct event_filter filter;
};

static void event_recorder_on_tick(evutil_socket_t fd, short what, void *arg);

int event_recorder_new(const struct event_recorder_options *options,
		       struct event_recorder **ret_recorder, struct err *err)
{
	struct event_recorder *recorder = calloc(1, sizeof(*recorder));

	if (!recorder)
		return err_set(err, ENOMEM, "event recorder");
	recorder->o = *options;
	if (!recorder->o.interval_ms)
		recorder->o.interval_ms = INTERVAL_MS;
	recorder->tick = evtimer_new(options->base, event_recorder_on_tick, recorder);
	if (!recorder->tick) {
		free(recorder);
		return err_set(err, ENOMEM, "event recorder");
	}
	*ret_recorder = recorder;
	return 0;
}

static void event_recorder_put(struct queue *queue, struct message *m)
{
	struct message **at = &queue->first;

	m->turn = queue->turn + 1;
	for (const struct message *other = queue->first; other; other = other->next)
		if (strcmp(other->namespace, m->namespace) == 0)
			m->turn = other->turn + 1;
	while (*at && (*at)->turn <= m->turn)
		at = &(*at)->next;
	m->next = *at;
	*at = m;
}

static struct message *take_from(struct queue *queue)
{
	struct message *m = queue->first;

	if (!m)
		return NULL;
	queue->first = m->next;
	queue->turn = m->turn;
	return m;
}

/* Returns the next Event; NULL if none waits. The caller owns it. */
static struct message *event_recorder_take(struct event_recorder *recorder)
{
	bool others_first = ++recorder->n_taken % OTHERS_EACH == 0;
	struct message *m = take_from(others_first ? &recorder->others : &recorder->warnings);

	if (!m)
		m = take_from(others_first ? &recorder->warnings : &recorder->others);
	if (m)
		namespace_share_remove(&recorder->share, m->namespace, 1);
	return m;
}

static void message_free(struct message *m)
{
	if (!m)
		return;
	cJSON_Delete(m->event);
	free(m);
}

void event_recorder_free(struct event_recorder *recorder)
{
	struct message *m;

	if (!recorder)
		return;
	while ((m = event_recorder_take(recorder)))
		message_free(m);
	namespace_share_release(&recorder->share);
	event_filter_release(&recorder->filter);
	event_free(recorder->tick);
	free(recorder);
}

static void event_recorder_on_written(void *, struct client_response *response)
{
	bool there = response->status == 409 && strcmp(response->reason, "AlreadyExists") == 0;

	/* A namespace that is being deleted refuses Events. */
	if (response->status / 100 != 2 && response->status != 403 && response->status != 404 &&
	    !there)
		log_warning_limited("an Event was not written: %s", err_text(&response->err));
}

static void write_event(struct event_recorder *recorder, const struct message *m)
{
	struct err err = { 0 };
	int r = client_event(recorder->o.client, m->event, m->again == EVENT_ONCE,
			     event_recorder_on_written, NULL, &err);

	if (r < 0)
		log_warning_limited("an Event was not written: %s", err_text(&err));
}

static void event_recorder_on_tick(evutil_socket_t, short, void *arg)
{
	struct event_recorder *recorder = arg;
	struct message *m = event_recorder_take(recorder);

	if (!m)
		return;
	event_add(recorder->tick, &(struct timeval){ .tv_usec = recorder->o.interval_ms * 1000 });
	if (recorder->o.may_write(recorder->o.arg))
		write_event(recorder, m);
	message_free(m);
}

void event_recorder_emit(struct event_recorder *recorder, cJSON *event, enum event_again again)
{
	struct message *m = event ? calloc(1, sizeof(*m)) : NULL;
	const char *namespace = json_str_or(event, "metadata.namespace", "");

	if (!m || !namespace_share_add(&recorder->share, namespace, 1, EVENT_RECORDER_MAX,
				       EVENT_RECORDER_NAMESPACE_MAX)) {
		log_warning_limited(
			"Events of namespace %s are left out: too many wait already, or there is no memory",
			namespace);
		cJSON_Delete(event);
		free(m);
		return;
	}
	*m = (struct message){ .namespace = namespace, .event = event, .again = again };
	event_recorder_put(
		json_is(event, "type", "Warning") ? &recorder->warnings : &recorder->others, m);
	if (!event_pending(recorder->tick, EV_TIMEOUT, NULL))
		event_active(recorder->tick, 0, 0);
}

bool event_recorder_is_time(struct event_recorder *recorder, const char *key, int64_t again_ns)
{
	return event_filter_is_time(&recorder->filter, key, now_boottime_ns(), again_ns);
}
