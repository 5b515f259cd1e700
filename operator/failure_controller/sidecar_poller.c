/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the sidecar in each Ray pod. */
#include "operator/failure_controller/sidecar_poller.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/log.h"
#include "lib/units.h"
#include "operator/failure_controller/growth_events.h"
#include "operator/failure_controller/poll_pace.h"
#include "operator/failure_controller/restless_clusters.h"
#include "operator/failures/failures.h"
#include "operator/failures/pod_report.h"
#include "operator/failures/story.h"
#include "operator/kube/backoff.h"
#include "operator/kube/event.h"
#include "operator/kube/http.h"
#include "operator/manager/watches.h"

#define TICK_MS 250
#define FIRST_NS (10 * NS_PER_SEC)
#define FIRST_PER_POD_NS (10 * NS_PER_MS)
#define DEADLINE_NS (3 * NS_PER_SEC)
#define IN_FLIGHT_MAX 32
/* So many in a row are no accident. */
#define UNREACHABLE 3
/* One Event for each cluster, so often. */
#define TELL_NS (3600 * NS_PER_SEC)
/* A journal at once, then one a minute: what a hostile pod can make of RayFailures. */
#define BURST 64
#define REFILL_NS (60 * NS_PER_SEC)
/* RayFailures of one pod that are looked at. */
#define TOLD_MAX 256

/* There is one for each pod: what few of them have is allocated when they have it. */
struct polled {
	struct sidecar_poller *poller;
	char *key; /* "namespace/name" of the pod */
	char *uid; /* behind the key */
	char *url; /* NULL: there is nobody to ask */
	char *tag; /* of the answer that was taken; NULL: none */
	uint64_t occasion;
	struct restless_cluster *cluster; /* NULL: the pod names none */
	int64_t asked_ns; /* 0: never; then it is asked at first_ns */
	int64_t first_ns;
	int64_t restless_until_ns;
	bool at_once; /* something happened in it since it was asked */
	uint8_t jitter; /* poll_pace.h */
	unsigned fails; /* in a row */
	bool answered; /* at least once */
	bool again; /* something happened while it was asked: the answer may be of before */
	struct http_call *call; /* NULL: none runs */
	unsigned allowance; /* RayFailures that it may still cause */
	int64_t refilled_ns;
	struct pod_hold *told; /* POD_REPORT_HOLDS_MAX; NULL: none */
	struct growing *growing; /* NULL: nothing grows */
};

struct sidecar_poller {
	struct sidecar_poller_options o;
	struct http *http;
	struct event *tick;
	struct strmap pods; /* key -> struct polled */
	struct restless_clusters clusters;
	struct poll_pace pace; /* as it was when the pods were looked at last */
	size_t in_flight;
	size_t bucket; /* of pods, where the last look ended: when more are due than there are places, each has its turn */
	uint64_t seed;
	struct event_filter told; /* not the event recorder's: pods choose these keys */
};

/* Something happened in the pod; deaths seldom come alone. */
static void stir(struct polled *p, bool cluster_too)
{
	p->restless_until_ns = now_boottime_ns() + POLL_RESTLESS_NS;
	if (cluster_too && p->cluster)
		p->cluster->until_ns = p->restless_until_ns;
}

static bool is_restless(const struct polled *p, int64_t now_ns)
{
	return now_ns < p->restless_until_ns || (p->cluster && now_ns < p->cluster->until_ns);
}

static void polled_free(void *value)
{
	struct polled *p = value;

	if (!p)
		return;
	if (p->call) {
		http_cancel(p->call);
		p->poller->in_flight--;
	}
	restless_clusters_leave(&p->poller->clusters, p->cluster);
	free(p->key);
	free(p->url);
	free(p->tag);
	free(p->told);
	free(p->growing);
	free(p);
}

/* Without memory it is as if there were none: the next look, or the next answer, tries again. */
static void set_text(char **text, const char *value)
{
	if (value && *value && *text && strcmp(*text, value) == 0)
		return;
	free(*text);
	*text = value && *value ? strdup(value) : NULL;
}

