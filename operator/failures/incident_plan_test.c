/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of planning the writes and Events for a cluster's failures: until they are written, and
 * only once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/failures/incident_plan.h"
#include "operator/testing.h"

#define S NS_PER_SEC
#define REAL ((int64_t)1800000000 * S) /* 2027-01-15T08:00:00Z */

struct world {
	struct incident_cluster cluster;
	int64_t now_ns;
};

/*
 * Makes a failure of the pod's Ray container, `second` seconds after 08:00:00. marks: more
 * metadata.
 */
static cJSON *failure_of(const char *name, const char *type, const char *class, int second,
			 const char *labels, const char *annotations)
{
	char yaml[2048];

	snprintf(
		yaml, sizeof(yaml),
		"metadata:\n  name: %s\n  namespace: ml\n  uid: uid-%s\n  creationTimestamp: '2027-01-15T08:00:%02dZ'\n"
		"  labels: {afterglow.dev/class: %s, ray.io/node-type: %s%s}\n"
		"  annotations: {afterglow.dev/ended-at: '2027-01-15T08:00:%02dZ', afterglow.dev/facts: \"runsRay: yes\\npod: %s\\n"
		"podUID: u-%s\\ncontainer: ray\\nexitCode: 1\"%s}\n",
		name, name, second, class, type, labels, second, name, name, annotations);
	return json_of(yaml);
}

static void put(struct world *w, const char *name, const char *type, const char *class, int second)
{
	_cleanup_json_ cJSON *failure = failure_of(name, type, class, second, "", "");

	assert_int_equal(incident_cluster_put(&w->cluster, failure, w->now_ns), 0);
}

static struct incident_plan plan_of(struct world *w)
{
	struct incident_plan plan;

	assert_int_equal(incident_plan_make(&w->cluster, w->now_ns, REAL + 60 * S, &plan), 0);
	return plan;
}

/* The server accepts the change, and the watch shows it. */
static void write_change(struct world *w, const struct incident_change *change, const char *type,
			 const char *class, int second)
{
	char labels[200] = "", annotations[400] = "", number[80] = "";
	_cleanup_json_ cJSON *marks = incident_marks_patch("ml", change),
			     *status = incident_status_patch("ml", change);
	_cleanup_json_ cJSON *failure = NULL;

	assert_string_equal(json_str(marks, "metadata.uid"), json_str(status, "metadata.uid"));
	if (*change->id)
		snprintf(labels, sizeof(labels), ", afterglow.dev/incident: %s", change->id);
	if (change->consequences)
		snprintf(number, sizeof(number), ", afterglow.dev/consequences: '%zu'",
			 change->consequences);
	snprintf(annotations, sizeof(annotations), "%s%s%s",
		 change->first ? ", afterglow.dev/caused-by: " : "",
		 change->first ? change->first : "", number);
	failure = failure_of(change->name, type, class, second, labels, annotations);
	assert_int_equal(incident_cluster_put(&w->cluster, failure, w->now_ns), 0);
}

static const struct incident_change *change_to(const struct incident_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->n_changes; i++)
		if (strcmp(plan->changes[i].name, name) == 0)
			return &plan->changes[i];
	return NULL;
}

static void write_head_and_worker(struct world *w)
{
	struct incident_plan plan = plan_of(w);

	assert_int_equal(plan.n_changes, 2);
	write_change(w, change_to(&plan, "head"), "head", "GCSFailed", 0);
	write_change(w, change_to(&plan, "w1"), "worker", "GCSLost", 20);
	incident_plan_release(&plan);
}

static void what_hangs_together_is_written_once(void **state)
{
	struct world w = { .now_ns = 1000 * S };
	struct incident_plan plan;

	(void)state;
	put(&w, "w1", "worker", "GCSLost", 20);
	put(&w, "alone", "worker", "Segfault", 21);
	plan = plan_of(&w);
	assert_int_equal(plan.n_changes, 0);
	incident_plan_release(&plan);
	put(&w, "head", "head", "GCSFailed", 0);
	plan = plan_of(&w);
	assert_int_equal(plan.n_changes, 2);
	assert_string_equal(change_to(&plan, "w1")->id, "head");
	assert_string_equal(change_to(&plan, "w1")->first, "head");
	assert_string_equal(change_to(&plan, "w1")->text, "GCSFailed of the head");
	assert_int_equal(change_to(&plan, "head")->consequences, 1);
	assert_null(change_to(&plan, "head")->first);
	incident_plan_release(&plan);
	write_head_and_worker(&w);
	plan = plan_of(&w);
	assert_int_equal(plan.n_changes, 0);
	incident_plan_release(&plan);
	incident_cluster_release(&w.cluster);
}

