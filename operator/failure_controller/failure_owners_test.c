/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of finding the owners of failures while their cluster exists, and for an hour afterwards.
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
#include "operator/failure_controller/failure_owners.h"
#include "operator/failures/testing.h"

#define HOUR_NS (3600 * NS_PER_SEC)

/* A cluster that the RayJob "train" made. */
static cJSON *cluster_of(const char *name)
{
	char yaml[512];

	snprintf(
		yaml, sizeof(yaml),
		"metadata: {name: %s, namespace: ml, ownerReferences: [{apiVersion: ray.io/v1, kind: RayJob, name: train, uid: u-1, "
		"controller: true}]}\n",
		name);
	return json_of(yaml);
}

/* arg is the only cluster that exists. */
static const cJSON *find_cluster(void *arg, const char *key)
{
	return strcmp(key, "ml/train-abc") == 0 ? *(const cJSON *const *)arg : NULL;
}

/* *cluster is the only cluster that exists; NULL: there is none. The caller frees the owners. */
static struct failure_owners *owners_beside(const cJSON **cluster)
{
	struct failure_owners_options options = { .find_cluster = find_cluster, .arg = cluster };
	struct failure_owners *owners = NULL;

	assert_int_equal(failure_owners_new(&options, &owners, NULL), 0);
	return owners;
}

static struct ray_failure *failure_of(const char *owner)
{
	char yaml[512];

	snprintf(yaml, sizeof(yaml),
		 "metadata: {namespace: ml, name: f}\nspec: {cluster: train-abc%s}\n", owner);
	return failure_of_yaml(yaml);
}

static void owner_is(struct failure_owners *owners, const char *annotated, int64_t now_ns,
		     const char *text, const char *uid)
{
	struct ray_failure *failure = failure_of(annotated);
	const struct owner *owner;
	char found[OWNER_TEXT_MAX];

	failure_owners_complete(owners, failure, now_ns);
	owner = failure->owner;
	if (!owner != !text || (text && strcmp(owner_format(owner, found), text) != 0))
		fail_msg("%s instead of %s", owner ? owner->name : "nobody",
			 text ? text : "nobody");
	assert_string_equal(owner ? owner->uid : "", uid ? uid : "");
	ray_failure_free(failure);
}

static void an_owner_is_known_while_its_cluster_is_there_and_for_an_hour_afterwards(void **state)
{
	_cleanup_json_ cJSON *cluster = cluster_of("train-abc");
	const cJSON *there = cluster;
	struct failure_owners *owners = owners_beside(&there);

	(void)state;
	owner_is(owners, "", 1, "RayJob/train", "u-1");
	there = NULL;
	owner_is(owners, "", 1, NULL, NULL);
	failure_owners_cluster_gone(owners, cluster, 1);
	owner_is(owners, "", HOUR_NS, "RayJob/train", "u-1");
	owner_is(owners, "", HOUR_NS + 1, NULL, NULL);
	failure_owners_free(owners);
}

static void the_pods_annotation_comes_first_and_gets_a_uid_if_it_is_the_same(void **state)
{
	_cleanup_json_ cJSON *cluster = cluster_of("train-abc");
	const cJSON *there = cluster;
	struct failure_owners *owners = owners_beside(&there);

	(void)state;
	owner_is(owners, ", owner: {kind: RayJob, name: train}", 1, "RayJob/train", "u-1");
	owner_is(owners, ", owner: {kind: RayService, name: other}", 1, "RayService/other", NULL);
	owner_is(owners, ", owner: {kind: Nonsense, name: other}", 1, "RayJob/train", "u-1");
	failure_owners_free(owners);
}

static void clusters_that_come_and_go_take_bounded_room(void **state)
{
	_cleanup_json_ cJSON *last = cluster_of("train-abc"),
			     *nameless = json_of("metadata: {namespace: ml}");
	struct failure_owners *owners = owners_beside(&(const cJSON *){ NULL });

	(void)state;
	failure_owners_cluster_gone(owners, nameless, 0);
	failure_owners_cluster_gone(owners, last, 0);
	for (int i = 0; i < 1999; i++) {
		char name[32];

		snprintf(name, sizeof(name), "c-%d", i);
		_cleanup_json_ cJSON *cluster = cluster_of(name);
		failure_owners_cluster_gone(owners, cluster, HOUR_NS - 1);
		failure_owners_cluster_gone(owners, cluster, HOUR_NS - 1);
	}
	owner_is(owners, "", HOUR_NS - 1, "RayJob/train", "u-1");
	/* To make room for one more, expired entries are dropped; if there are none, all are. */
	_cleanup_json_ cJSON *more = cluster_of("more");
	failure_owners_cluster_gone(owners, more, HOUR_NS - 1);
	owner_is(owners, "", HOUR_NS - 1, NULL, NULL);
	failure_owners_free(owners);
}

static void clusters_of_a_namespace_that_come_and_go_displace_none_of_another(void **state)
{
	_cleanup_json_ cJSON *victim = cluster_of("train-abc");
	struct failure_owners *owners = owners_beside(&(const cJSON *){ NULL });

	(void)state;
	failure_owners_cluster_gone(owners, victim, 0);
	for (int i = 0; i < 5000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "c-%d", i);
		_cleanup_json_ cJSON *cluster = cluster_of(name);
		json_set_str(json_get(cluster, "metadata"), "namespace", "hostile");
		failure_owners_cluster_gone(owners, cluster, 0);
		snprintf(name, sizeof(name), "hostile/c-%d", i);
		assert_true(failure_owners_is_gone(owners, name, 1));
	}
	assert_false(failure_owners_is_gone(owners, "hostile/c-0", 1));
	/* One that is known keeps its place, and others of its namespace keep theirs. */
	failure_owners_cluster_gone(owners, victim, 1);
	owner_is(owners, "", HOUR_NS, "RayJob/train", "u-1");
	failure_owners_free(owners);
}

static void never(void *arg)
{
	(void)arg;
	fail_msg("done was called");
}

static void without_a_client_or_a_rayjob_nobody_is_asked(void **state)
{
	struct ray_failure *job = failure_of(", owner: {kind: RayJob, name: train}");
	struct failure_owners *owners = owners_beside(&(const cJSON *){ NULL });

	(void)state;
	assert_false(failure_owners_ask(owners, job, 0, never, NULL));
	ray_failure_free(job);
	failure_owners_free(owners);
	failure_owners_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_owner_is_known_while_its_cluster_is_there_and_for_an_hour_afterwards),
		cmocka_unit_test(the_pods_annotation_comes_first_and_gets_a_uid_if_it_is_the_same),
		cmocka_unit_test(clusters_that_come_and_go_take_bounded_room),
		cmocka_unit_test(clusters_of_a_namespace_that_come_and_go_displace_none_of_another),
		cmocka_unit_test(without_a_client_or_a_rayjob_nobody_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
