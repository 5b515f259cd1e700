/* SPDX-License-Identifier: Apache-2.0 */
/* Processes the answer of a pod's sidecar. */
#include "operator/failure_controller/sidecar_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/units.h"
#include "operator/cache/watches.h"
#include "operator/failure_controller/growth_events.h"
#include "operator/failures/failures.h"
#include "operator/failures/story.h"
#include "operator/failures/unseen_end.h"
#include "operator/kube/event.h"
#include "operator/kube/object.h"
#include "operator/policy/retention.h"

/* The shortest time between two Events for one cluster. */
#define TELL_NS (3600 * NS_PER_SEC)
/* The most RayFailures of one pod that are compared. */
#define KNOWN_ENDS_MAX 256
#define COUNT_DIGITS_MAX 9
/*
 * Missed ends are searched for among the RayFailures of a group. The next search comes after this
 * many times the duration of the last, because a new leader has many pods to look at, and the next
 * of the same namespace later, because a tenant can make every answer need a long search.
 */
#define LOOK_PAUSE 10
#define LOOK_PAUSE_NAMESPACE 50

void sidecar_memory_release(struct sidecar_memory *m)
{
	if (m->news)
		free(m->news->growing);
	free(m->news);
	*m = (struct sidecar_memory){ 0 };
}

const struct growing *sidecar_memory_growing(const struct sidecar_memory *m)
{
	return m->news && m->news->growing && m->news->growing->n ? m->news->growing : NULL;
}

/* Returns NULL if there is no memory. */
static struct sidecar_news *news_of(struct sidecar_memory *m)
{
	if (!m->news && (m->news = calloc(1, sizeof(*m->news))))
		m->news->failures =
			(struct budget){ POD_FAILURES_SPACING_NS, POD_FAILURES_BURST, 0 };
	return m->news;
}

/* --- Events ----------------------------------------------------------------------------------- */

/* Takes event. */
static void tell(const struct answer_sinks *sinks, cJSON *event)
{
	log_info("pod %s/%s: event %s: %s", json_str(event, "metadata.namespace"),
		 json_str(event, "regarding.name"), json_str(event, "reason"),
		 json_str(event, "note"));
	event_recorder_emit(sinks->recorder, event, EVENT_COUNTED);
}

static bool is_emitted(const struct sidecar_news *news, const struct pod_hold *hold)
{
	for (size_t i = 0; i < POD_REPORT_HOLDS_MAX; i++)
		if (news->emitted[i].until_ns == hold->until_ns &&
		    strcmp(news->emitted[i].container, hold->container) == 0)
			return true;
	return false;
}

static void take_holds(const struct answer_sinks *sinks, struct sidecar_memory *m, const cJSON *pod,
		       const struct pod_report *report)
{
	struct sidecar_news *news = report->n_holds ? news_of(m) : NULL;

	for (size_t i = 0; news && i < report->n_holds; i++)
		if (!is_emitted(news, &report->holds[i])) {
			/*
			 * The oldest hold is dropped. If it is reported again, the Event's name
			 * prevents a second Event.
			 */
			memmove(news->emitted + 1, news->emitted,
				(POD_REPORT_HOLDS_MAX - 1) * sizeof(*news->emitted));
			news->emitted[0] = report->holds[i];
			tell(sinks, pod_hold_event(pod, &report->holds[i], now_realtime_ns()));
		}
}

/* Returns whether the Event is due. One pod emits it for its whole cluster. */
static bool may_tell(struct answer_sinks *sinks, const cJSON *pod, const char *what)
{
	char cluster[512], key[600];

	if (!pod || !cluster_key(pod, cluster, sizeof(cluster)))
		return false;
	snprintf(key, sizeof(key), "%s %s", cluster, what);
	return event_filter_is_time(&sinks->emitted, key, now_boottime_ns(), TELL_NS);
}

/* --- Failures --------------------------------------------------------------------------------- */

/*
 * Returns how many further ends the failure stands for; 0 if there are none, or the number is
 * malformed.
 */
static int64_t more_ends_of(const cJSON *failure)
{
	const char *text = object_annotation(failure, FAILURE_MORE_ENDS_ANNOTATION);
	size_t len = text ? strlen(text) : 0;

	if (len > COUNT_DIGITS_MAX || (text && strspn(text, "0123456789") != len))
		return 0;
	return text ? strtoll(text, NULL, 10) : 0;
}

/*
 * Returns whether the failure is an end in this pod. Our copy has only metadata: the container is a
 * part of the name, the rest is in annotations. An older operator wrote no story.
 */
static bool is_end_in(const struct story *story, const cJSON *pod)
{
	const char *uid = json_str(pod, "metadata.uid");

	return !story || (!story->death.lives &&
			  (!uid || !*story->death.uid || strcmp(story->death.uid, uid) == 0));
}