static void another_process_finds_what_is_left_to_write(void **state)
{
	struct world first = { .now_ns = 1000 * S }, second = { .now_ns = 5 * S };
	struct incident_plan plan;

	(void)state;
	put(&first, "head", "head", "GCSFailed", 0);
	put(&first, "w1", "worker", "GCSLost", 20);
	plan = plan_of(&first);
	/* One of the two was written, then the first process died. */
	write_change(&second, change_to(&plan, "head"), "head", "GCSFailed", 0);
	put(&second, "w1", "worker", "GCSLost", 20);
	incident_plan_release(&plan);
	plan = plan_of(&second);
	assert_int_equal(plan.n_changes, 1);
	assert_string_equal(plan.changes[0].name, "w1");
	incident_plan_release(&plan);
	incident_cluster_release(&first.cluster);
	incident_cluster_release(&second.cluster);
}

static void a_consequence_stays_one_when_its_first_cause_is_removed(void **state)
{
	struct world w = { .now_ns = 1000 * S };
	struct incident_plan plan;

	(void)state;
	put(&w, "head", "head", "GCSFailed", 0);
	put(&w, "w1", "worker", "GCSLost", 20);
	write_head_and_worker(&w);
	incident_cluster_remove(&w.cluster, "head");
	plan = plan_of(&w);
	assert_int_equal(plan.n_changes, 0);
	assert_int_equal(plan.n_tellings, 0);
	assert_int_equal(plan.next_ns, 0);
	incident_plan_release(&plan);
	incident_cluster_release(&w.cluster);
}

static void a_first_cause_without_consequences_is_alone_again(void **state)
{
	struct world w = { .now_ns = 1000 * S };
	struct incident_plan plan;
	_cleanup_json_ cJSON *status = NULL, *marks = NULL;
	_cleanup_free_ char *status_text = NULL, *marks_text = NULL;

	(void)state;
	put(&w, "head", "head", "GCSFailed", 0);
	put(&w, "w1", "worker", "GCSLost", 20);
	write_head_and_worker(&w);
	incident_cluster_remove(&w.cluster, "w1");
	plan = plan_of(&w);
	assert_int_equal(plan.n_changes, 1);
	status = incident_status_patch("ml", &plan.changes[0]);
	marks = incident_marks_patch("ml", &plan.changes[0]);
	status_text = cJSON_PrintUnformatted(json_get(status, "status"));
	marks_text = cJSON_PrintUnformatted(json_get(marks, "metadata"));
	assert_string_equal(
		status_text,
		"{\"incident\":null,\"causedByText\":null,\"consequences\":null,\"causedBy\":null}");
	assert_string_equal(
		marks_text,
		"{\"namespace\":\"ml\",\"name\":\"head\",\"uid\":\"uid-head\",\"annotations\":{"
		"\"afterglow.dev/caused-by\":null,\"afterglow.dev/consequences\":null},\"labels\":{"
		"\"afterglow.dev/incident\":null}}");
	incident_plan_release(&plan);
	incident_cluster_release(&w.cluster);
}

static void many_changes_are_written_by_and_by(void **state)
{
	struct world w = { .now_ns = 1000 * S };
	struct incident_plan plan;
	char name[16];

	(void)state;
	put(&w, "head", "head", "GCSFailed", 0);
	for (int i = 0; i < INCIDENT_CHANGES_MAX; i++) {
		snprintf(name, sizeof(name), "w%d", i);
		put(&w, name, "worker", "GCSLost", 20);
	}
	plan = plan_of(&w);
	assert_int_equal(plan.n_changes, INCIDENT_CHANGES_MAX);
	assert_true(plan.more);
	incident_plan_release(&plan);
	incident_cluster_remove(&w.cluster, "w7");
	plan = plan_of(&w);
	assert_int_equal(plan.n_changes, INCIDENT_CHANGES_MAX);
	assert_false(plan.more);
	incident_plan_release(&plan);
	incident_cluster_release(&w.cluster);
}

/* --- Events ---------------------------------------------------------------------------------- */

/*
 * Checks the Events that are due after so many seconds, as "name:consequences", preceded by
 * "again"; "" for none.
 */
static void tells(struct world *w, int64_t after_s, const char *expected, bool may)
{
	char text[200] = "";
	struct incident_plan plan;

	w->now_ns += after_s * S;
	plan = plan_of(w);
	for (size_t i = 0; i < plan.n_tellings; i++) {
		size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len, "%s%s%s:%zu", i ? " " : "",
			 plan.tellings[i].again ? "again " : "", plan.tellings[i].name,
			 plan.tellings[i].consequences);
		incident_cluster_emitted(&w->cluster, &plan.tellings[i], may);
	}
	assert_string_equal(text, expected);
	incident_plan_release(&plan);
}

