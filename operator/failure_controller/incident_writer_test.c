/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of what is kept about existing failures. What is written is tested in
 * e2e/cases/apiserver/test_incidents.py.
 */
#include "operator/failure_controller/incident_writer.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <event2/event.h>

#include "lib/json.h"
#include "operator/testing.h"

struct world {
	struct event_base *base;
	struct incident_writer *incidents;
};

static bool never(void *arg)
{
	(void)arg;
	return false;
}

/* Makes the writer of a replica that stands by. */
static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct err err = { 0 };

	w->base = event_base_new();
	struct incident_writer_options options = { .base = w->base, .may_write = never };
	*state = w;
	return incident_writer_new(&options, &w->incidents, &err);
}

static int end(void **state)
{
	struct world *w = *state;

	incident_writer_free(w->incidents);
	event_base_free(w->base);
	free(w);
	return 0;
}

static cJSON *failure(const char *name, const char *type, const char *class, int second,
		      const char *cluster, const char *story)
{
	char yaml[1024];

	snprintf(
		yaml, sizeof(yaml),
		"metadata:\n  name: %s\n  namespace: ml\n  labels: {ray.io/cluster: %s, afterglow.dev/class: %s, ray.io/node-type: %s}\n"
		"  annotations: {afterglow.dev/ended-at: '2027-01-15T08:00:%02dZ'%s%s}\nspec: {class: %s, exitCode: 1}\n",
		name, cluster, class, type, second, *story ? ", afterglow.dev/facts: " : "", story,
		class);
	return json_of(yaml);
}

#define STORY(name) "\"runsRay: yes\\npod: " name "\\npodUID: u-" name "\\ncontainer: ray\\nexitCode: 1\""

/* Returns whether a worker of demo that ended later is reported to have lost this head. */
static bool is_known(struct world *w)
{
	_cleanup_json_ cJSON *worker =
		failure("w", "worker", "ApplicationError", 20, "demo", STORY("w"));
	_cleanup_json_ cJSON *better = incident_writer_reconsider(w->incidents, worker);

	return better;
}

static void a_failure_of_which_the_cluster_is_changed_is_one_of_the_other_alone(void **state)
{
	struct world *w = *state;
	_cleanup_json_ cJSON *ours = failure("head", "head", "GCSFailed", 0, "demo", STORY("head"));
	_cleanup_json_ cJSON *others =
		failure("head", "head", "GCSFailed", 0, "other", STORY("head"));

	incident_writer_see(w->incidents, STORE_ADDED, NULL, ours);
	assert_true(is_known(w));
	incident_writer_see(w->incidents, STORE_UPDATED, ours, others);
	assert_false(is_known(w));
	incident_writer_see(w->incidents, STORE_UPDATED, others, ours);
	assert_true(is_known(w));
	incident_writer_see(w->incidents, STORE_REMOVED, ours, NULL);
	assert_false(is_known(w));
}

static void a_failure_that_loses_its_story_is_none_of_them_any_more(void **state)
{
	struct world *w = *state;
	_cleanup_json_ cJSON *with = failure("head", "head", "GCSFailed", 0, "demo", STORY("head"));
	_cleanup_json_ cJSON *without = failure("head", "head", "GCSFailed", 0, "demo", "");

	incident_writer_see(w->incidents, STORE_ADDED, NULL, with);
	assert_true(is_known(w));
	incident_writer_see(w->incidents, STORE_UPDATED, with, without);
	assert_false(is_known(w));
}

static void come_and_go(struct world *w, int from, int n)
{
	char cluster[32];

	for (int i = from; i < from + n; i++) {
		snprintf(cluster, sizeof(cluster), "cluster-%06d", i);
		_cleanup_json_ cJSON *one =
			failure("head", "head", "GCSFailed", 0, cluster, STORY("head"));

		incident_writer_see(w->incidents, STORE_ADDED, NULL, one);
		incident_writer_see(w->incidents, STORE_REMOVED, one, NULL);
	}
}

static void of_clusters_that_come_and_go_nothing_stays_in_a_replica_that_stands_by(void **state)
{
	struct world *w = *state;
	size_t before;

	come_and_go(w, 0, 2000);
	before = mallinfo2().uordblks;
	come_and_go(w, 2000, 2000);
	/* Under a sanitizer, which has another malloc, both are 0. */
	assert_in_range(mallinfo2().uordblks, 0, before + 16384);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_failure_of_which_the_cluster_is_changed_is_one_of_the_other_alone, begin, end),
		cmocka_unit_test_setup_teardown(a_failure_that_loses_its_story_is_none_of_them_any_more, begin, end),
		cmocka_unit_test_setup_teardown(of_clusters_that_come_and_go_nothing_stays_in_a_replica_that_stands_by, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
