/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the sidecar in each Ray pod. */
#include "operator/failure_controller/sidecar_poller.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/loop/timer.h"
#include "lib/units.h"
#include "operator/cache/watches.h"
#include "operator/failure_controller/poll_pace.h"
#include "operator/failure_controller/restless_clusters.h"
#include "operator/failures/unseen_end.h"
#include "operator/kube/backoff.h"
#include "operator/kube/http.h"
#include "operator/kube/namespace_share.h"
#include "operator/kube/object.h"
#include "operator/podspec/pod_spec.h"

#define TICK_MS 250
#define FIRST_NS (10 * NS_PER_SEC)
#define FIRST_PER_POD_NS (10 * NS_PER_MS)
#define DEADLINE_NS (3 * NS_PER_SEC)
#define SOON_NS NS_PER_SEC
#define BARE_NS (10 * NS_PER_SEC) /* between two looks at a pod without a sidecar */
#define IN_FLIGHT_MAX 64
/*
 * Of one namespace, whose users can make each answer last until the deadline. If all pods are in
 * one, these places in each tick are enough for the pace of poll_pace.h.
 */
#define IN_FLIGHT_MAX_EACH (IN_FLIGHT_MAX / 2)
/* characters of the SHA-256 of a pod's uid: enough to distinguish pods of the same name */
#define UID_DIGEST 16
/* So many failed requests in a row are no accident. */
#define UNREACHABLE 3

/*
 * The state of one pod. There are many pods, so members that few pods need are allocated only for
 * them.
 */
struct polled {
	struct sidecar_poller *poller;
	const char *key; /* "namespace/name" of the pod; the map owns it */
	char uid[UID_DIGEST + 1]; /* of its uid */
	bool askable; /* the sidecar runs and has an address */
	/*
	 * The pod has no sidecar that could be asked, and its restart count may show ends that
	 * nobody saw.
	 */
	bool bare;
	char *tag; /* of the last accepted answer; NULL: none */
	uint64_t occasion;
	struct restless_cluster *cluster; /* NULL: the pod belongs to none */
	int64_t asked_ns; /* 0: it was never asked, and will be at first_ns */
	int64_t first_ns;
	int64_t restless_until_ns;
	int64_t soon_ns; /* when to ask again, because a death waits for the answer; 0: none does */
	bool at_once; /* something happened in the pod after it was asked */
	uint8_t jitter; /* see poll_pace.h */
	unsigned fails; /* in a row */
	bool again; /* something happened during the request, so the answer may be out of date */
	struct http_call *call; /* NULL: no request is running */
	struct sidecar_memory memory;
};

struct sidecar_poller {
	struct sidecar_poller_options o;
	struct http *http;
	struct event *tick;
	struct strmap pods; /* key -> struct polled */
	struct restless_clusters clusters;
	struct poll_pace pace; /* as it was when the pods were looked at last */
	struct namespace_share in_flight;
	/*
	 * of pods, where the last look ended: when more are due than there are places, each has its
	 * turn
	 */
	size_t bucket;
	uint64_t seed;
	struct answer_sinks sinks;
};

/* Makes the pod restless because something happened in it: deaths seldom come alone. */
static void sidecar_poller_stir(struct polled *p, bool cluster_too)
{
	p->restless_until_ns = now_boottime_ns() + POLL_RESTLESS_NS;
	if (cluster_too && p->cluster)
		p->cluster->until_ns = p->restless_until_ns;
}

static bool sidecar_poller_is_restless(const struct polled *p, int64_t now_ns)
{
	return now_ns < p->restless_until_ns || (p->cluster && now_ns < p->cluster->until_ns);
}

/* Takes a place for a request. Returns false if there is none left for its namespace. */
static bool take_place(struct polled *p)
{
	return namespace_share_add(&p->poller->in_flight, p->key, 1, IN_FLIGHT_MAX,
				   IN_FLIGHT_MAX_EACH);
}

static void leave_place(struct polled *p)
{
	assert(p->poller->in_flight.n > 0);
	namespace_share_remove(&p->poller->in_flight, p->key, 1);
}

static void polled_free(void *value)
{
	struct polled *p = value;

	if (!p)
		return;
	if (p->call)
		http_cancel(p->call);
	restless_clusters_leave(&p->poller->clusters, p->cluster);
	free(p->tag);
	sidecar_memory_release(&p->memory);
	free(p);
}

