/* SPDX-License-Identifier: Apache-2.0 */
/* Runs leader election on a thread of its own. */
#include "operator/kube/leadership.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/loop/timer.h"
#include "lib/units.h"
#include "operator/kube/client.h"
#include "operator/kube/elector.h"
#include "operator/kube/lease.h"

#define HEARTBEAT_S 1
#define TEXT_MAX MAX(ERR_TEXT_MAX, LEASE_HOLDER_MAX)

enum message_kind {
	/* Sent to the thread. */
	STOP,
	/* Sent to the main loop. */
	ACQUIRED,
	LOST, /* text: the reason */
	STOPPED,
	TROUBLE, /* code and text are those of an err */
	TROUBLE_OVER,
	CREDENTIALS, /* like TROUBLE */
	REQUEST, /* text: the method; code: the status of the answer */
	HOLDER, /* text: the holder */
};

struct message {
	enum message_kind kind;
	int code;
	char text[TEXT_MAX];
};

/* Only the thread uses this once it is running. */
struct worker {
	struct event_base *base;
	struct client *client;
	struct elector *elector;
	struct event *readable, *watchdog;
	char holder[LEASE_HOLDER_MAX]; /* as the thread last reported it */
	int fd;
};

struct leadership {
	struct leadership_options o;
	char identity[LEASE_HOLDER_MAX], holder[LEASE_HOLDER_MAX];
	struct event *readable, *heartbeat;
	int fd;
	void (*done)(void *arg);
	void *done_arg;
	pthread_t thread;
	bool started;

	struct worker worker;
	/* Until then the Lease is held (boot clock); 0: it is not held. */
	_Atomic int64_t deadline_ns;
	_Atomic int64_t turned_ns; /* when the main loop last turned */
};

/* --- The thread ----------------------------------------------------------------------------- */

/*
 * Sends a message to the main loop. Messages that the main loop must get wait for it; others are
 * dropped while it does not read. After the main loop has ended, nobody reads any more.
 */
static void leadership_tell(struct leadership *l, enum message_kind kind, int code,
			    const char *text)
{
	struct message message = { .kind = kind, .code = code };
	bool must = kind == LOST || kind == STOPPED || kind == ACQUIRED;

	snprintf(message.text, sizeof(message.text), "%s", text);
	(void)!send(l->worker.fd, &message, sizeof(message),
		    MSG_NOSIGNAL | (must ? 0 : MSG_DONTWAIT));
}

/* Publishes the deadline before any message is sent, because code that writes reads it. */
static void leadership_publish(void *arg)
{
	struct leadership *l = arg;
	struct worker *w = &l->worker;

	atomic_store(&l->deadline_ns, elector_deadline_ns(w->elector));
	if (strcmp(w->holder, elector_holder(w->elector)) == 0)
		return;
	snprintf(w->holder, sizeof(w->holder), "%s", elector_holder(w->elector));
	leadership_tell(l, HOLDER, 0, w->holder);
}

static void leadership_on_acquired(void *arg)
{
	leadership_tell(arg, ACQUIRED, 0, "");
}

static void leadership_on_lost(void *arg)
{
	struct leadership *l = arg;

	leadership_tell(l, LOST, 0, "another replica acts or may");
	event_base_loopbreak(l->worker.base);
}

static void on_trouble(void *arg, const struct err *err)
{
	if (err)
		leadership_tell(arg, TROUBLE, err->code, err->text);
	else
		leadership_tell(arg, TROUBLE_OVER, 0, "");
}

static void leadership_on_request(void *arg, const char *method, int code)
{
	leadership_tell(arg, REQUEST, code, method);
}

static void on_credentials(void *arg, const struct err *err)
{
	leadership_tell(arg, CREDENTIALS, err->code, err->text);
}

static void leadership_on_released(void *arg)
{
	struct leadership *l = arg;

	leadership_tell(l, STOPPED, 0, "");
	event_base_loopbreak(l->worker.base);
}