/* "KEY\0UID". */
static char *key_with_uid(const char *key, const char *uid)
{
	size_t key_len = strlen(key) + 1, uid_len = strlen(uid) + 1;
	char *text = malloc(key_len + uid_len);

	if (text) {
		memcpy(text, key, key_len);
		memcpy(text + key_len, uid, uid_len);
	}
	return text;
}

static void on_tick(evutil_socket_t fd, short what, void *arg);

int sidecar_poller_new(const struct sidecar_poller_options *options, struct sidecar_poller **ret_poller, struct err *err)
{
	struct sidecar_poller *poller = calloc(1, sizeof(*poller));
	int r;

	if (!poller)
		return err_set(err, ENOMEM, "sidecar poller");
	poller->o = *options;
	poller->seed = (uint64_t)now_realtime_ns() | 1;
	poller->tick = event_new(options->base, -1, EV_PERSIST, on_tick, poller);
	r = poller->tick && event_add(poller->tick, &(struct timeval){ .tv_usec = TICK_MS * 1000 }) == 0 ?
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
	restless_clusters_release(&poller->clusters);
	event_filter_release(&poller->told);
	http_free(poller->http);
	if (poller->tick)
		event_free(poller->tick);
	free(poller);
}

const struct growing *sidecar_poller_growing(const struct sidecar_poller *poller, const char *key, bool *ret_heard)
{
	const struct polled *p = strmap_get(&poller->pods, key);

	*ret_heard = !p || !p->url || p->answered || p->fails >= UNREACHABLE;
	return p && p->growing && p->growing->n ? p->growing : NULL;
}

/* --- Which, and when ------------------------------------------------------------------------------------ */

static void forget(struct sidecar_poller *poller, const char *key)
{
	polled_free(strmap_remove(&poller->pods, key));
}

static struct polled *polled_new(struct sidecar_poller *poller, const char *key, const cJSON *pod)
{
	const char *uid = json_str(pod, "metadata.uid");
	char cluster[512];
	struct polled *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->poller = poller;
	p->key = key_with_uid(key, uid);
	p->uid = p->key ? p->key + strlen(key) + 1 : NULL;
	p->allowance = BURST;
	p->refilled_ns = now_boottime_ns();
	p->jitter = (uint8_t)random_between(&poller->seed, 0, 256);
	/* Not all at once when an operator starts, but soon. */
	p->first_ns = p->refilled_ns + random_between(&poller->seed, 0, MAX(FIRST_NS, (int64_t)poller->pods.n * FIRST_PER_POD_NS));
	p->cluster = cluster_key(pod, cluster, sizeof(cluster)) ? restless_clusters_join(&poller->clusters, cluster) : NULL;
	if (!p->key || strmap_put(&poller->pods, key, p, NULL) < 0) {
		polled_free(p);
		return NULL;
	}
	return p;
}

void sidecar_poller_see(struct sidecar_poller *poller, const cJSON *pod, bool gone)
{
	_cleanup_free_ char *key = object_key(pod);
	const char *uid = json_str(pod, "metadata.uid");
	struct polled *p = key ? strmap_get(&poller->pods, key) : NULL;
	char url[POD_REPORT_URL_MAX];
	uint64_t occasion = pod_report_occasion(pod);

	if (!key || !uid)
		return;
	if (p && (gone || strcmp(p->uid, uid) != 0)) {
		forget(poller, key);
		p = NULL;
	}
	if (gone)
		return;
	if (!pod_report_url(pod, url)) {
		/* It may be back, and its answer is then the same. */
		if (p)
			set_text(&p->url, NULL);
		return;
	}
	if (!p)
		p = polled_new(poller, key, pod);
	if (!p)
		return;
	set_text(&p->url, url);
	if (p->occasion != occasion) {
		p->at_once = true;
		p->again = p->call;
		/* One that is deleted, as Ray's autoscaler does all day, says nothing of the others. */
		stir(p, !json_str(pod, "metadata.deletionTimestamp"));
	}
	p->occasion = occasion;
}