static void sidecar_poller_on_tick(evutil_socket_t fd, short what, void *arg);

int sidecar_poller_new(const struct sidecar_poller_options *options,
		       struct sidecar_poller **ret_poller, struct err *err)
{
	struct sidecar_poller *poller = calloc(1, sizeof(*poller));
	int r;

	if (!poller)
		return err_set(err, ENOMEM, "sidecar poller");
	poller->o = *options;
	poller->sinks = options->sinks;
	poller->seed = (uint64_t)now_realtime_ns() | 1;
	poller->tick = event_new(options->base, -1, EV_PERSIST, sidecar_poller_on_tick, poller);
	r = poller->tick && event_add(poller->tick,
				      &(struct timeval){ .tv_usec = TICK_MS * 1000 }) == 0 ?
		    http_new(options->base, &poller->http, err) :
		    err_set(err, ENOMEM, "sidecar poller");
	if (r < 0) {
		sidecar_poller_free(poller);
		return r;
	}
	*ret_poller = poller;
	return 0;
}

void sidecar_poller_free(struct sidecar_poller *poller)
{
	if (!poller)
		return;
	strmap_release(&poller->pods, polled_free);
	namespace_share_release(&poller->in_flight);
	restless_clusters_release(&poller->clusters);
	event_filter_release(&poller->sinks.emitted);
	event_filter_release(&poller->sinks.looks);
	http_free(poller->http);
	event_drop(poller->tick);
	free(poller);
}

const struct growing *sidecar_poller_growing(const struct sidecar_poller *poller, const char *key,
					     bool *ret_heard)
{
	const struct polled *p = strmap_get(&poller->pods, key);

	*ret_heard = !p || !p->askable || p->memory.answered || p->fails >= UNREACHABLE;
	return p ? sidecar_memory_growing(&p->memory) : NULL;
}

/* --- Which pods, and when -------------------------------------------------------------------- */

static void sidecar_poller_forget(struct sidecar_poller *poller, const char *key)
{
	struct polled *p = strmap_get(&poller->pods, key);

	if (p && p->call) {
		http_cancel(TAKE_PTR(p->call));
		leave_place(p);
	}
	polled_free(strmap_remove(&poller->pods, key));
}

static void digest_uid(const cJSON *pod, char ret_digest[static UID_DIGEST + 1])
{
	const char *uid = json_str(pod, "metadata.uid");

	sha256_hex(uid ? uid : "", uid ? strlen(uid) : 0, UID_DIGEST, ret_digest);
}

static struct polled *polled_new(struct sidecar_poller *poller, const char *key, const cJSON *pod)
{
	char cluster[512];
	struct polled *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->poller = poller;
	digest_uid(pod, p->uid);
	p->jitter = (uint8_t)random_between(&poller->seed, 0, 256);
	/* When an operator starts, pods are asked soon, but not all at once. */
	p->first_ns = now_boottime_ns() +
		      random_between(&poller->seed, 0,
				     MAX(FIRST_NS, (int64_t)poller->pods.n * FIRST_PER_POD_NS));
	p->cluster = cluster_key(pod, cluster, sizeof(cluster)) ?
			     restless_clusters_join(&poller->clusters, cluster) :
			     NULL;
	if (strmap_put(&poller->pods, key, p, NULL) < 0) {
		polled_free(p);
		return NULL;
	}
	p->key = strmap_key(&poller->pods, key);
	return p;
}

/*
 * Returns the entry of the pod; NULL if there is none. The entry of an older pod of the same name
 * is dropped.
 */
static struct polled *sidecar_poller_find(struct sidecar_poller *poller, const char *key,
					  const cJSON *pod)
{
	struct polled *p = strmap_get(&poller->pods, key);
	char uid[UID_DIGEST + 1];

	digest_uid(pod, uid);
	if (!p || strcmp(p->uid, uid) == 0)
		return p;
	sidecar_poller_forget(poller, key);
	return NULL;
}