static bool read_known_end(const cJSON *failure, const cJSON *pod, const char *container,
			   struct known_end *ret_end)
{
	const char *name = json_str(failure, "metadata.name");
	char prefix[300];
	int len = snprintf(prefix, sizeof(prefix), "%.160s-%.63s-", json_str(pod, "metadata.name"),
			   container);

	/*
	 * Only the hash may follow, because the name of another container may begin in the same
	 * way.
	 */
	if (!name || strncmp(name, prefix, (size_t)len) != 0 || strchr(name + len, '-') ||
	    !end_time_parse(object_annotation(failure, FAILURE_ENDED_ANNOTATION), &ret_end->at_ns))
		return false;
	struct story *story = story_read(failure);
	bool is_known = is_end_in(story, pod);

	snprintf(ret_end->container, sizeof(ret_end->container), "%s", container);
	ret_end->number = story ? story->death.restart + 1 : 0;
	ret_end->more = more_ends_of(failure);
	story_free(story);
	return is_known;
}

static size_t known_ends(const struct answer_sinks *sinks, const cJSON *pod,
			 struct known_end ret_known[static KNOWN_ENDS_MAX])
{
	const struct store *store = informer_store(sinks->failures);
	const struct store_entry *entry = NULL;
	char group[512];
	size_t n = failure_writer_ends(sinks->writer, pod, ret_known, KNOWN_ENDS_MAX);

	if (!json_str(pod, "metadata.name") || !group_key(pod, group, sizeof(group)))
		return n;
	while (n < KNOWN_ENDS_MAX && (entry = store_index_next(store, group, entry))) {
		const cJSON *failure = store_entry_peek(store, entry);

		json_each(status, json_get(pod, "status.containerStatuses"))
			if (n < KNOWN_ENDS_MAX && json_str(status, "name"))
				n += read_known_end(failure, pod, json_str(status, "name"),
						    &ret_known[n]);
	}
	return n;
}

/*
 * Finds ends that only the restart count shows: they happened while no operator was running. They
 * are searched for once, when all failures that the sidecar reports have a RayFailure. Returns
 * whether the search is over.
 */
static bool find_unseen(const cJSON *pod, const struct known_end *known, size_t n_known,
			struct pod_report *report)
{
	return known && n_known < KNOWN_ENDS_MAX && !report->ends.undecided &&
	       unseen_ends_find(pod, known, n_known, now_realtime_ns(), &report->failures);
}

static bool look_is_due(const struct answer_sinks *sinks, const cJSON *pod, int64_t now_ns)
{
	return now_ns >= sinks->look_at_ns &&
	       !event_filter_lately(&sinks->looks, json_str_or(pod, "metadata.namespace", ""),
				    now_ns);
}

/* Makes the next looks wait, because this one began at that time. */
static void look_pause(struct answer_sinks *sinks, const cJSON *pod, int64_t began_ns)
{
	int64_t now_ns = now_boottime_ns(), took_ns = now_ns - began_ns;

	sinks->look_at_ns = now_ns + LOOK_PAUSE * took_ns;
	event_filter_is_time(&sinks->looks, json_str_or(pod, "metadata.namespace", ""), now_ns,
			     LOOK_PAUSE_NAMESPACE * took_ns);
}

/*
 * Finds ends that were missed. Several containers may have ended while no operator was running, and
 * the pod's status shows only the last end. If it is too early for a look, the sidecar has to
 * report the ends again.
 */
static void find_missed(struct answer_sinks *sinks, struct sidecar_memory *m, const cJSON *pod,
			struct pod_report *report)
{
	int64_t began_ns = now_boottime_ns();
	bool any = pod_ends_any(&report->ends);
	bool unseen = !m->unseen_settled && unseen_ends_possible(pod);
	bool look = (any || unseen) && look_is_due(sinks, pod, began_ns);
	_cleanup_free_ struct known_end *known =
		look ? calloc(KNOWN_ENDS_MAX, sizeof(*known)) : NULL;
	size_t n_known = known ? known_ends(sinks, pod, known) : 0, before = report->failures.n;

	if (known && any)
		pod_ends_missed(&report->ends, pod, known, n_known, &report->failures);
	m->unseen_settled = !unseen || (report->failures.n == before &&
					find_unseen(pod, known, n_known, report));
	if (!m->unseen_settled || (any && !known))
		report->ends.undecided = true;
	if (look)
		look_pause(sinks, pod, began_ns);
}

/* Offers a new failure to the writer. Returns false if it has to come again. Takes failure. */
static bool take_failure(const struct answer_sinks *sinks, struct ray_failure *failure,
			 struct answer_result *result)
{
	result->failed = true;
	return failure_writer_add(sinks->writer, failure);
}

/*
 * Returns whether all failures were taken that are valid. Those that were too many may be taken
 * later: the sidecar reports its own again, and ends that only the restart count shows are searched
 * for again.
 */
