/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of Ray pods without the sidecar: how they are counted, and when an Event reports them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/testing.h"
#include "operator/webhook/missed_pods.h"

#define SINCE_NS (1795222800 * NS_PER_SEC) /* 2026-11-21T01:00:00Z */
#define HOUR_NS (3600 * NS_PER_SEC)

static struct metrics metrics;
static cJSON *cluster, *events;
static int n_asked; /* how often a cluster was asked for */
static bool leads;
static struct missed_pods *missed;

static const cJSON *find_cluster(void *arg, const char *key)
{
	(void)arg;
	n_asked++;
	return strcmp(key, "ml/demo") == 0 ? cluster : NULL;
}

static bool may_tell(void *arg)
{
	(void)arg;
	return leads;
}

static void tell(void *arg, cJSON *event)
{
	(void)arg;
	json_append(events, event);
}

static bool is_excluded(void *arg, const char *namespace)
{
	(void)arg;
	return strcmp(namespace, "private") == 0;
}

static int setup(void **state)
{
	struct missed_pods_options options = { .metrics = &metrics,
					       .webhook_since_ns = SINCE_NS,
					       .find_cluster = find_cluster,
					       .is_excluded = is_excluded,
					       .may_tell = may_tell,
					       .tell = tell };

	(void)state;
	cluster = json_of("metadata: {name: demo, namespace: ml, uid: u-1}");
	n_asked = 0;
	events = cJSON_CreateArray();
	leads = true;
	return missed_pods_new(&options, &missed, NULL);
}

static int teardown(void **state)
{
	(void)state;
	missed_pods_free(missed);
	missed_pods_free(NULL);
	metrics_release(&metrics);
	cJSON_Delete(cluster);
	cJSON_Delete(events);
	return 0;
}

static void see_in(const char *namespace, const char *name, const char *more, bool gone)
{
	char yaml[1024];

	snprintf(
		yaml, sizeof(yaml),
		"metadata: {name: %s, namespace: %s, creationTimestamp: '2026-11-21T02:00:00Z', labels: {ray.io/is-ray-node: 'yes', "
		"ray.io/cluster: demo}%s}\nspec: {containers: [{name: ray}]}\n",
		name, namespace, more);
	_cleanup_json_ cJSON *pod = json_of(yaml);
	missed_pods_see(missed, pod, gone);
}

static void see(const char *name)
{
	see_in("ml", name, "", false);
}

/* Checks that the metric has these lines and no others. */
static void metric_is(const char *const *lines)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	size_t n = 0, found = 0;

	missed_pods_metrics(missed);
	metrics_render(&metrics, &text);
	for (const char *at = strbuf_str(&text);
	     (at = strstr(at, "afterglow_pods_without_sidecar{")); at++)
		found++;
	for (; lines[n]; n++)
		if (!strstr(strbuf_str(&text), lines[n]))
			fail_msg("no %s in\n%s", lines[n], strbuf_str(&text));
	assert_int_equal(found, n);
}

static void pods_are_counted_by_namespace_and_reason_while_they_are_there(void **state)
{
	(void)state;
	metric_is((const char *const[]){ NULL });
	see("a");
	see("b");
	see("b");
	see_in("ml", "c", ", annotations: {afterglow.dev/inject: 'false'}", false);
	see_in("private", "d", "", false);
	metric_is((const char *const[]){ "{namespace=\"ml\",reason=\"Missed\"} 2",
					 "{namespace=\"ml\",reason=\"OptedOut\"} 1",
					 "{namespace=\"private\",reason=\"Excluded\"} 1", NULL });
	see_in("ml", "a", "", true);
	see_in("ml", "b", ", annotations: {afterglow.dev/sidecar: 'none: NoCommand'}", false);
	see_in("ml", "c", "", true);
	see_in("ml", "never-seen", "", true);
	metric_is((const char *const[]){ "{namespace=\"ml\",reason=\"NoCommand\"} 1",
					 "{namespace=\"private\",reason=\"Excluded\"} 1", NULL });
}

static void a_finished_pod_is_not_counted(void **state)
{
	(void)state;
	see("a");
	see("b");
	/* see_in puts this behind the labels, and closes the last brace. */
	see_in("ml", "a", "}\nstatus: {phase: Succeeded", false);
	see_in("ml", "b", "}\nstatus: {phase: Running", false);
	metric_is((const char *const[]){ "{namespace=\"ml\",reason=\"Missed\"} 1", NULL });
	see_in("ml", "b", "}\nstatus: {phase: Failed", false);
	metric_is((const char *const[]){ NULL });
}

static void the_annotation_of_a_cluster_opts_its_pods_out(void **state)
{
	(void)state;
	cJSON_Delete(cluster);
	cluster = json_of(
		"metadata: {name: demo, namespace: ml, uid: u-1, annotations: {afterglow.dev/inject: 'false'}}");
	see("a");
	missed_pods_tell(missed, 1);
	metric_is((const char *const[]){ "{namespace=\"ml\",reason=\"OptedOut\"} 1", NULL });
	assert_int_equal(cJSON_GetArraySize(events), 0);
}

static void namespaces_without_number_are_counted_together(void **state)
{
	char name[32];

	(void)state;
	for (int i = 0; i < MISSED_PODS_NAMESPACES_MAX + 50; i++) {
		snprintf(name, sizeof(name), "ns-%d", i);
		see_in(name, "a", "", false);
	}
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	missed_pods_metrics(missed);
	metrics_render(&metrics, &text);
	assert_non_null(
		strstr(strbuf_str(&text), "{namespace=\"(other)\",reason=\"Missed\"} 50\n"));
}