void sidecar_poller_see(struct sidecar_poller *poller, const cJSON *pod, bool gone)
{
	_cleanup_free_ char *key = object_key(pod);
	char url[POD_REPORT_URL_MAX];
	uint64_t occasion = pod_report_occasion(pod);

	if (!key || !json_str(pod, "metadata.uid"))
		return;
	if (gone) {
		sidecar_poller_forget(poller, key);
		return;
	}
	bool askable = pod_report_url(pod, url);
	bool bare = !askable && !pod_sidecar_port(pod) && unseen_ends_possible(pod);
	struct polled *p = sidecar_poller_find(poller, key, pod);
	if (!p && (askable || bare))
		p = polled_new(poller, key, pod);
	if (!p)
		return;
	/* The informer may have it again, and then the pod is the same. */
	p->askable = askable;
	p->bare = bare;
	if (!askable)
		return;
	if (p->occasion != occasion) {
		p->at_once = true;
		p->again = p->call;
		/*
	 * The end of a deleted pod does not suggest that others fail: Ray's autoscaler deletes pods
	 * all day.
	 */
		sidecar_poller_stir(p, !json_str(pod, "metadata.deletionTimestamp"));
	}
	p->occasion = occasion;
}

static bool sidecar_poller_is_due(const struct polled *p, int64_t now_ns)
{
	const struct poll_pace *pace = &p->poller->pace;

	if (p->at_once || (p->soon_ns && now_ns >= p->soon_ns))
		return true;
	if (!p->asked_ns)
		return now_ns >= p->first_ns;
	return now_ns - p->asked_ns >=
	       poll_pace_interval(pace, sidecar_poller_is_restless(p, now_ns), p->fails, p->jitter);
}

static void note_asked(struct polled *p)
{
	p->asked_ns = now_boottime_ns();
	p->jitter = (uint8_t)random_between(&p->poller->seed, 0, 256);
	p->at_once = false;
	p->soon_ns = 0;
}

static void count_restless(struct sidecar_poller *poller, int64_t now_ns)
{
	void *value;

	poller->pace = (struct poll_pace){ 0 };
	strmap_each(&poller->pods, NULL, &value) {
		const struct polled *p = value;

		if (p->askable && sidecar_poller_is_restless(p, now_ns))
			poller->pace.n_restless++;
		else if (p->askable)
			poller->pace.n_resting++;
	}
}

/* A death waits for its sidecar only for some seconds, so the next question must come soon. */
static void ask_again_for_death(struct polled *p)
{
	const cJSON *pod = store_peek(informer_store(p->poller->o.pods), p->key);

	if (pod && failure_writer_awaits_sidecar(p->poller->sinks.writer, pod))
		p->soon_ns = now_boottime_ns() + SOON_NS;
}

/*
 * --- Answers
 * --------------------------------------------------------------------------------------------
 */

static const cJSON *sidecar_poller_pod_of(const struct polled *p)
{
	return store_get(informer_store(p->poller->o.pods), p->key);
}

static int sidecar_poller_take_answer(struct polled *p, const struct http_response *response,
				      struct err *err)
{
	const cJSON *pod = sidecar_poller_pod_of(p);
	struct answer_result result;

	if (!pod)
		return err_set(err, ESTALE, "the pod is gone");
	int r = sidecar_answer_take(&p->poller->sinks, &p->memory, p->key, pod, response->body,
				    response->len, &result, err);
	if (r < 0)
		return r;
	if (result.failed)
		sidecar_poller_stir(p, true);
	/* Without memory there is no tag, and the next answer comes whole. */
	free(p->tag);
	p->tag = *result.tag ? strdup(result.tag) : NULL;
	return 0;
}

/* Returns the label "changed" for the metric; err is set if the answer is not good. */
static const char *sidecar_poller_judge(struct polled *p, const struct http_response *response,
					struct err *err)
{
	*err = response->err;
	if (err->code)
		return response->status ? "refused" : "unreachable";
	if (response->status == 304)
		return "unchanged";
	if (response->status != 200)
		err_set(err, EPROTO, "status %d", response->status);
	else if (p->poller->o.may_write(p->poller->o.arg))
		sidecar_poller_take_answer(p, response, err);
	return err->code ? "refused" : "changed";
}