static bool is_due(const struct polled *p, int64_t now_ns)
{
	const struct poll_pace *pace = &p->poller->pace;

	if (p->at_once)
		return true;
	if (!p->asked_ns)
		return now_ns >= p->first_ns;
	return now_ns - p->asked_ns >= poll_pace_interval(pace, is_restless(p, now_ns), p->fails, p->jitter);
}

static void note_asked(struct polled *p)
{
	p->asked_ns = now_boottime_ns();
	p->jitter = (uint8_t)random_between(&p->poller->seed, 0, 256);
	p->at_once = false;
}

static void count_restless(struct sidecar_poller *poller, int64_t now_ns)
{
	struct strmap_pos pos = { 0 };
	void *value;

	poller->pace = (struct poll_pace){ 0 };
	while (strmap_next(&poller->pods, &pos, NULL, &value)) {
		const struct polled *p = value;

		if (p->url && is_restless(p, now_ns))
			poller->pace.n_restless++;
		else if (p->url)
			poller->pace.n_resting++;
	}
}

/* --- Answers -------------------------------------------------------------------------------------------- */

/* Takes event. */
static void tell(struct sidecar_poller *poller, cJSON *event)
{
	log_info("pod %s/%s: event %s: %s", json_str(event, "metadata.namespace"), json_str(event, "regarding.name"),
		 json_str(event, "reason"), json_str(event, "note"));
	event_recorder_emit(poller->o.recorder, event, EVENT_COUNTED);
}

static bool was_told(const struct polled *p, const struct pod_hold *hold)
{
	for (size_t i = 0; p->told && i < POD_REPORT_HOLDS_MAX; i++)
		if (p->told[i].until_ns == hold->until_ns && strcmp(p->told[i].container, hold->container) == 0)
			return true;
	return false;
}

static void take_holds(struct polled *p, const cJSON *pod, const struct pod_report *report)
{
	if (report->n_holds && !p->told)
		p->told = calloc(POD_REPORT_HOLDS_MAX, sizeof(*p->told));
	for (size_t i = 0; p->told && i < report->n_holds; i++)
		if (!was_told(p, &report->holds[i])) {
			/* The oldest makes room; the Event's name keeps it from being said twice all the same. */
			memmove(p->told + 1, p->told, (POD_REPORT_HOLDS_MAX - 1) * sizeof(*p->told));
			p->told[0] = report->holds[i];
			tell(p->poller, pod_hold_event(pod, &report->holds[i], now_realtime_ns()));
		}
}

static bool spend(struct polled *p)
{
	int64_t now = now_boottime_ns(), refills = (now - p->refilled_ns) / REFILL_NS;

	p->allowance = (unsigned)MIN((int64_t)p->allowance + refills, (int64_t)BURST);
	p->refilled_ns += refills * REFILL_NS;
	if (!p->allowance)
		return false;
	p->allowance--;
	return true;
}

/* The copy has only the metadata: the container stands in the name, the time in an annotation. */
static bool told_by(const cJSON *failure, const char *pod, const char *container, struct told_end *ret_end)
{
	const char *name = json_str(failure, "metadata.name");
	const char *ended = cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(json_get(failure, "metadata.annotations"), FAILURE_ENDED_ANNOTATION));
	char prefix[300];
	int len = snprintf(prefix, sizeof(prefix), "%.160s-%.63s-", pod, container);

	/* Behind it is the hash alone: a container's name may begin like another's. */
	if (!name || strncmp(name, prefix, (size_t)len) != 0 || strchr(name + len, '-') || story_container_lives(failure) ||
	    !told_end_time(ended, &ret_end->at_ns))
		return false;
	snprintf(ret_end->container, sizeof(ret_end->container), "%s", container);
	return true;
}

static size_t told_ends(const struct sidecar_poller *poller, const cJSON *pod, struct told_end ret_told[static TOLD_MAX])
{
	const struct store *store = informer_store(poller->o.failures);
	const struct store_entry *entry = NULL;
	const char *name = json_str(pod, "metadata.name");
	char group[512];
	size_t n = failure_writer_ends(poller->o.writer, pod, ret_told, TOLD_MAX);

	if (!name || !group_key(pod, group, sizeof(group)))
		return n;
	while (n < TOLD_MAX && (entry = store_index_next(store, group, entry))) {
		const cJSON *failure = store_entry_object(store, entry), *status;

		cJSON_ArrayForEach(status, json_get(pod, "status.containerStatuses"))
			if (n < TOLD_MAX && json_str(status, "name"))
				n += told_by(failure, name, json_str(status, "name"), &ret_told[n]);
	}
	return n;
}

