/* SPDX-License-Identifier: Apache-2.0 */
/* Finds ends of containers that the pod's status no longer shows. */
#include "operator/failures/earlier_end.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/sidecar_names.h"
#include "lib/units.h"
#include "operator/failures/death.h"
#include "operator/failures/termination.h"
#include "operator/injection/report_key.h"

/*
 * The difference between the sidecar's time of an end and the kubelet's: the launcher may linger
 * for two seconds.
 */
#define SAME_NS (10 * NS_PER_SEC)
/* A status may be late by this much. */
#define YOUNG_NS (15 * NS_PER_SEC)

/*
 * --- The journal
 * ------------------------------------------------------------------------------------------
 */

bool pod_end_is_word(const char *text, size_t max)
{
	size_t len =
		text ? strspn(text,
			      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.:_+") :
		       0;

	return len > 0 && len <= max && text[len] == '\0';
}

/* Makes a report of an entry, which has the members of a report except those of a snapshot. */
static cJSON *report_of(const cJSON *entry)
{
	_cleanup_json_ cJSON *copy = cJSON_Duplicate(entry, true);
	cJSON *report = NULL;

	json_set(copy, "final", cJSON_CreateTrue());
	return termination_take(copy, &report, NULL) == 0 ? report : NULL;
}

static void fill(const struct death *d, const char *id, struct ray_failure *f)
{
	const char *uid = json_str_or(d->pod, "metadata.uid", ""),
		   *confidence = json_str(d->report, "confidence");
	char seed[512];

	death_set_whose(d, f);
	death_set_ended_at(d, json_str(d->report, "endedAt"), f);
	if (json_get(d->report, "exitCode"))
		f->exit_code = json_int(d->report, "exitCode", 0);
	/* Before the ends that the status shows there was one: its number is known. */
	if (shown_earlier(shown_status(d->pod, d->container)) == 1)
		f->restart = 0;
	f->class = (enum failure_class)failure_class_from_name(json_str(d->report, "class"));
	if (confidence)
		f->confidence = (enum confidence)confidence_from_name(confidence);
	ray_failure_set(&f->verdict, json_str(d->report, "sentence"));
	ray_failure_set(&f->signal, json_str(d->report, "signal"));
	death_set_bundle(d, f);
	ray_failure_add_missing(
		f,
		"memory and processes: the pod's status had forgotten this end when an operator looked again",
		"the bundle, where it is");
	death_set_doubt(d, f);
	snprintf(seed, sizeof(seed), "%.64s/%.63s/end/%.200s", uid, d->container, id);
	death_set_name(d, seed, f);
	death_set_story(d, f);
	ray_failure_sign(f);
}

static struct ray_failure *failure_of(const cJSON *pod, const char *container, const char *id,
				      cJSON *report)
{
	struct death d = { .pod = pod,
			   .container = container,
			   .report = report,
			   .is_signed = report_key_of(pod) };
	struct ray_failure *failure = ray_failure_new();

	death_doubt_unsigned(&d);
	if (failure)
		fill(&d, id, failure);
	return failure;
}

static bool is_failure(const cJSON *report)
{
	const char *class = json_str(report, "class");

	return class && json_str(report, "sentence") &&
	       strcmp(class, failure_class_name(FAILURE_COMPLETED)) != 0;
}

bool pod_ends_add(struct pod_ends *ends, const cJSON *pod, const cJSON *entry, int64_t now_ns)
{
	const char *id = json_str(entry, "id"), *container = json_str(entry, "container");
	struct pod_end *end = &ends->list[ends->n];
	_cleanup_json_ cJSON *report = NULL;
	int64_t at_ns, oldest;

	if (ends->n == POD_ENDS_MAX || !pod_end_is_word(id, POD_END_ID_MAX) || !container ||
	    strlen(container) >= sizeof(end->container) ||
	    strcmp(container, SIDECAR_CONTAINER) == 0 || !shown_status(pod, container))
		return false;
	report = report_of(entry);
	if (!is_failure(report) || !end_time_parse(json_str(report, "endedAt"), &at_ns))
		return false;
	*end = (struct pod_end){ .at_ns = at_ns };
	snprintf(end->container, sizeof(end->container), "%s", container);
	oldest = shown_oldest_start(shown_status(pod, container));
	/* Times of starts also have whole seconds, so half a second is allowed on either side. */
	if (oldest && at_ns <= oldest + NS_PER_SEC / 2 &&
	    shown_earlier(shown_status(pod, container)) > 0) {
		if (at_ns > now_ns - YOUNG_NS)
			ends->undecided = true;
		else
			end->failure = failure_of(pod, container, id, report);
	}
	ends->n++;
	return true;
}

bool pod_ends_any(const struct pod_ends *ends)
{
	for (size_t i = 0; i < ends->n; i++)
		if (ends->list[i].failure)
			return true;
	return false;
}

/* --- Ends that were missed ------------------------------------------------------------------- */

/* Marks the container's end in the journal that is nearest to the time as known. */
static void claim(struct pod_ends *ends, const char *container, int64_t at_ns)
{
	struct pod_end *nearest = NULL;

	for (size_t i = 0; i < ends->n; i++) {
		struct pod_end *end = &ends->list[i];
		int64_t distance = llabs(end->at_ns - at_ns);

		if (strcmp(end->container, container) == 0 && distance <= SAME_NS &&
		    (!nearest || distance < llabs(nearest->at_ns - at_ns)))
			nearest = end;
	}
	if (nearest)
		ray_failure_free(TAKE_PTR(nearest->failure));
}

static void claim_by_status(struct pod_ends *ends, const cJSON *pod)
{
	static const char *const places[] = { "lastState.terminated.finishedAt",
					      "state.terminated.finishedAt" };
	int64_t ns;

	json_each(status, json_get(pod, "status.containerStatuses"))
		for (size_t i = 0; i < ARRAY_SIZE(places); i++)
			if (json_str(status, "name") &&
			    end_time_parse(json_str(status, places[i]), &ns))
				claim(ends, json_str(status, "name"), ns);
}

/*
 * Returns whether the end is credible. The journal cannot have more ends than the kubelet counted.
 */
static bool is_credible(const struct pod_ends *ends, size_t i, const cJSON *pod,
			const struct known_end *known, size_t n_known)
{
	const char *container = ends->list[i].container;
	int64_t n = shown_earlier(shown_status(pod, container)),
		oldest = shown_oldest_start(shown_status(pod, container));

	for (size_t k = 0; k < n_known; k++)
		if (strcmp(known[k].container, container) == 0 && known[k].at_ns <= oldest)
			n -= 1 + known[k].more;
	for (size_t k = 0; k < i; k++)
		n -= ends->list[k].failure && strcmp(ends->list[k].container, container) == 0;
	return n > 0;
}

void pod_ends_missed(struct pod_ends *ends, const cJSON *pod, const struct known_end *known,
		     size_t n_known, struct ray_failures *failures)
{
	for (size_t i = 0; i < n_known; i++)
		claim(ends, known[i].container, known[i].at_ns);
	claim_by_status(ends, pod);
	for (size_t i = 0; i < ends->n; i++)
		if (ends->list[i].failure && !is_credible(ends, i, pod, known, n_known))
			ray_failure_free(TAKE_PTR(ends->list[i].failure));
	for (size_t i = 0; i < ends->n; i++)
		if (ends->list[i].failure)
			ray_failures_add(failures, TAKE_PTR(ends->list[i].failure));
}

void pod_ends_release(struct pod_ends *ends)
{
	for (size_t i = 0; i < ends->n; i++)
		ray_failure_free(TAKE_PTR(ends->list[i].failure));
}
