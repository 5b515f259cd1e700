/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leader election on a Lease.
 *
 * Two timers run beside the one request: wake ends a wait; deadline fires when
 * the Lease runs out, whatever hangs. The deadline has the loop's first priority, so
 * that a process that was stopped for a while, and then goes on, notices that it has
 * lost the Lease before it touches a socket.
 */
#include "operator/kube/elector.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib/loop/timer.h"
#include "lib/oom.h"
#include "lib/units.h"
#include "operator/kube/lease.h"

#define PATH_MAX_LEN 1024

struct elector {
	struct elector_options o;
	const struct resource *resource;
	struct lease lease;
	struct event *wake, *deadline;
	struct client_call *call;
	enum lease_action asked; /* the action that `call` carries out */
	int64_t sent_ns;
	bool in_trouble;
	bool stopping; /* `done` will be called */
	void (*done)(void *arg);
	void *done_arg;
};

static void elector_feed(struct elector *e, const struct lease_event *event);

static void feed_kind(struct elector *e, enum lease_event_kind kind)
{
	elector_feed(e, &(struct lease_event){ .kind = kind });
}

static void elector_on_timer(evutil_socket_t, short, void *arg)
{
	feed_kind(arg, LEASE_TICK);
}

/* Timers may go off a little early, or use another clock, so the deadline in the Lease decides. */
static void elector_on_deadline(evutil_socket_t, short, void *arg)
{
	struct elector *e = arg;

	if (elector_is_leader(e))
		timer_after(e->deadline, e->lease.deadline_ns - now_boottime_ns());
	else if (e->lease.held)
		feed_kind(e, LEASE_TICK);
}

/*
 * --- The object
 * ------------------------------------------------------------------------------------------
 */

/* MicroTime has exactly six digits. */
static void format_now(char buf[static LEASE_TIME_MAX])
{
	char ms[TIME_TEXT_MAX];

	time_format(now_realtime_ns(), ms);
	snprintf(buf, LEASE_TIME_MAX, "%.*s000Z", (int)strcspn(ms, "Z"), ms);
}

static cJSON *lease_object(const struct elector *e, const struct lease_record *write)
{
	cJSON *object = cJSON_CreateObject(), *metadata = json_object_at(object, "metadata");
	cJSON *spec = json_object_at(object, "spec");
	char now[LEASE_TIME_MAX];

	format_now(now);
	json_set_str(object, "apiVersion", e->resource->api_version);
	json_set_str(object, "kind", e->resource->kind);
	json_set_str(metadata, "namespace", e->o.namespace);
	json_set_str(metadata, "name", e->o.name);
	json_set_str(json_object_at(metadata, "labels"), "app.kubernetes.io/managed-by",
		     "afterglow");
	if (write->rv[0])
		json_set_str(metadata, "resourceVersion", write->rv);
	json_set_str(spec, "holderIdentity", write->holder);
	json_set_int(spec, "leaseDurationSeconds",
		     write->holder[0] ? LEASE_DURATION_NS / NS_PER_SEC : 1);
	json_set_str(spec, "acquireTime", write->acquired[0] ? write->acquired : now);
	json_set_str(spec, "renewTime", now);
	json_set_int(spec, "leaseTransitions", write->transitions);
	return object;
}

/* Returns false if a text does not fit, because a cut text has another meaning. */
static bool elector_copy_text(const cJSON *object, const char *path, char *buf, size_t size)
{
	return snprintf(buf, size, "%s", json_str_or(object, path, "")) < (int)size;
}

static bool read_record(const cJSON *object, struct lease_record *ret_record)
{
	struct lease_record record = { .transitions = MAX(
					       json_int(object, "spec.leaseTransitions", 0), 0) };

	if (!elector_copy_text(object, "spec.holderIdentity", record.holder,
			       sizeof(record.holder)) ||
	    !elector_copy_text(object, "metadata.resourceVersion", record.rv, sizeof(record.rv)) ||
	    !record.rv[0])
		return false;
	/* We only pass this value on. The API server writes it in its own format, which fits. */
	if (!elector_copy_text(object, "spec.acquireTime", record.acquired,
			       sizeof(record.acquired)))
		record.acquired[0] = '\0';
	*ret_record = record;
	return true;
}

/*
 * --- Requests
 * ---------------------------------------------------------------------------------------------
 */

static void elector_tell(struct elector *e, const struct err *err)
{
	if (e->in_trouble == (err != NULL))
		return;
	e->in_trouble = err != NULL;
	e->o.on_trouble(e->o.arg, err);
}

static void elector_on_answer(void *arg, struct client_response *response)
{
	struct elector *e = arg;
	struct lease_event event = { .kind = LEASE_FAILED, .sent_ns = e->sent_ns };
	struct lease_record record;
	int status = response->status;

	e->call = NULL;
	if (status / 100 == 2 && read_record(response->object, &record)) {
		event.kind = e->asked == LEASE_GET ? LEASE_READ : LEASE_WRITTEN;
		event.record = &record;
	} else if (status == 404 && e->asked == LEASE_GET) {
		event.kind = LEASE_ABSENT;
	} else if (e->asked != LEASE_GET &&
		   (status == 409 || (status == 404 && e->asked == LEASE_UPDATE))) {
		event.kind = LEASE_CONFLICT;
	} else if (!response->err.code) {
		err_set(&response->err, EPROTO, "lease %s/%s: no Lease in the answer",
			e->o.namespace, e->o.name);
	}
	elector_tell(e, event.kind == LEASE_FAILED ? &response->err : NULL);
	elector_feed(e, &event);
	if (e->stopping && !e->call)
		feed_kind(e, LEASE_STOP);
}

