/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins failures into incidents, and writes them.
 *
 * Theory of operation. Each replica keeps the stories of all failures by cluster. A change makes
 * its cluster due two seconds later, so that one plan covers deaths that come together. Then the
 * leader makes a plan (failures/incident_plan.h) and carries it out, one request after the other.
 * For each failure that changes it writes the status first, then the label and annotations that
 * repeat the status. At last it emits the Events that are due.
 */
#include "operator/failure_controller/incident_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/loop/timer.h"
#include "lib/units.h"
#include "operator/cache/watches.h"
#include "operator/failures/incident_plan.h"
#include "operator/failures/lost_head.h"
#include "operator/kube/workqueue.h"

#define DEBOUNCE_NS (2 * NS_PER_SEC)
/*
 * At most this many clusters are worked on at a time, because pods and RayFailures come first. A
 * tenant with very many failures occupies one place.
 */
#define IN_FLIGHT_MAX 8
#define KEY_MAX 512
/*
 * How long to wait after a refusal. The role or the CRD may be of an older version without a
 * status, an administrator may have taken the right away, or the server may refuse a patch because
 * of a failure that a tenant wrote.
 */
#define REFUSED_NS (600 * NS_PER_SEC)

struct job;
struct incident_writer {
	struct incident_writer_options o;
	struct job *jobs[IN_FLIGHT_MAX]; /* NULL: the place is free */
	struct strmap clusters; /* "namespace/name" -> struct incident_cluster */
	struct workqueue queue; /* the keys of clusters */
	struct event *wake;
};

/* A plan that is carried out. */
struct job {
	struct incident_writer *incidents;
	size_t place; /* its index in jobs */
	char key[KEY_MAX], namespace[256];
	struct incident_plan plan;
	size_t change, telling; /* the indexes of the next ones */
};

static void incident_writer_cluster_free(void *value)
{
	struct incident_cluster *cluster = value;

	if (cluster)
		incident_cluster_release(cluster);
	free(cluster);
}

static void job_free(struct job *job)
{
	if (!job)
		return;
	job->incidents->jobs[job->place] = NULL;
	incident_plan_release(&job->plan);
	free(job);
}

static void incident_writer_run(evutil_socket_t fd, short what, void *arg);

int incident_writer_new(const struct incident_writer_options *options,
			struct incident_writer **ret_incidents, struct err *err)
{
	struct incident_writer *incidents = calloc(1, sizeof(*incidents));

	if (!incidents)
		return err_set(err, ENOMEM, "incidents");
	incidents->o = *options;
	workqueue_init(&incidents->queue);
	incidents->wake = evtimer_new(options->base, incident_writer_run, incidents);
	if (!incidents->wake) {
		incident_writer_free(incidents);
		return err_set(err, ENOMEM, "incidents");
	}
	*ret_incidents = incidents;
	return 0;
}

void incident_writer_free(struct incident_writer *incidents)
{
	if (!incidents)
		return;
	event_drop(incidents->wake);
	for (size_t i = 0; i < IN_FLIGHT_MAX; i++)
		job_free(incidents->jobs[i]);
	workqueue_release(&incidents->queue);
	strmap_release(&incidents->clusters, incident_writer_cluster_free);
	free(incidents);
}

void incident_writer_wake(struct incident_writer *incidents)
{
	event_active(incidents->wake, 0, 0);
}

size_t incident_writer_in_flight(const struct incident_writer *incidents)
{
	return incidents->queue.n_working;
}

/* --- The clusters ---------------------------------------------------------------------------- */

/*
 * Notes that the cluster of that key has changed. A cluster without failures is forgotten, even
 * while nobody works on the queue.
 */
static void look_later(struct incident_writer *incidents, const char *key)
{
	struct incident_cluster *cluster = strmap_get(&incidents->clusters, key);

	if (cluster && cluster->members.n > 0) {
		workqueue_add_at(&incidents->queue, key, now_boottime_ns() + DEBOUNCE_NS);
	} else {
		/* A cluster with a running job is looked at when the job is done. */
		incident_writer_cluster_free(strmap_remove(&incidents->clusters, key));
		workqueue_remove(&incidents->queue, key);
	}
	incident_writer_wake(incidents);
}

static void remove_member(struct incident_writer *incidents, const char *key, const cJSON *failure)
{
	struct incident_cluster *cluster = strmap_get(&incidents->clusters, key);
	const char *name = json_str(failure, "metadata.name");

	if (cluster && name)
		incident_cluster_remove(cluster, name);
	look_later(incidents, key);
}

static void put_member(struct incident_writer *incidents, const char *key, const cJSON *failure)
{
	struct incident_cluster *cluster =
		strmap_get_or_add(&incidents->clusters, key, sizeof(*cluster));

	if (!cluster || incident_cluster_put(cluster, failure, now_boottime_ns()) < 0)
		log_warning_limited("incidents are not computed: out of memory");
	look_later(incidents, key);
}