/*
 * Otherwise the operator would ask for ever about failures that the server refuses, because of a
 * tenant or an older CRD.
 */
static void what_the_server_refuses_is_not_asked_again_at_once(void **state)
{
	struct world w = { .now_ns = 1000 * S };
	struct incident_plan plan;
	char name[16];

	(void)state;
	put(&w, "head", "head", "GCSFailed", 0);
	for (int i = 0; i < INCIDENT_CHANGES_MAX + 9; i++) {
		snprintf(name, sizeof(name), "w%d", i);
		put(&w, name, "worker", "GCSLost", 20);
	}
	plan = plan_of(&w);
	assert_true(plan.more);
	for (size_t i = 0; i < plan.n_changes; i++)
		incident_cluster_refused(&w.cluster, &plan.changes[i], w.now_ns + 600 * S);
	incident_plan_release(&plan);
	plan = plan_of(&w);
	assert_int_equal(plan.n_changes, 10);
	assert_false(plan.more);
	for (size_t i = 0; i < plan.n_changes; i++)
		incident_cluster_refused(&w.cluster, &plan.changes[i], w.now_ns + 600 * S);
	incident_plan_release(&plan);
	plan = plan_of(&w);
	assert_int_equal(plan.n_changes, 0);
	incident_plan_release(&plan);
	/*
	 * A failure that somebody changes counts as new; and after some time there may be a new
	 * CRD.
	 */
	put(&w, "w7", "worker", "GCSLost", 20);
	plan = plan_of(&w);
	assert_int_equal(plan.n_changes, 1);
	assert_string_equal(plan.changes[0].name, "w7");
	incident_plan_release(&plan);
	w.now_ns += 600 * S;
	plan = plan_of(&w);
	assert_int_equal(plan.n_changes, INCIDENT_CHANGES_MAX);
	incident_plan_release(&plan);
	incident_cluster_release(&w.cluster);
}

static void who_is_refused_comes_back_when_it_may_be_taken(void **state)
{
	struct world w = { .now_ns = 1000 * S };
	struct incident_plan plan;

	(void)state;
	put(&w, "head", "head", "PodDeleted", 0);
	put(&w, "w", "worker", "PodDeleted", 20);
	plan = plan_of(&w);
	assert_int_equal(plan.n_changes, 2);
	incident_cluster_refused(&w.cluster, &plan.changes[0], w.now_ns + 600 * S);
	incident_cluster_refused(&w.cluster, &plan.changes[1], w.now_ns + 500 * S);
	incident_plan_release(&plan);
	plan = plan_of(&w);
	assert_int_equal(plan.n_changes, 0);
	assert_int_equal(plan.next_ns, w.now_ns + 500 * S);
	incident_plan_release(&plan);
	incident_cluster_release(&w.cluster);
}

static void a_first_cause_is_reported_soon_and_its_consequences_are_counted_later(void **state)
{
	struct world w = { .now_ns = 1000 * S };

	(void)state;
	put(&w, "head", "head", "GCSFailed", 0);
	tells(&w, 0, "", true);
	tells(&w, 2, "", true); /* it may be a consequence of the end of one of its processes */
	tells(&w, 23, "head:0", true);
	tells(&w, 0, "", true);
	put(&w, "w1", "worker", "GCSLost", 20);
	tells(&w, 2, "", true);
	tells(&w, 20, "", true);
	put(&w, "w2", "worker", "GCSLost", 40);
	tells(&w, 0, "", true);
	tells(&w, 29, "", true);
	tells(&w, 1, "again head:2", true);
	put(&w, "w3", "worker", "GCSLost", 50);
	tells(&w, 0, "", true);
	tells(&w, 59, "", true);
	tells(&w, 1, "again head:3", true);
	tells(&w, 1000, "", true);
	incident_cluster_release(&w.cluster);
}

static void failures_that_came_together_are_reported_together(void **state)
{
	struct world w = { .now_ns = 1000 * S };

	(void)state;
	put(&w, "w1", "worker", "GCSLost", 20);
	tells(&w, 20, "", true);
	put(&w, "head", "head", "GCSFailed", 0);
	put(&w, "segfault", "worker", "Segfault", 0);
	tells(&w, 2, "head:1 segfault:0", true);
	tells(&w, 1000, "", true);
	incident_cluster_release(&w.cluster);
}