static void a_cluster_hears_of_its_missed_pods_once_an_hour(void **state)
{
	const cJSON *event;

	(void)state;
	see("a");
	see("b");
	missed_pods_tell(missed, 1);
	assert_int_equal(cJSON_GetArraySize(events), 1);
	event = cJSON_GetArrayItem(events, 0);
	assert_string_equal(json_str(event, "reason"), "SidecarMissing");
	assert_string_equal(json_str(event, "type"), "Warning");
	assert_string_equal(json_str(event, "regarding.kind"), "RayCluster");
	assert_string_equal(json_str(event, "regarding.uid"), "u-1");
	assert_non_null(strstr(json_str(event, "note"), "runs without the Afterglow sidecar"));
	assert_non_null(strstr(json_str(event, "note"), "kubectl delete pod -n ml "));
	assert_true(strlen(json_str(event, "note")) < 1023);
	/* A pod is reported once, and its cluster at most once an hour. */
	see("a");
	see("c");
	missed_pods_tell(missed, HOUR_NS);
	missed_pods_tell(missed, HOUR_NS + 1);
	assert_int_equal(cJSON_GetArraySize(events), 1);
	see("d");
	missed_pods_tell(missed, HOUR_NS + 1);
	assert_int_equal(cJSON_GetArraySize(events), 2);
}

static void an_event_that_cannot_be_emitted_yet_is_emitted_later(void **state)
{
	cJSON *later = cluster;

	(void)state;
	leads = false;
	see("a");
	missed_pods_tell(missed, 1);
	leads = true;
	cluster = NULL;
	missed_pods_tell(missed, 2);
	assert_int_equal(cJSON_GetArraySize(events), 0);
	cluster = later;
	missed_pods_tell(missed, 3);
	assert_int_equal(cJSON_GetArraySize(events), 1);
}

/* Asking means that the cluster is parsed. */
static void a_cluster_is_asked_for_once_and_none_where_there_is_none(void **state)
{
	_cleanup_json_ cJSON *lone = json_of(
		"metadata: {name: x, namespace: ml, creationTimestamp: '2026-11-22T00:00:00Z', "
		"labels: {ray.io/is-ray-node: 'yes'}}\nspec: {containers: [{name: a}]}");

	(void)state;
	leads = false;
	see("a");
	see("b");
	see("c");
	missed_pods_see(missed, lone, false);
	leads = true;
	n_asked = 0;
	missed_pods_tell(missed, 1);
	assert_int_equal(cJSON_GetArraySize(events), 1);
	assert_int_equal(n_asked, 1);
	missed_pods_tell(missed, 2);
	assert_int_equal(n_asked, 1);
}

/* A tenant labels pods of a cluster that does not exist. Each change of any pod may report them. */
static void pods_whose_cluster_is_unknown_are_not_all_looked_at_with_each_change(void **state)
{
	int64_t now_ns = 1;
	char name[32];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "pod-%d", i);
		see_in("other", name, "", false);
		missed_pods_tell(missed, now_ns += NS_PER_MS / 10);
	}
	assert_in_range(n_asked, 1000, 20000);
	/* The others are told of soon. */
	see("a");
	missed_pods_tell(missed, now_ns + NS_PER_SEC / 4);
	assert_int_equal(cJSON_GetArraySize(events), 1);
}

static void only_the_webhook_can_miss_a_pod(void **state)
{
	(void)state;
	missed_pods_webhook_since(missed, 0);
	see("a");
	see_in("ml", "b", ", annotations: {afterglow.dev/inject: 'false'}", false);
	missed_pods_tell(missed, 1);
	assert_int_equal(cJSON_GetArraySize(events), 0);
	metric_is((const char *const[]){ "{namespace=\"ml\",reason=\"BeforeInstall\"} 1",
					 "{namespace=\"ml\",reason=\"OptedOut\"} 1", NULL });
	/* It becomes known that the webhook was there. */
	missed_pods_webhook_since(missed, SINCE_NS);
	missed_pods_tell(missed, 1);
	assert_int_equal(cJSON_GetArraySize(events), 1);
	metric_is((const char *const[]){ "{namespace=\"ml\",reason=\"Missed\"} 1",
					 "{namespace=\"ml\",reason=\"OptedOut\"} 1", NULL });
	missed_pods_webhook_since(missed, SINCE_NS + 2 * HOUR_NS);
	metric_is((const char *const[]){ "{namespace=\"ml\",reason=\"BeforeInstall\"} 1",
					 "{namespace=\"ml\",reason=\"OptedOut\"} 1", NULL });
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pods_are_counted_by_namespace_and_reason_while_they_are_there),
		TEST(a_finished_pod_is_not_counted),
		TEST(the_annotation_of_a_cluster_opts_its_pods_out),
		TEST(namespaces_without_number_are_counted_together),
		TEST(a_cluster_hears_of_its_missed_pods_once_an_hour),
		TEST(an_event_that_cannot_be_emitted_yet_is_emitted_later),
		TEST(a_cluster_is_asked_for_once_and_none_where_there_is_none),
		TEST(pods_whose_cluster_is_unknown_are_not_all_looked_at_with_each_change),
		TEST(only_the_webhook_can_miss_a_pod),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
