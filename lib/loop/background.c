/* SPDX-License-Identifier: Apache-2.0 */
/* Runs an errand whose messages the event loop gets. */
#include "lib/loop/background.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "lib/loop/timer.h"
#include "lib/macros.h"
#include "lib/units.h"

static void background_finish(struct background *b, bool in_time)
{
	event_free(TAKE_PTR(b->event));
	b->done(in_time, b->arg);
}

static void background_pass_on(const void *data, size_t len, int *passed_fd, void *arg)
{
	struct background *b = arg;

	if (b->on_message)
		b->on_message(data, len, passed_fd, b->arg);
	else if (len == b->size) {
		memcpy(b->answer, data, len);
		b->answered = true;
	}
}

static void background_on_event(evutil_socket_t, short what, void *arg)
{
	struct background *b = arg;

	if (errand_listen(&b->errand, background_pass_on, b))
		background_finish(b, true);
	else if (what & EV_TIMEOUT) {
		/*
		 * The errand keeps its place until its process has ended, because another errand
		 * would hang as well.
		 */
		kill(b->errand.pid, SIGKILL);
		background_finish(b, false);
	}
}

int background_start(struct background *b, struct event_base *base, errand_fn fn, void *work,
		     int64_t within_ns, errand_message_fn on_message,
		     void (*done)(bool in_time, void *arg), void *arg, struct err *err)
{
	int rc = errand_start(&b->errand, fn, work, err);

	b->answered = false;
	if (rc < 0)
		return rc;
	b->on_message = on_message;
	b->done = done;
	b->arg = arg;
	b->event = event_new(base, b->errand.fd, EV_READ | EV_PERSIST, background_on_event, b);
	if (!b->event) {
		errand_cancel(&b->errand);
		return err_set(err, ENOMEM, "errand");
	}
	background_limit(b, within_ns);
	return 0;
}

void background_limit(struct background *b, int64_t within_ns)
{
	const struct timeval within = { .tv_sec = within_ns / NS_PER_SEC,
					.tv_usec = within_ns % NS_PER_SEC / 1000 };

	/* A loop may count from when the running callback began. */
	if (b->event)
		event_base_update_cache_time(event_get_base(b->event));
	/* event_add without a time limit leaves the old one. */
	if (b->event && event_remove_timer(b->event) == 0)
		event_add(b->event, within_ns < INT64_MAX ? &within : NULL);
}

bool background_await(struct background *b, int64_t within_ns)
{
	bool ended =
		b->event && errand_wait_outside_loop(&b->errand, within_ns, background_pass_on, b);

	if (ended)
		background_finish(b, true);
	return ended;
}

void background_cancel(struct background *b)
{
	event_drop(TAKE_PTR(b->event));
	errand_cancel(&b->errand);
}