/* Several ends while no operator looked: the pod's status tells the last. */
static void find_missed(const struct sidecar_poller *poller, const cJSON *pod, struct pod_report *report)
{
	_cleanup_free_ struct told_end *told = pod_ends_any(&report->ends) ? calloc(TOLD_MAX, sizeof(*told)) : NULL;

	if (told)
		pod_ends_missed(&report->ends, pod, told, told_ends(poller, pod, told), report->failures);
}

/* Whether all of them were taken that are any: those that were too many may be taken later. */
static bool take_failures(struct polled *p, struct pod_report *report)
{
	struct sidecar_poller *poller = p->poller;
	unsigned lost = report->refused;
	bool later = false;
	cJSON *failure;

	while ((failure = cJSON_DetachItemFromArray(report->failures, 0))) {
		if (failure_writer_knows(poller->o.writer, failure)) {
			cJSON_Delete(failure);
		} else if (spend(p)) {
			later = !failure_writer_add(poller->o.writer, failure) || later;
			stir(p, true);
		} else {
			cJSON_Delete(failure);
			lost++;
		}
	}
	if (lost) {
		metrics_add(poller->o.metrics, METRIC_POLL_FAILURES_LOST, lost, "%s", "");
		log_warning_limited("pod %s: its sidecar tells of %u failures that are none, or too many", p->key, lost);
	}
	return lost == report->refused && !later;
}

/* The first answer may be that nothing grows, where the operator before us saw something grow. */
static void take_growths(struct polled *p, const cJSON *pod, const struct pod_report *report)
{
	bool first = !p->answered, changed;

	growth_events_emit(p->poller->o.recorder, &p->poller->told, p->poller->o.clusters, pod, report->growths, report->n_growths);
	p->answered = true;
	if (report->n_growths && !p->growing)
		p->growing = calloc(1, sizeof(*p->growing));
	changed = p->growing && growing_take(p->growing, pod, report->growths, report->n_growths, now_realtime_ns());
	if (!report->n_growths)
		free(TAKE_PTR(p->growing));
	if (changed || first)
		p->poller->o.on_growing(p->poller->o.arg, pod);
}

/* Whether it is time to tell of that, of one pod for its whole cluster. */
static bool may_tell(struct sidecar_poller *poller, const cJSON *pod, const char *what)
{
	char cluster[512], key[600];

	if (!pod || !cluster_key(pod, cluster, sizeof(cluster)))
		return false;
	snprintf(key, sizeof(key), "%s %s", what, cluster);
	return event_filter_is_time(&poller->told, key, now_boottime_ns(), TELL_NS);
}

static int take_answer(struct polled *p, const struct http_response *response, struct err *err)
{
	const cJSON *pod = store_get(informer_store(p->poller->o.pods), p->key);
	struct pod_report report;
	int r;

	if (!pod)
		return err_set(err, ESTALE, "the pod is gone");
	r = pod_report_parse(pod, response->body, response->len, now_realtime_ns(), &report, err);
	if (r < 0)
		return r;
	take_holds(p, pod, &report);
	if (report.store_trouble[0] && may_tell(p->poller, pod, "StoreTrouble"))
		tell(p->poller, pod_store_event(pod, report.store_trouble, now_realtime_ns()));
	take_growths(p, pod, &report);
	find_missed(p->poller, pod, &report);
	set_text(&p->tag, take_failures(p, &report) && !report.ends.undecided ? report.tag : NULL);
	pod_report_release(&report);
	return 0;
}

/* Nobody says any more whether it still grows. */
static void forget_growths(struct polled *p)
{
	const cJSON *pod = store_get(informer_store(p->poller->o.pods), p->key);

	if (!p->growing)
		return;
	free(TAKE_PTR(p->growing));
	if (pod)
		p->poller->o.on_growing(p->poller->o.arg, pod);
}