static bool take_failures(const struct answer_sinks *sinks, struct sidecar_memory *m,
			  const char *key, struct pod_report *report, struct answer_result *result)
{
	unsigned lost = report->refused;
	bool later = false;

	for (size_t i = 0; i < report->failures.n; i++) {
		struct ray_failure *failure = TAKE_PTR(report->failures.list[i]);

		if (failure_writer_knows(sinks->writer, failure)) {
			ray_failure_free(failure);
		} else if (news_of(m) && budget_take(&m->news->failures, now_boottime_ns())) {
			later = !take_failure(sinks, failure, result) || later;
		} else {
			ray_failure_free(failure);
			lost++;
		}
	}
	if (lost) {
		metrics_add(sinks->metrics, METRIC_POLL_FAILURES_LOST, lost, "%s", "");
		log_warning_limited(
			"pod %s: ignored %u failures from its sidecar (malformed, or over "
			"the rate limit)",
			key, lost);
	}
	bool all = lost == report->refused && !later;
	m->unseen_settled = m->unseen_settled && all;
	return all;
}

/* --- Growing memory --------------------------------------------------------------------------- */

/*
 * Takes warnings about growing memory. The first answer may say that nothing grows although the
 * previous operator saw something grow.
 */
static void take_growths(struct answer_sinks *sinks, struct sidecar_memory *m, const cJSON *pod,
			 const struct pod_report *report)
{
	struct sidecar_news *news = report->n_growths ? news_of(m) : m->news;
	bool first = !m->answered, changed = false;

	growth_events_emit(sinks->recorder, &sinks->emitted, sinks->clusters, pod, report->growths,
			   report->n_growths);
	m->answered = true;
	if (news && report->n_growths && !news->growing)
		news->growing = calloc(1, sizeof(*news->growing));
	if (news && news->growing)
		changed = growing_take(news->growing, pod, report->growths, report->n_growths,
				       now_realtime_ns());
	if (news && !report->n_growths)
		free(TAKE_PTR(news->growing));
	if (changed || first)
		sinks->on_growing(sinks->arg, pod);
}

/* --- An answer, or none ----------------------------------------------------------------------- */

int sidecar_answer_take(struct answer_sinks *sinks, struct sidecar_memory *m, const char *key,
			const cJSON *pod, const char *text, size_t len,
			struct answer_result *ret_result, struct err *err)
{
	struct answer_result result = { 0 };
	struct pod_report report;
	int r = pod_report_parse(pod, text, len, now_realtime_ns(), &report, err);

	if (r < 0)
		return r;
	take_holds(sinks, m, pod, &report);
	if (report.store_trouble[0] && may_tell(sinks, pod, "StoreTrouble"))
		tell(sinks, pod_store_event(pod, report.store_trouble, now_realtime_ns()));
	if (report.driver_waits[0] && may_tell(sinks, pod, "DriverWaits"))
		tell(sinks, event_of_pod(pod, "Warning", "DriverWaits", "Watch",
					 report.driver_waits, now_realtime_ns()));
	take_growths(sinks, m, pod, &report);
	infeasible_events_emit(sinks->recorder, &sinks->emitted, sinks->clusters, pod,
			       report.infeasible);
	find_missed(sinks, m, pod, &report);
	if (take_failures(sinks, m, key, &report, &result) && !report.ends.undecided)
		memcpy(result.tag, report.tag, sizeof(result.tag));
	failure_writer_hear(sinks->writer, pod, &report.unmet);
	pod_report_release(&report);
	*ret_result = result;
	return 0;
}

bool sidecar_answer_none(struct answer_sinks *sinks, struct sidecar_memory *m, const char *key,
			 const cJSON *pod)
{
	struct answer_result result = { 0 };
	struct pod_report report = { 0 };

	if (m->unseen_settled)
		return false;
	find_missed(sinks, m, pod, &report);
	take_failures(sinks, m, key, &report, &result);
	pod_report_release(&report);
	return !m->unseen_settled;
}

static void tell_unreachable(struct answer_sinks *sinks, const cJSON *pod, const struct err *why)
{
	char note[900], url[POD_REPORT_URL_MAX];

	if (!may_tell(sinks, pod, "SidecarUnreachable"))
		return;
	snprintf(
		note, sizeof(note),
		"The operator cannot reach the sidecar of this pod at %s; a NetworkPolicy may forbid it. Processes that die while "
		"their container lives get no RayFailure, and a hold gets no Event. The ends of containers are recorded. %.300s",
		pod_report_url(pod, url) ? url : "", err_text(why));
	tell(sinks,
	     event_of_pod(pod, "Warning", "SidecarUnreachable", "Poll", note, now_realtime_ns()));
}

void sidecar_answer_lost(struct answer_sinks *sinks, struct sidecar_memory *m, const cJSON *pod,
			 const struct err *why)
{
	tell_unreachable(sinks, pod, why);

	/* What grew is forgotten, because nobody reports it any more. */
	if (!m->news || !m->news->growing)
		return;
	free(TAKE_PTR(m->news->growing));
	if (pod)
		sinks->on_growing(sinks->arg, pod);
}