static void on_order(evutil_socket_t fd, short, void *arg)
{
	struct leadership *l = arg;
	struct message message;
	ssize_t n = recv(fd, &message, sizeof(message), MSG_DONTWAIT);

	if (n == sizeof(message))
		elector_stop(l->worker.elector, leadership_on_released, l);
	else if (n >= 0 || errno != EAGAIN)
		event_base_loopbreak(l->worker.base); /* the other end is closed */
}

/*
 * Called when the main loop hangs. The Lease is not given back, because writes that the main loop
 * has sent may still arrive. The Lease expires before another replica takes it.
 */
static void on_watchdog(evutil_socket_t, short, void *arg)
{
	struct leadership *l = arg;
	char why[TEXT_MAX];

	if (atomic_load(&l->deadline_ns) == 0 ||
	    now_boottime_ns() - atomic_load(&l->turned_ns) < l->o.silence_ns)
		return;
	atomic_store(&l->deadline_ns, 0);
	snprintf(why, sizeof(why), "it was given up, for the main loop did not turn for %s",
		 DURATION_TEXT(l->o.silence_ns));
	event_base_loopbreak(l->worker.base);
	leadership_tell(l, LOST, 0, why);
}

static void *leadership_run(void *arg)
{
	struct leadership *l = arg;

	elector_start(l->worker.elector);
	event_base_dispatch(l->worker.base);
	atomic_store(&l->deadline_ns, 0);
	return NULL;
}

static void worker_release(struct worker *w)
{
	event_drop(w->readable);
	event_drop(w->watchdog);
	elector_free(w->elector);
	client_free(w->client);
	if (w->base)
		event_base_free(w->base);
	closep(&w->fd);
}

static int start_events(struct leadership *l, struct err *err)
{
	struct worker *w = &l->worker;

	w->readable = event_new(w->base, w->fd, EV_READ | EV_PERSIST, on_order, l);
	w->watchdog = event_new(w->base, -1, EV_PERSIST, on_watchdog, l);
	if (!w->readable || !w->watchdog || event_add(w->readable, NULL) < 0 ||
	    event_add(w->watchdog, &(struct timeval){ .tv_sec = HEARTBEAT_S }) < 0)
		return err_set(err, ENOMEM, "leader election");
	return 0;
}

/* Makes everything before the thread starts. Takes config. */
static int worker_init(struct leadership *l, struct kubeconfig *config, struct err *err)
{
	struct worker *w = &l->worker;
	struct elector_options options = {
		.namespace = l->o.namespace,
		.name = l->o.name,
		.on_step = leadership_publish,
		.on_acquired = leadership_on_acquired,
		.on_lost = leadership_on_lost,
		.on_trouble = on_trouble,
		.arg = l,
	};

	w->base = event_base_new();
	/* The elector's deadline has a higher priority than sockets. */
	if (!w->base || event_base_priority_init(w->base, 2) < 0) {
		kubeconfig_release(config);
		return err_set(err, ENOMEM, "leader election");
	}
	int r = client_new(w->base, config, &w->client, err);
	if (r < 0)
		return r;
	client_observe(w->client, leadership_on_request, on_credentials, l);
	options.base = w->base;
	options.client = w->client;
	r = elector_new(&options, &w->elector, err);
	return r < 0 ? r : start_events(l, err);
}

/* --- The main loop -------------------------------------------------------------------------- */

static void leadership_take_message(struct leadership *l, const struct message *message)
{
	struct err err = { .code = message->code };

	snprintf(err.text, sizeof(err.text), "%.*s", (int)sizeof(err.text) - 1, message->text);
	switch (message->kind) {
	case ACQUIRED:
		l->o.on_acquired(l->o.arg);
		break;
	case LOST:
		l->o.on_lost(l->o.arg, message->text);
		break;
	case STOPPED:
		if (l->done)
			TAKE_PTR(l->done)(l->done_arg);
		break;
	case TROUBLE:
		l->o.on_trouble(l->o.arg, &err);
		break;
	case TROUBLE_OVER:
		l->o.on_trouble(l->o.arg, NULL);
		break;
	case CREDENTIALS:
		l->o.on_credentials(l->o.arg, &err);
		break;
	case REQUEST:
		l->o.on_request(l->o.arg, message->text, message->code);
		break;
	case HOLDER:
		snprintf(l->holder, sizeof(l->holder), "%.*s", LEASE_HOLDER_MAX - 1, message->text);
		break;
	case STOP:
		break;
	}
}