void incident_writer_see(struct incident_writer *incidents, enum store_change change,
			 const cJSON *before, const cJSON *after)
{
	char was[KEY_MAX], is[KEY_MAX];
	bool had = before && cluster_key(before, was, sizeof(was)),
	     has = after && cluster_key(after, is, sizeof(is));

	if (change == STORE_SAME)
		return;
	/* A tenant with the right to write RayFailures may change the cluster of a RayFailure. */
	if (had && (!has || strcmp(was, is) != 0))
		remove_member(incidents, was, before);
	if (has)
		put_member(incidents, is, after);
}

cJSON *incident_writer_reconsider(const struct incident_writer *incidents, const cJSON *failure)
{
	struct story *story = story_read(failure);
	const struct incident_cluster *cluster = NULL;
	cJSON *better = NULL;
	char key[KEY_MAX];

	if (story && lost_head_may_be(story) && cluster_key(failure, key, sizeof(key)))
		cluster = strmap_get(&incidents->clusters, key);
	if (cluster) {
		size_t n;
		_cleanup_free_ struct incident_death *heads = incident_cluster_heads(cluster, &n);

		better = heads ? lost_head_refined(story, heads, n, failure) : NULL;
	}
	story_free(story);
	return better;
}

/*
 * --- Carrying out
 * -------------------------------------------------------------------------------------------
 */

static void incident_writer_go_on(struct job *job);

static void incident_writer_finish(struct job *job)
{
	struct incident_writer *incidents = job->incidents;
	int64_t now = now_boottime_ns();

	workqueue_forget(&incidents->queue, job->key);
	if (job->plan.more)
		workqueue_add_at(&incidents->queue, job->key, now);
	else if (job->plan.next_ns)
		workqueue_add_at(&incidents->queue, job->key, job->plan.next_ns);
	workqueue_done(&incidents->queue, job->key);
	job_free(job);
	incident_writer_wake(incidents);
	incidents->o.on_idle(incidents->o.arg);
}

/* The next plan will contain everything that this one has not done. */
static void incident_writer_give_up(struct job *job, int64_t least_ns, const struct err *err)
{
	struct incident_writer *incidents = job->incidents;
	int64_t delay = workqueue_retry(&incidents->queue, job->key, now_boottime_ns(),
					MAX(least_ns, NS_PER_SEC));

	if (err)
		log_warning_limited(
			"cannot write the incidents of cluster %s: %s; will try again in %s",
			job->key, err_text(err), DURATION_TEXT(delay));
	workqueue_done(&incidents->queue, job->key);
	job_free(job);
	incident_writer_wake(incidents);
	incidents->o.on_idle(incidents->o.arg);
}

static const struct err incident_writer_no_memory = { .code = ENOMEM, .text = "no memory" };

/*
 * Returns whether a retry would fail, too: the object is gone or was replaced, or the server
 * rejects the change.
 */
static bool incident_writer_is_over(const struct client_response *response)
{
	return response->status == 404 || response->status == 409 || response->status == 400 ||
	       response->status == 422 || client_namespace_ends(response);
}

static void skip_change(struct job *job)
{
	struct incident_cluster *cluster = strmap_get(&job->incidents->clusters, job->key);

	/* The next plan must not contain it, because it would be refused again. */
	if (cluster)
		incident_cluster_refused(cluster, &job->plan.changes[job->change],
					 now_boottime_ns() + REFUSED_NS);
	job->change++;
}

/*
 * Returns whether the failure still exists. Then a 404 means that the CRD has no status
 * subresource.
 */
static bool incident_writer_is_there(const struct job *job)
{
	char key[KEY_MAX];

	snprintf(key, sizeof(key), "%s/%.253s", job->namespace,
		 job->plan.changes[job->change].name);
	return store_peek(informer_store(job->incidents->o.failures), key) != NULL;
}

static void incident_writer_on_answer(struct job *job, const struct client_response *response)
{
	if (response->status == 403 && !client_namespace_ends(response)) {
		/*
		 * Without the right to write statuses and labels, the Events are emitted
		 * nevertheless.
		 */
		log_warning_limited("the operator may not write the incidents of cluster %s: %s",
				    job->key, err_text(&response->err));
		job->change = job->plan.n_changes;
		job->plan.more = false;
		job->plan.next_ns =
			job->plan.next_ns ? job->plan.next_ns : now_boottime_ns() + REFUSED_NS;
		incident_writer_go_on(job);
	} else if (response->status / 100 == 2) {
		job->change++;
		incident_writer_go_on(job);
	} else if (incident_writer_is_over(response)) {
		if (response->status != 404)
			log_warning_limited("failure %s/%s: its incident is not written: %s",
					    job->namespace, job->plan.changes[job->change].name,
					    err_text(&response->err));
		else if (incident_writer_is_there(job))
			log_warning_limited(
				"failure %s/%s: its incident is not written: its CRD is of a version without a status "
				"(update Afterglow's CRDs)",
				job->namespace, job->plan.changes[job->change].name);
		skip_change(job);
		incident_writer_go_on(job);
	} else {
		incident_writer_give_up(job, response->retry_after_ns, &response->err);
	}
}

static void on_marks(void *arg, struct client_response *response)
{
	struct job *job = arg;

	if (response->status / 100 == 2)
		informer_learn(job->incidents->o.failures, TAKE_PTR(response->object));
	incident_writer_on_answer(job, response);
}