static int elector_ask(struct elector *e, const struct lease_step *step, struct err *err)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(PATH_MAX_LEN);
	bool create = step->action == LEASE_CREATE, get = step->action == LEASE_GET;
	size_t lost = oom_count();
	_cleanup_json_ cJSON *object = get ? NULL : lease_object(e, &step->write);
	_cleanup_free_ char *body = get ? NULL : cJSON_PrintUnformatted(object);

	/* Without its version the patch could take the Lease away from another holder. */
	if (!get && (!body || oom_count() != lost))
		return err_set(err, ENOMEM, "lease");
	resource_path(e->resource, e->o.namespace, create ? NULL : e->o.name, NULL, &path);
	if (strbuf_failed(&path))
		return err_set(err, ENAMETOOLONG, "lease %s/%s", e->o.namespace, e->o.name);
	struct client_request request = {
		.method = get	 ? "GET" :
			  create ? "POST" :
				   "PUT",
		.path = strbuf_str(&path),
		.body = body,
		.deadline_ns = LEASE_REQUEST_NS,
	};
	e->asked = step->action;
	e->sent_ns = now_boottime_ns();
	return client_start(e->o.client, &request, elector_on_answer, e, &e->call, err);
}

/*
 * --- Decisions
 * --------------------------------------------------------------------------------------------
 */

static void elector_finish(struct elector *e)
{
	event_del(e->wake);
	event_del(e->deadline);
	if (e->done)
		TAKE_PTR(e->done)(e->done_arg);
}

static void elector_wait_for(struct elector *e, int64_t delay_ns)
{
	timer_after(e->wake, delay_ns);
	if (e->lease.held)
		timer_after(e->deadline, e->lease.deadline_ns - now_boottime_ns());
}

static void elector_feed(struct elector *e, const struct lease_event *event)
{
	struct lease_step step = lease_step(&e->lease, event, now_boottime_ns());
	struct err err = { 0 };

	if (e->o.on_step)
		e->o.on_step(e->o.arg);
	client_cancel(TAKE_PTR(e->call));
	switch (step.action) {
	case LEASE_WAIT:
		elector_wait_for(e, step.delay_ns);
		break;
	case LEASE_GET:
	case LEASE_CREATE:
	case LEASE_UPDATE:
		if (elector_ask(e, &step, &err) < 0) {
			elector_tell(e, &err);
			feed_kind(e, LEASE_FAILED);
		}
		break;
	case LEASE_LOST:
		elector_finish(e);
		e->o.on_lost(e->o.arg);
		break;
	case LEASE_DONE:
		elector_finish(e);
		break;
	}
	if (step.acquired)
		e->o.on_acquired(e->o.arg);
}

/*
 * --- Life
 * -------------------------------------------------------------------------------------------------
 */

static int make_identity(struct elector *e, struct err *err)
{
	char host[256], identity[LEASE_HOLDER_MAX];
	unsigned char u[16];
	uint64_t seed;

	if (gethostname(host, sizeof(host)) < 0 || getrandom(u, sizeof(u), 0) != sizeof(u) ||
	    getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return err_set(err, errno, "identity for the lease");
	host[sizeof(host) - 1] = '\0';
	u[6] = (unsigned char)((u[6] & 0x0f) | 0x40); /* RFC 4122, version 4 */
	u[8] = (unsigned char)((u[8] & 0x3f) | 0x80);
	snprintf(identity, sizeof(identity),
		 "%s_%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", host,
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
		 u[13], u[14], u[15]);
	lease_init(&e->lease, identity, seed | 1);
	return 0;
}

int elector_new(const struct elector_options *options, struct elector **ret_elector,
		struct err *err)
{
	struct elector *e = calloc(1, sizeof(*e));

	if (!e)
		return err_set(err, ENOMEM, "leader election");
	e->o = *options;
	e->resource = resource_find("coordination.k8s.io/v1", "Lease");
	e->wake = evtimer_new(options->base, elector_on_timer, e);
	e->deadline = evtimer_new(options->base, elector_on_deadline, e);
	int r = e->wake && e->deadline ? make_identity(e, err) :
					 err_set(err, ENOMEM, "leader election");
	if (r == 0 && event_priority_set(e->deadline, 0) < 0)
		r = err_set(err, EINVAL, "leader election: event priority");
	if (r < 0) {
		elector_free(e);
		return r;
	}
	*ret_elector = e;
	return 0;
}

void elector_free(struct elector *e)
{
	if (!e)
		return;
	client_cancel(e->call);
	event_drop(e->wake);
	event_drop(e->deadline);
	free(e);
}

void elector_start(struct elector *e)
{
	feed_kind(e, LEASE_TICK);
}

void elector_stop(struct elector *e, void (*done)(void *arg), void *arg)
{
	e->done = done;
	e->done_arg = arg;
	e->stopping = true;
	/* A write under way is awaited: without its version we could not give the Lease back. */
	if (!e->call || e->asked == LEASE_GET)
		feed_kind(e, LEASE_STOP);
}

bool elector_is_leader(const struct elector *e)
{
	return lease_is_held(&e->lease, now_boottime_ns());
}

int64_t elector_deadline_ns(const struct elector *e)
{
	return e->lease.held ? e->lease.deadline_ns : 0;
}

const char *elector_identity(const struct elector *e)
{
	return e->lease.identity;
}

const char *elector_holder(const struct elector *e)
{
	return e->lease.seen.holder;
}