static void tell_unreachable(struct polled *p, const struct err *err)
{
	struct sidecar_poller *poller = p->poller;
	const cJSON *pod = store_get(informer_store(poller->o.pods), p->key);
	char note[900];

	if (!may_tell(poller, pod, "SidecarUnreachable"))
		return;
	snprintf(note, sizeof(note),
		 "The operator does not reach the sidecar of this pod at %s (a NetworkPolicy?): processes that die while "
		 "their container lives get no RayFailure, and a hold no Event. The ends of containers are recorded. %.300s",
		 p->url ? p->url : "", err_text(err));
	tell(poller, event_of_pod(pod, "Warning", "SidecarUnreachable", "Poll", note, now_realtime_ns()));
}

static void on_answer(void *arg, const struct http_response *response)
{
	struct polled *p = arg;
	struct sidecar_poller *poller = p->poller;
	struct err err = response->err;
	const char *result = "changed";
	int r = 0;

	p->call = NULL;
	poller->in_flight--;
	if (response->err.code || (response->status != 200 && response->status != 304)) {
		if (!err.code)
			err_set(&err, EPROTO, "status %d", response->status);
		result = response->status ? "refused" : "unreachable";
		r = -EIO;
	} else if (response->status == 304) {
		result = "unchanged";
	} else if (poller->o.may_write(poller->o.arg)) {
		r = take_answer(p, response, &err);
		result = r < 0 ? "refused" : result;
	}
	metrics_add(poller->o.metrics, METRIC_POLLS, 1, "result=\"%s\"", result);
	p->fails = r < 0 ? p->fails + 1 : 0;
	if (p->fails == UNREACHABLE) {
		tell_unreachable(p, &err);
		forget_growths(p);
	}
	if (r == 0 && response->max_age_ns > 0 && response->max_age_ns <= POLL_RESTLESS_AGE_NS)
		stir(p, false);
	note_asked(p);
	p->at_once = p->again;
}

/* --- Questions ------------------------------------------------------------------------------------------ */

static void ask(struct polled *p)
{
	char if_none_match[POD_REPORT_TAG_MAX + 24];
	const char *headers[] = { "Accept: application/json", p->tag ? if_none_match : NULL, NULL };
	const struct http_request request = {
		.method = "GET",
		.url = p->url,
		.headers = headers,
		.direct = true,
		.deadline_ns = DEADLINE_NS,
		.answer_max = POD_REPORT_MAX,
	};

	snprintf(if_none_match, sizeof(if_none_match), "If-None-Match: \"%s\"", p->tag ? p->tag : "");
	if (http_start(p->poller->http, &request, NULL, on_answer, p, &p->call, NULL) < 0) {
		note_asked(p);
		return;
	}
	p->again = false;
	p->poller->in_flight++;
}

/* While we know which failures exist: else each answer would be written again to be refused. */
static bool may_ask(const struct sidecar_poller *poller)
{
	return poller->o.may_write(poller->o.arg) && informer_synced(poller->o.pods) && informer_synced(poller->o.failures);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct sidecar_poller *poller = arg;
	struct strmap_pos pos = { .bucket = poller->bucket };
	int64_t now = now_boottime_ns();
	bool wrapped = false;
	void *value;

	(void)fd;
	(void)what;
	if (!may_ask(poller))
		return;
	count_restless(poller, now);
	while (poller->in_flight < IN_FLIGHT_MAX) {
		if (strmap_next(&poller->pods, &pos, NULL, &value)) {
			struct polled *p = value;

			if (p->url && !p->call && is_due(p, now))
				ask(p);
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
	struct strmap_pos pos = { 0 };
	size_t n[2] = { 0 };
	void *value;

	while (strmap_next(&poller->pods, &pos, NULL, &value)) {
		const struct polled *p = value;

		if (p->url)
			n[p->fails >= UNREACHABLE]++;
	}
	metrics_set(poller->o.metrics, METRIC_SIDECARS, (double)n[0], "answers=\"true\"");
	metrics_set(poller->o.metrics, METRIC_SIDECARS, (double)n[1], "answers=\"false\"");
}