static void on_status(void *arg, struct client_response *response)
{
	struct job *job = arg;
	_cleanup_json_ cJSON *patch =
		incident_marks_patch(job->namespace, &job->plan.changes[job->change]);
	struct err err = { 0 };

	/* Without the status, the label and annotations would hide that it is missing. */
	if (response->status / 100 != 2)
		incident_writer_on_answer(job, response);
	else if (!patch)
		incident_writer_give_up(job, 0, &incident_writer_no_memory);
	else if (client_merge(job->incidents->o.client, patch, on_marks, job, &err) < 0)
		incident_writer_give_up(job, 0, &err);
}

static void write_change(struct job *job)
{
	_cleanup_json_ cJSON *patch =
		incident_status_patch(job->namespace, &job->plan.changes[job->change]);
	struct err err = { 0 };

	if (!patch)
		incident_writer_give_up(job, 0, &incident_writer_no_memory);
	else if (client_merge_status(job->incidents->o.client, patch, on_status, job, &err) < 0)
		incident_writer_give_up(job, 0, &err);
}

static void incident_writer_on_read(void *arg, struct client_response *response)
{
	struct job *job = arg;
	const struct incident_telling *telling = &job->plan.tellings[job->telling];
	struct incident_cluster *cluster = strmap_get(&job->incidents->clusters, job->key);
	bool emitted = false;

	if (response->status != 200 && response->status != 404) {
		incident_writer_give_up(job, response->retry_after_ns, &response->err);
		return;
	}
	if (response->status == 200)
		emitted = failure_events_tell(&job->incidents->o.failure_events, response->object,
					      telling);
	if (cluster)
		incident_cluster_emitted(cluster, telling, emitted);
	job->telling++;
	incident_writer_go_on(job);
}

static void read_failure(struct job *job)
{
	const struct resource *resource = resource_find("afterglow.dev/v1alpha1", "RayFailure");
	struct err err = { 0 };

	if (client_get(job->incidents->o.client, resource, job->namespace,
		       job->plan.tellings[job->telling].name, incident_writer_on_read, job,
		       &err) < 0)
		incident_writer_give_up(job, 0, &err);
}

static void incident_writer_go_on(struct job *job)
{
	if (!job->incidents->o.may_write(job->incidents->o.arg))
		incident_writer_give_up(job, 0, NULL);
	else if (job->change < job->plan.n_changes)
		write_change(job);
	else if (job->telling < job->plan.n_tellings)
		read_failure(job);
	else
		incident_writer_finish(job);
}

/*
 * --- The queue
 * -----------------------------------------------------------------------------------------------
 */

static struct job *job_new(struct incident_writer *incidents)
{
	struct job *job = calloc(1, sizeof(*job));

	for (size_t i = 0; job && i < IN_FLIGHT_MAX; i++)
		if (!incidents->jobs[i]) {
			*job = (struct job){ .incidents = incidents, .place = i };
			incidents->jobs[i] = job;
			return job;
		}
	free(job);
	return NULL;
}

static void incident_writer_start(struct incident_writer *incidents, const char *key)
{
	struct incident_cluster *cluster = strmap_get(&incidents->clusters, key);
	struct job *job = cluster ? job_new(incidents) : NULL;

	if (!job) {
		/* Earlier failures of this key are remembered in the cluster, not in the queue. */
		workqueue_forget(&incidents->queue, key);
		workqueue_done(&incidents->queue, key);
		return;
	}
	snprintf(job->key, sizeof(job->key), "%s", key);
	snprintf(job->namespace, sizeof(job->namespace), "%.*s", (int)strcspn(key, "/"), key);
	if (incident_plan_make(cluster, now_boottime_ns(), now_realtime_ns(), &job->plan) < 0) {
		incident_writer_give_up(job, 0, &incident_writer_no_memory);
		return;
	}
	/* While not all failures are known, a first cause may be missing. */
	if (!informer_synced(incidents->o.failures))
		job->change = job->plan.n_changes;
	incident_writer_go_on(job);
}

/*
 * Does what the failure writer does: it starts without the list only if listing fails for a reason
 * that may not concern Events.
 */
static bool incident_writer_may_start(const struct incident_writer *incidents)
{
	return incidents->o.may_write(incidents->o.arg) &&
	       incidents->queue.n_working < IN_FLIGHT_MAX &&
	       (informer_synced(incidents->o.failures) ||
		informer_reflector(incidents->o.failures)->last_status != 0);
}

static void incident_writer_run(evutil_socket_t, short, void *arg)
{
	struct incident_writer *incidents = arg;
	const char *key;

	while (incident_writer_may_start(incidents) &&
	       (key = workqueue_get(&incidents->queue, now_boottime_ns())))
		incident_writer_start(incidents, key);
	int64_t next = workqueue_next_ns(&incidents->queue);
	if (next < 0 || !incident_writer_may_start(incidents))
		return; /* the end of a job, or a change of the informer, wakes us */
	timer_after(incidents->wake, next - now_boottime_ns());
}
