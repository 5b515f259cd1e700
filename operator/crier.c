/* SPDX-License-Identifier: Apache-2.0 */
/* Writes Events of what went well. */
#include "operator/crier.h"

#include <errno.h>

#include "lib/log.h"
#include "operator/kube/events.h"

#define INTERVAL_MS 100
#define WAITING_MAX 1000

struct message {
	struct message *next;
	cJSON *event;
};

struct crier {
	struct crier_options o;
	struct event *tick; /* pending while one was told a moment ago */
	struct message *first, *last;
	size_t n;
};

static void on_tick(evutil_socket_t fd, short what, void *arg);

int crier_new(const struct crier_options *options, struct crier **ret_crier, struct err *err)
{
	struct crier *crier = calloc(1, sizeof(*crier));

	if (!crier)
		return err_set(err, ENOMEM, "crier");
	crier->o = *options;
	crier->tick = evtimer_new(options->base, on_tick, crier);
	if (!crier->tick) {
		free(crier);
		return err_set(err, ENOMEM, "crier");
	}
	*ret_crier = crier;
	return 0;
}

/* The longest waiting; NULL: none. The caller owns it. */
static cJSON *take(struct crier *crier)
{
	struct message *m = crier->first;
	cJSON *event;

	if (!m)
		return NULL;
	event = m->event;
	crier->first = m->next;
	if (!crier->first)
		crier->last = NULL;
	crier->n--;
	free(m);
	return event;
}

void crier_free(struct crier *crier)
{
	cJSON *event;

	if (!crier)
		return;
	while ((event = take(crier)))
		cJSON_Delete(event);
	event_free(crier->tick);
	free(crier);
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
	struct crier *crier = arg;
	_cleanup_json_ cJSON *event = take(crier);
	struct err err = { 0 };

	(void)fd;
	(void)what;
	if (!event)
		return;
	event_add(crier->tick, &(struct timeval){ .tv_usec = INTERVAL_MS * 1000 });
	if (crier->o.may_write(crier->o.arg) && client_event(crier->o.client, event, on_written, NULL, &err) < 0)
		log_warning_limited("an Event was not written: %s", err_text(&err));
}

void crier_tell(struct crier *crier, cJSON *event)
{
	struct message *m = crier->n < WAITING_MAX ? calloc(1, sizeof(*m)) : NULL;

	if (!m || !event) {
		log_warning_limited("Events of what went well are left out: %zu wait already", crier->n);
		cJSON_Delete(event);
		free(m);
		return;
	}
	m->event = event;
	if (crier->last)
		crier->last->next = m;
	else
		crier->first = m;
	crier->last = m;
	crier->n++;
	if (!event_pending(crier->tick, EV_TIMEOUT, NULL))
		event_active(crier->tick, 0, 0);
}