static void sidecar_poller_on_answer(void *arg, const struct http_response *response)
{
	struct polled *p = arg;
	struct sidecar_poller *poller = p->poller;
	struct err err = { 0 };

	p->call = NULL;
	leave_place(p);
	const char *result = sidecar_poller_judge(p, response, &err);
	metrics_add(poller->sinks.metrics, METRIC_POLLS, 1, "result=\"%s\"", result);
	/*
	 * A sidecar that is asked each second for a death may be just starting: that counts once.
	 */
	p->fails = err.code ? p->fails + (p->soon_ns == 0) : 0;
	if (p->fails == UNREACHABLE)
		sidecar_answer_lost(&poller->sinks, &p->memory, sidecar_poller_pod_of(p), &err);
	if (!err.code && response->max_age_ns > 0 && response->max_age_ns <= POLL_RESTLESS_AGE_NS)
		sidecar_poller_stir(p, false);
	note_asked(p);
	ask_again_for_death(p);
	p->at_once = p->again;
}

/*
 * --- Questions
 * ------------------------------------------------------------------------------------------
 */

/* The place is taken. */
static void sidecar_poller_ask(struct polled *p)
{
	const cJSON *pod = store_peek(informer_store(p->poller->o.pods), p->key);
	char if_none_match[POD_REPORT_TAG_MAX + 24], url[POD_REPORT_URL_MAX];

	/*
	 * An earlier answer may be about a death that the pod shows only now, so all of it is asked
	 * for.
	 */
	bool whole = pod && failure_writer_awaits_sidecar(p->poller->sinks.writer, pod);
	const char *headers[] = { "Accept: application/json",
				  p->tag && !whole ? if_none_match : NULL, NULL };
	const struct http_request request = {
		.method = "GET",
		.url = url,
		.headers = headers,
		.direct = true,
		.deadline_ns = DEADLINE_NS,
		.answer_max = POD_REPORT_MAX,
	};

	snprintf(if_none_match, sizeof(if_none_match), "If-None-Match: \"%s\"",
		 p->tag ? p->tag : "");
	if (!pod || !pod_report_url(pod, url) ||
	    http_start(p->poller->http, &request, NULL, sidecar_poller_on_answer, p, &p->call,
		       NULL) < 0) {
		leave_place(p);
		note_asked(p);
		return;
	}
	p->again = false;
}

/*
 * Returns whether to ask. If the existing RayFailures are not known, each answer would be
 * written again and refused.
 */
static bool may_ask(const struct sidecar_poller *poller)
{
	return poller->o.may_write(poller->o.arg) && informer_synced(poller->o.pods) &&
	       informer_synced(poller->sinks.failures);
}

/* Looks at a pod without a sidecar. */
static void sidecar_poller_look(struct polled *p, int64_t now_ns)
{
	const cJSON *pod = store_peek(informer_store(p->poller->o.pods), p->key);

	if (now_ns < (p->asked_ns ? p->asked_ns + BARE_NS : p->first_ns))
		return;
	note_asked(p);
	if (pod)
		p->bare = sidecar_answer_none(&p->poller->sinks, &p->memory, p->key, pod);
}

static void sidecar_poller_on_tick(evutil_socket_t, short, void *arg)
{
	struct sidecar_poller *poller = arg;
	struct strmap_pos pos = { .bucket = poller->bucket };
	int64_t now = now_boottime_ns();
	bool wrapped = false;
	void *value;

	if (!may_ask(poller))
		return;
	count_restless(poller, now);
	while (poller->in_flight.n < IN_FLIGHT_MAX) {
		if (strmap_next(&poller->pods, &pos, NULL, &value)) {
			struct polled *p = value;

			/* Without a place it stays due. */
			if (p->askable && !p->call && sidecar_poller_is_due(p, now) &&
			    take_place(p))
				sidecar_poller_ask(p);
			else if (p->bare)
				sidecar_poller_look(p, now);
		} else if (!wrapped) {
			wrapped = true;
			pos = (struct strmap_pos){ 0 };
		} else
			break;
	}
	poller->bucket = pos.bucket;
}

void sidecar_poller_metrics(struct sidecar_poller *poller)
{
	size_t n[2] = { 0 };
	void *value;

	strmap_each(&poller->pods, NULL, &value) {
		const struct polled *p = value;

		if (p->askable)
			n[p->fails >= UNREACHABLE]++;
	}
	metrics_set(poller->sinks.metrics, METRIC_SIDECARS, (double)n[0], "answers=\"true\"");
	metrics_set(poller->sinks.metrics, METRIC_SIDECARS, (double)n[1], "answers=\"false\"");
}