static void on_message(evutil_socket_t fd, short, void *arg)
{
	struct leadership *l = arg;
	struct message message;

	if (recv(fd, &message, sizeof(message), MSG_DONTWAIT) == sizeof(message)) {
		message.text[sizeof(message.text) - 1] = '\0';
		leadership_take_message(l, &message);
	}
}

static void on_heartbeat(evutil_socket_t, short, void *arg)
{
	struct leadership *l = arg;

	atomic_store(&l->turned_ns, now_boottime_ns());
}

static int watch_messages(struct leadership *l, struct err *err)
{
	l->readable = event_new(l->o.base, l->fd, EV_READ | EV_PERSIST, on_message, l);
	l->heartbeat = event_new(l->o.base, -1, EV_PERSIST, on_heartbeat, l);
	if (!l->readable || !l->heartbeat || event_priority_set(l->readable, 0) < 0 ||
	    event_add(l->readable, NULL) < 0 ||
	    event_add(l->heartbeat, &(struct timeval){ .tv_sec = HEARTBEAT_S }) < 0)
		return err_set(err, ENOMEM, "leader election");
	return 0;
}

int leadership_new(const struct leadership_options *options, struct kubeconfig *config,
		   struct leadership **ret_leadership, struct err *err)
{
	struct leadership *l = calloc(1, sizeof(*l));
	int ends[2] = { -1, -1 }, r = 0;

	if (!l || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		r = err_set(err, l ? errno : ENOMEM, "leader election");
	if (!l) {
		kubeconfig_release(config);
		return r;
	}
	l->o = *options;
	l->o.silence_ns = options->silence_ns ? options->silence_ns : LEADERSHIP_SILENCE_NS;
	l->fd = ends[0];
	l->worker.fd = ends[1];
	if (r < 0)
		kubeconfig_release(config);
	else
		r = worker_init(l, config, err);
	if (r == 0)
		r = watch_messages(l, err);
	if (r < 0) {
		leadership_free(l);
		return r;
	}
	snprintf(l->identity, sizeof(l->identity), "%s", elector_identity(l->worker.elector));
	*ret_leadership = l;
	return 0;
}

void leadership_free(struct leadership *l)
{
	if (!l)
		return;
	event_drop(l->readable);
	event_drop(l->heartbeat);
	/* Closing this end wakes the thread, whatever it waits for. */
	closep(&l->fd);
	if (l->started)
		pthread_join(l->thread, NULL);
	worker_release(&l->worker);
	free(l);
}

int leadership_start(struct leadership *l, struct err *err)
{
	sigset_t all, before;

	/* The main loop handles all signals, so the thread blocks them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	atomic_store(&l->turned_ns, now_boottime_ns());
	int r = pthread_create(&l->thread, NULL, leadership_run, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	l->started = r == 0;
	return r == 0 ? 0 : err_set(err, r, "the thread of leader election");
}

void leadership_stop(struct leadership *l, void (*done)(void *arg), void *arg)
{
	const struct message stop = { .kind = STOP };

	l->done = done;
	l->done_arg = arg;
	/*
	 * This is the only message in this direction, so there is room for it. If the thread has
	 * ended, nobody has to be awaited.
	 */
	if (send(l->fd, &stop, sizeof(stop), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(stop) &&
	    l->done)
		TAKE_PTR(l->done)(l->done_arg);
}

bool leadership_is_held(const struct leadership *l)
{
	return now_boottime_ns() < atomic_load(&l->deadline_ns);
}

bool leadership_is_overdue(const struct leadership *l)
{
	int64_t deadline_ns = atomic_load(&l->deadline_ns);

	return deadline_ns != 0 && now_boottime_ns() >= deadline_ns;
}

const char *leadership_identity(const struct leadership *l)
{
	return l->identity;
}

const char *leadership_holder(const struct leadership *l)
{
	return l->holder;
}