static void a_likely_consequence_is_reported_when_no_cause_comes(void **state)
{
	struct world w = { .now_ns = 1000 * S };

	(void)state;
	put(&w, "w1", "worker", "GCSLost", 20);
	tells(&w, 24, "", true);
	tells(&w, 1, "w1:0", true);
	/* This is its cause after all. */
	put(&w, "head", "head", "GCSFailed", 0);
	tells(&w, 2, "head:1", true);
	tells(&w, 1000, "", true);
	incident_cluster_release(&w.cluster);
}

static void an_event_that_may_not_be_emitted_is_not_counted_either(void **state)
{
	struct world w = { .now_ns = 1000 * S };

	(void)state;
	put(&w, "head", "head", "Segfault", 0);
	tells(&w, 2, "head:0", false);
	put(&w, "w1", "worker", "GCSLost", 20);
	tells(&w, 0, "", true);
	tells(&w, 1000, "", true);
	incident_cluster_release(&w.cluster);
}

static void deletions_and_what_is_old_are_no_news(void **state)
{
	struct world w = { .now_ns = 1000 * S };
	struct incident_plan plan;

	(void)state;
	put(&w, "head", "head", "PodDeleted", 0);
	put(&w, "w1", "worker", "GCSLost", 20);
	tells(&w, 1000, "", true);
	incident_cluster_release(&w.cluster);
	put(&w, "old", "head", "Segfault", 0);
	w.now_ns += 10 * S;
	assert_int_equal(incident_plan_make(&w.cluster, w.now_ns, REAL + 601 * S, &plan), 0);
	assert_int_equal(plan.n_tellings, 0);
	assert_int_equal(plan.next_ns, 0);
	incident_plan_release(&plan);
	incident_cluster_release(&w.cluster);
}

static void the_plan_says_when_the_next_event_is_due(void **state)
{
	struct world w = { .now_ns = 1000 * S };
	struct incident_plan plan;

	(void)state;
	put(&w, "w1", "worker", "GCSLost", 20);
	put(&w, "w2", "worker", "Segfault", 20);
	plan = plan_of(&w);
	assert_int_equal(plan.next_ns, 1002 * S);
	incident_plan_release(&plan);
	tells(&w, 2, "w2:0", true);
	plan = plan_of(&w);
	assert_int_equal(plan.next_ns, 1025 * S);
	incident_plan_release(&plan);
	incident_cluster_release(&w.cluster);
}

static void failures_without_a_story_are_left_alone(void **state)
{
	struct world w = { .now_ns = 1000 * S };
	_cleanup_json_ cJSON *failure =
		json_of("metadata: {name: f, labels: {afterglow.dev/class: Killed}}");

	(void)state;
	assert_int_equal(incident_cluster_put(&w.cluster, failure, 0), 0);
	incident_cluster_remove(&w.cluster, "f");
	incident_cluster_remove(&w.cluster, "nobody");
	assert_int_equal(w.cluster.members.n, 0);
	tells(&w, 1000, "", true);
	incident_cluster_release(&w.cluster);
}

static void an_incidents_id_fits_a_label(void **state)
{
	char name[254], id[INCIDENT_ID_MAX], other[INCIDENT_ID_MAX];

	(void)state;
	assert_string_equal(incident_id("demo-head-ray-head-0123456789", id),
			    "demo-head-ray-head-0123456789");
	memset(name, 'a', sizeof(name));
	name[63] = '\0';
	assert_string_equal(incident_id(name, id), name);
	name[63] = 'a';
	name[253] = '\0';
	incident_id(name, id);
	assert_int_equal(strlen(id), 63);
	name[252] = 'b';
	assert_string_not_equal(incident_id(name, other), id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_hangs_together_is_written_once),
		cmocka_unit_test(another_process_finds_what_is_left_to_write),
		cmocka_unit_test(a_consequence_stays_one_when_its_first_cause_is_removed),
		cmocka_unit_test(a_first_cause_without_consequences_is_alone_again),
		cmocka_unit_test(many_changes_are_written_by_and_by),
		cmocka_unit_test(what_the_server_refuses_is_not_asked_again_at_once),
		cmocka_unit_test(who_is_refused_comes_back_when_it_may_be_taken),
		cmocka_unit_test(a_first_cause_is_reported_soon_and_its_consequences_are_counted_later),
		cmocka_unit_test(failures_that_came_together_are_reported_together),
		cmocka_unit_test(a_likely_consequence_is_reported_when_no_cause_comes),
		cmocka_unit_test(an_event_that_may_not_be_emitted_is_not_counted_either),
		cmocka_unit_test(deletions_and_what_is_old_are_no_news),
		cmocka_unit_test(the_plan_says_when_the_next_event_is_due),
		cmocka_unit_test(failures_without_a_story_are_left_alone),
		cmocka_unit_test(an_incidents_id_fits_a_label),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
