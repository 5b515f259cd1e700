/* SPDX-License-Identifier: Apache-2.0 */
/* Finds ends of containers that only the kubelet's restart count shows. */
#include "operator/failures/unseen_end.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/sidecar_names.h"
#include "lib/units.h"
#include "operator/failures/death.h"
#include "operator/kube/object.h"

/* A sidecar that was restarted waits 15 s for launchers before it reports that containers ended. */
#define SETTLED_NS (60 * NS_PER_SEC)
/* In a pod younger than this no RayFailure was removed for its age. */
#define YOUNG_POD_NS (3600 * NS_PER_SEC)

/* The ends of a container of which there is no record. */
struct unseen {
	int64_t n; /* 0: there are none */
	/* The time of the last recorded end before them; "": there is none. */
	char after[TIME_TEXT_MAX];
};

static bool failed(const cJSON *status)
{
	return json_int(status, "lastState.terminated.exitCode", 0) != 0 ||
	       json_int(status, "state.terminated.exitCode", 0) != 0;
}

/* Returns whether to look at the container. The sidecar's own is not of interest. */
static bool is_judged(const cJSON *status)
{
	const char *name = json_str(status, "name");

	return name && strlen(name) < POD_ENDS_CONTAINER_MAX &&
	       strcmp(name, SIDECAR_CONTAINER) != 0 && shown_earlier(status) > 0 &&
	       shown_oldest_start(status) > 0 && failed(status);
}

bool unseen_ends_possible(const cJSON *pod)
{
	if (!object_label(pod, "ray.io/cluster"))
		return false;
	json_each(status, json_get(pod, "status.containerStatuses"))
		if (is_judged(status))
			return true;
	return false;
}

/* --- How many --------------------------------------------------------------------------------- */

/*
 * Returns the last known end, by number, before the oldest instance in the status; NULL if there is
 * none.
 */
static const struct known_end *last_numbered(const cJSON *status, const struct known_end *known,
					     size_t n_known)
{
	const char *container = json_str(status, "name");
	const struct known_end *last = NULL;

	for (size_t i = 0; i < n_known; i++)
		if (strcmp(known[i].container, container) == 0 && known[i].number > 0 &&
		    known[i].number <= shown_earlier(status) &&
		    (!last || known[i].number > last->number))
			last = &known[i];
	return last;
}

static bool is_young(const cJSON *pod, int64_t now_ns)
{
	int64_t ns;

	return json_time(pod, "metadata.creationTimestamp", &ns) && now_ns - ns < YOUNG_POD_NS;
}

static void restarts_count(const cJSON *pod, const cJSON *status, const struct known_end *known,
			   size_t n_known, int64_t now_ns, struct unseen *ret_unseen)
{
	const struct known_end *last = last_numbered(status, known, n_known);
	int64_t until_ns = shown_oldest_start(status) + NS_PER_SEC / 2;
	int64_t n = shown_earlier(status) - (last ? last->number : 0);

	*ret_unseen = (struct unseen){ 0 };
	if (!last && !is_young(pod, now_ns))
		return;
	if (last)
		time_format(last->at_ns - last->at_ns % NS_PER_SEC, ret_unseen->after);
	for (size_t i = 0; i < n_known; i++)
		if (strcmp(known[i].container, json_str(status, "name")) == 0 &&
		    known[i].number == 0 && known[i].at_ns <= until_ns &&
		    (!last || known[i].at_ns > last->at_ns))
			n--;
	ret_unseen->n = MAX(n, (int64_t)0);
}

/* --- The RayFailure --------------------------------------------------------------------------- */

static void set_verdict(const cJSON *status, const struct unseen *u, struct ray_failure *f)
{
	const char *between = *u->after ? "between " : "before ", *and = *u->after ? " and " : "";
	char text[512], times[32] = "once";

	if (u->n > 1)
		snprintf(times, sizeof(times), "%" PRId64 " times", u->n);
	snprintf(text, sizeof(text),
		 "%s ended %s %s%s%s%.40s, and only the kubelet's restart count shows it",
		 json_str(status, "name"), times, between, u->after, and,
		 shown_oldest_text(status));
	ray_failure_set(&f->verdict, text);
	snprintf(text, sizeof(text),
		 "restart count %" PRId64 "; of %" PRId64 " of the ends there is no record",
		 json_int(status, "restartCount", 0), u->n);
	ray_failure_add_evidence(f, "kubelet", text);
	ray_failure_add_missing(
		f,
		"the exit codes, which may have been 0: the pod's status had forgotten these ends when an "
		"operator looked, and no sidecar reports them",
		"the logs of the node's kubelet and container runtime");
}

static void fill(const struct death *d, const cJSON *status, const struct unseen *u,
		 struct ray_failure *f)
{
	char seed[512];

	f->restart = shown_earlier(status) - 1;
	f->more_ends = u->n - 1;
	death_set_whose(d, f);
	death_set_ended_at(d, shown_oldest_text(status), f);
	set_verdict(status, u, f);
	snprintf(seed, sizeof(seed), "%.64s/%.63s/unseen/%" PRId64,
		 json_str_or(d->pod, "metadata.uid", ""), d->container, f->restart);
	death_set_name(d, seed, f);
	death_set_story(d, f);
	ray_failure_sign(f);
}

static void add(const cJSON *pod, const cJSON *status, const struct unseen *u,
		struct ray_failures *failures)
{
	const struct death d = { .pod = pod, .container = json_str(status, "name") };
	struct ray_failure *failure = ray_failure_new();

	if (failure)
		fill(&d, status, u, failure);
	ray_failures_add(failures, failure);
}

/* --- When ------------------------------------------------------------------------------------- */

/*
 * Returns whether a failure that the sidecar has not reported by now will not be reported any
 * more. In a pod without a sidecar nothing reports it.
 */
static bool is_settled(const cJSON *pod, const cJSON *status, int64_t now_ns)
{
	const cJSON *sidecar = shown_status(pod, SIDECAR_CONTAINER);
	int64_t sidecar_ns;

	if (now_ns - shown_oldest_start(status) < SETTLED_NS)
		return false;
	return !sidecar ||
	       (end_time_parse(json_str(sidecar, "state.running.startedAt"), &sidecar_ns) &&
		now_ns - sidecar_ns >= SETTLED_NS);
}

bool unseen_ends_find(const cJSON *pod, const struct known_end *known, size_t n_known,
		      int64_t now_ns, struct ray_failures *failures)
{
	bool settled = true;
	struct unseen unseen;

	json_each(status, json_get(pod, "status.containerStatuses")) {
		if (!is_judged(status))
			continue;
		restarts_count(pod, status, known, n_known, now_ns, &unseen);
		if (unseen.n && is_settled(pod, status, now_ns))
			add(pod, status, &unseen, failures);
		else if (unseen.n)
			settled = false;
	}
	return settled;
}
